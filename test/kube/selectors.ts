// Label and field selectors of lists and watches.

import { KubeError } from './kube-error.ts'
import { getPath, toText, type KubeObject } from './kube-object.ts'

export type ObjectFilter = (object: KubeObject) => boolean

/** Parses `labelSelector` and `fieldSelector` of a request. */
export function parseSelectors(query: URLSearchParams): ObjectFilter {
  const filters = [...parseLabels(query.get('labelSelector') ?? ''), ...parseFields(query.get('fieldSelector') ?? '')]
  return (object) => filters.every((matches) => matches(object))
}

/** Returns whether the labels match `matchLabels` and `matchExpressions` of a selector in an object. */
export function matchesSelector(selector: unknown, labels: Readonly<Record<string, string>>): boolean {
  const matchLabels = getPath(selector, '.matchLabels') ?? {}
  const expressions = getPath(selector, '.matchExpressions') ?? []
  if (Object.entries(matchLabels).some(([key, value]) => labels[key] !== value)) return false
  return (expressions as { key: string; operator: string; values?: string[] }[]).every(
    ({ key, operator, values = [] }) => {
      const value = labels[key]
      if (operator === 'Exists') return value !== undefined
      if (operator === 'DoesNotExist') return value === undefined
      const isListed = value !== undefined && values.includes(value)
      return operator === 'In' ? isListed : !isListed
    },
  )
}

function parseLabels(text: string): ObjectFilter[] {
  return splitOutsideParentheses(text).map((term) => {
    const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(term)
    if (set !== null) {
      const [, key = '', operator, list = ''] = set
      const values = list.split(',').map((value) => value.trim())
      return (object) => {
        const value = object.metadata.labels?.[key]
        const isListed = value !== undefined && values.includes(value)
        return operator === 'in' ? isListed : !isListed
      }
    }
    const equality = /^([^!=\s]+)\s*(==|=|!=)\s*(.*)$/.exec(term)
    if (equality !== null) {
      const [, key = '', operator, value] = equality
      return (object) => (object.metadata.labels?.[key] === value) === (operator !== '!=')
    }
    if (!/^!?[\w./-]+$/.test(term)) throw new KubeError('BadRequest', `unable to parse requirement: ${term}`)
    const key = term.replace('!', '')
    return (object) => (object.metadata.labels?.[key] !== undefined) !== term.startsWith('!')
  })
}

function parseFields(text: string): ObjectFilter[] {
  return splitOutsideParentheses(text).map((term) => {
    const [, path = '', operator = '', value] = /^([^!=]+)(==|=|!=)(.*)$/.exec(term) ?? []
    if (!/^(metadata\.(name|namespace)|spec\.nodeName|status\.phase|type|involvedObject\.\w+)$/.test(path)) {
      throw new KubeError('BadRequest', `field label not supported: ${path}`)
    }
    return (object) => (toText(getPath(object, path)) === value) === (operator !== '!=')
  })
}

function splitOutsideParentheses(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((term) => term.trim())
    .filter((term) => term !== '')
}
