// Lines of the configuration file of the broker: `dotted.key = value`. A value may contain variables of the container, whose values are known
// only to the pod.

import type { ConfigValue } from '../../config/index.ts'
import type { ManifestPath } from '../documents/manifest-node.ts'

/** One setting with its origin, for faults. */
export interface SettingLine {
  readonly key: readonly string[]
  /** The value as text of the file. */
  readonly text: string
  /** The value for the check: `null` if it depends on a variable whose value is not known here. */
  readonly checkedText: string
  readonly origin: ManifestPath
  /** Line in the text of `spec.config`; 0: the origin is not a text. */
  readonly lineInText: number
}

/** Characters that mark the name of a variable in a text. They are in no key and no valid value. */
const marks = { start: '\uE000', end: '\uE001' } as const

/** Returns the text that stands for a variable. */
export function markVariable(name: string): string {
  return `${marks.start}${name}${marks.end}`
}

/** Returns whether the text has one of the marks. */
export function hasMark(text: string): boolean {
  return text.includes(marks.start) || text.includes(marks.end)
}

/** What is known of the variables of the container. */
export interface Variables {
  /** Values of the variables that are literal; undefined: the pod knows the value. */
  readonly values: ReadonlyMap<string, string | undefined>
  /** Variables that may be absent. */
  readonly optional: ReadonlySet<string>
}

/** Returns the reference to a variable. A variable that may be absent leaves the setting as it is. */
export function formatReference(name: string, isOptional: boolean): string {
  return isOptional ? `\${?${name}}` : `\${${name}}`
}

/** Formats a key; parts with other characters are quoted. */
export function formatKey(key: readonly string[]): string {
  return key.map((part) => (/^[A-Za-z0-9_-]+$/.test(part) ? part : JSON.stringify(part))).join('.')
}

/** Formats a value as text of a file. Marked variables become references. */
export function formatValue(value: ConfigValue, variables: Variables): string {
  switch (value.kind) {
    case 'null':
      return 'null'
    case 'boolean':
      return String(value.value)
    case 'number':
      return value.text
    case 'text':
      return formatText(value.text, variables)
    case 'array':
      return `[${value.items.map((item) => formatValue(item, variables)).join(', ')}]`
    case 'object':
      return `{${[...value.entries].map(([key, part]) => `${formatKey([key])} = ${formatValue(part, variables)}`).join(', ')}}`
    default:
      return value satisfies never
  }
}

function formatText(text: string, { optional }: Variables): string {
  const parts = splitMarked(text).map(({ isVariable, text: part }) =>
    isVariable ? formatReference(part, optional.has(part)) : JSON.stringify(part),
  )
  return parts.length === 0 ? '""' : parts.join('')
}

function splitMarked(text: string): readonly { readonly isVariable: boolean; readonly text: string }[] {
  return text
    .split(/(\uE000[^\uE001]*\uE001)/u)
    .filter((part) => part !== '')
    .map((part) => {
      const isVariable = part.startsWith(marks.start)
      return { isVariable, text: isVariable ? part.slice(1, -1) : part }
    })
}

/** Returns the value for the check: `null` if a variable in it is not known. */
export function formatCheckedValue(value: ConfigValue, variables: Variables): string {
  const known = substituteVariables(value, variables)
  return known === undefined ? 'null' : formatValue(known, variables)
}

function substituteVariables(value: ConfigValue, variables: Variables): ConfigValue | undefined {
  if (value.kind === 'text') {
    const parts = splitMarked(value.text).map(({ isVariable, text }) =>
      isVariable ? variables.values.get(text) : text,
    )
    return parts.includes(undefined) ? undefined : { ...value, text: parts.join('') }
  }
  if (value.kind === 'array') {
    const items = value.items.map((item) => substituteVariables(item, variables))
    return items.includes(undefined) ? undefined : { ...value, items: items.filter((item) => item !== undefined) }
  }
  if (value.kind !== 'object') return value
  const entries = new Map<string, ConfigValue>()
  for (const [key, part] of value.entries) {
    const known = substituteVariables(part, variables)
    if (known === undefined) return undefined
    entries.set(key, known)
  }
  return { ...value, entries }
}

/** Sorts lines by their keys; lines of one key stay in their order, because later ones have priority. */
export function sortLines(lines: readonly SettingLine[]): readonly SettingLine[] {
  return lines
    .map((line) => ({ line, key: formatKey(line.key) }))
    .toSorted((a, b) => (a.key === b.key ? 0 : a.key < b.key ? -1 : 1))
    .map(({ line }) => line)
}
