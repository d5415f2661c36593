// The setting `fallback_actions` of EMQX: actions for messages that an action cannot deliver.

import { readItems } from './collections.ts'
import { toPlain, type ConfigValue, type PlainValue } from '../hocon/config-values.ts'
import { isObject, toPlainAction, type PlainRuleAction, readId, readRepublish } from './rule-action.ts'
import { createTypeProblem, type ReadValue, type SettingType } from './setting-type.ts'

/** Another action, or a publication. */
export type FallbackAction = Extract<PlainRuleAction, { readonly kind: 'action' | 'republish' }>

/** Maximum fallbacks of one action. */
const maxFallbacks = 8

const name = 'a list of {kind = reference, type = ..., name = ...} or {kind = republish, args {topic = ..., ...}}'

export const fallbackActions: SettingType<readonly FallbackAction[]> = {
  name,
  jsonSchema: {
    type: 'array',
    maxItems: maxFallbacks,
    items: {
      anyOf: [
        {
          type: 'object',
          properties: { kind: { const: 'reference' }, type: { type: 'string' }, name: { type: 'string' } },
          required: ['kind', 'type', 'name'],
        },
        {
          type: 'object',
          properties: { kind: { const: 'republish' }, args: { type: 'object' } },
          required: ['kind', 'args'],
        },
      ],
    },
  },
  read(value) {
    const items = value.kind === 'array' ? value.items : [value]
    if (items.length > maxFallbacks) return { problem: `an action has at most ${maxFallbacks} fallbacks` }
    return readItems(items, readFallback)
  },
  show: (fallbacks) => JSON.stringify(fallbacks.map(toPlainFallback)),
}

function readFallback(value: ConfigValue): ReadValue<FallbackAction> {
  const plain = toPlain(value)
  if (!isObject(plain)) return createTypeProblem(name, value)
  const { kind, type, name: named, args } = plain
  if (kind === 'republish') {
    if (!isObject(args)) return { problem: 'a fallback of the kind republish needs args {topic = ...}' }
    return toFallback(readRepublish(args))
  }
  if (kind !== 'reference') return { problem: 'kind of a fallback is reference or republish' }
  if (typeof type !== 'string' || typeof named !== 'string')
    return { problem: 'a fallback of the kind reference needs type and name of an action' }
  return toFallback(readId(`${type}:${named}`))
}

function toFallback(read: ReadValue<PlainRuleAction>): ReadValue<FallbackAction> {
  if ('problem' in read) return read
  const { value } = read
  return value.kind === 'action' || value.kind === 'republish' ? { value } : { problem: `the value is not ${name}` }
}

function toPlainFallback(fallback: FallbackAction): PlainValue {
  if (fallback.kind === 'republish') {
    const plain = toPlainAction(fallback)
    return { kind: 'republish', args: isObject(plain) ? (plain['args'] ?? {}) : {} }
  }
  const [type = '', ...rest] = fallback.id.split(':')
  return { kind: 'reference', type, name: rest.join(':') }
}
