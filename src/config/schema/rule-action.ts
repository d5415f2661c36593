// Actions of a rule: names of configured actions, and functions with arguments.

import { readItems } from './collections.ts'
import { toPlain, type ConfigValue, type PlainValue } from '../hocon/config-values.ts'
import { maxTextBytes, createTypeProblem, toScalarText, type ReadValue, type SettingType } from './setting-type.ts'

/** All texts are templates. */
export interface RepublishArguments {
  readonly topic: string
  readonly qos: string
  readonly retain: string
  readonly payload: string
  readonly mqttProperties: Readonly<Record<string, string>>
  /** A template of a map, or a map of templates. */
  readonly userProperties: string | Readonly<Record<string, string>>
}

/** An action without fallbacks. */
export type PlainRuleAction =
  /** `id`: type and name, such as `http:events`. */
  | { readonly kind: 'action'; readonly id: string }
  | { readonly kind: 'console' }
  | { readonly kind: 'do-nothing' }
  | { readonly kind: 'republish'; readonly arguments: RepublishArguments }

/** `fallbacks`: what happens with a result if the action fails. */
export type RuleActionConfig = PlainRuleAction & { readonly fallbacks?: readonly PlainRuleAction[] }

/** Maximum actions of one rule. */
const maxActions = 64
/** Maximum fallbacks of one action. */
const maxFallbacks = 8

const name =
  'a list of actions: "type:name", {function = republish, args {...}}, {function = console}, {function = do_nothing}, or {action = ..., fallbacks = [...]} with one of these'

/** The actions of a rule. */
export const ruleActions: SettingType<readonly RuleActionConfig[]> = {
  name,
  jsonSchema: {
    type: 'array',
    maxItems: maxActions,
    items: {
      anyOf: [
        { type: 'string' },
        {
          type: 'object',
          properties: { function: { enum: ['republish', 'console', 'do_nothing'] }, args: { type: 'object' } },
          required: ['function'],
        },
        {
          type: 'object',
          properties: { action: {}, fallbacks: { type: 'array', maxItems: maxFallbacks } },
          required: ['action'],
        },
      ],
    },
  },
  read(value) {
    const items = value.kind === 'array' ? value.items : [value]
    if (items.length > maxActions) return { problem: `a rule has at most ${maxActions} actions` }
    return readItems(items, readAction)
  },
  show: (actions) => JSON.stringify(actions.map(toPlainAction)),
}

/** Returns the actions and, behind them, their fallbacks. */
export function listWithFallbacks(actions: readonly RuleActionConfig[]): readonly PlainRuleAction[] {
  return [...actions, ...actions.flatMap(({ fallbacks = [] }) => fallbacks)]
}

/** Returns the action as in a configuration and in the API. */
export function toPlainAction(action: RuleActionConfig): PlainValue {
  const { fallbacks = [] } = action
  const plain = toPlainActionWithoutFallbacks(action)
  return fallbacks.length === 0 ? plain : { action: plain, fallbacks: fallbacks.map(toPlainActionWithoutFallbacks) }
}

function toPlainActionWithoutFallbacks(action: PlainRuleAction): PlainValue {
  if (action.kind === 'action') return action.id
  if (action.kind === 'console') return { function: 'console', args: {} }
  if (action.kind === 'do-nothing') return { function: 'do_nothing', args: {} }
  const { topic, qos, retain, payload, mqttProperties, userProperties } = action.arguments
  const args = { topic, qos, retain, payload, mqtt_properties: mqttProperties, user_properties: userProperties }
  return { function: 'republish', args }
}

function readAction(value: ConfigValue): ReadValue<RuleActionConfig> {
  const plain = toPlain(value)
  if (!isObject(plain) || !('action' in plain)) return readPlainAction(plain, value)
  const { action, fallbacks = [] } = plain
  const read = readPlainAction(action, value)
  if ('problem' in read) return read
  if (!Array.isArray(fallbacks)) return { problem: 'fallbacks is a list of actions' }
  if (fallbacks.length > maxFallbacks) return { problem: `an action has at most ${maxFallbacks} fallbacks` }
  const all: PlainRuleAction[] = []
  for (const fallback of fallbacks) {
    const one = readPlainAction(fallback, value)
    if ('problem' in one) return { problem: `fallbacks: ${one.problem}` }
    all.push(one.value)
  }
  return { value: all.length === 0 ? read.value : { ...read.value, fallbacks: all } }
}

function readPlainAction(plain: PlainValue | undefined, value: ConfigValue): ReadValue<PlainRuleAction> {
  if (typeof plain === 'string') return readId(plain)
  if (!isObject(plain)) return createTypeProblem(name, value)
  const written = plain['function']
  if (written === 'console') return { value: { kind: 'console' } }
  if (written === 'do_nothing') return { value: { kind: 'do-nothing' } }
  if (written !== 'republish')
    return { problem: 'an action with arguments is {function = republish, ...} or {function = console}' }
  const { args } = plain
  return isObject(args) ? readRepublish(args) : { problem: 'republish needs args {topic = ...}' }
}

/** Reads an action in the form `type:name`. */
export function readId(id: string): ReadValue<PlainRuleAction> {
  if (/^[a-z_0-9]+:[^:]+$/.test(id)) return { value: { kind: 'action', id } }
  return { problem: `${JSON.stringify(id)} is not an action: write "type:name", for example "http:events"` }
}

const argumentNames = ['topic', 'qos', 'retain', 'payload', 'mqtt_properties', 'user_properties', 'direct_dispatch']

/** Reads the arguments of `republish`. */
export function readRepublish(args: Readonly<Record<string, PlainValue>>): ReadValue<PlainRuleAction> {
  const unknown = Object.keys(args).find((key) => !argumentNames.includes(key))
  if (unknown !== undefined) return { problem: `republish has no argument ${JSON.stringify(unknown)}` }
  const topic = toText(args['topic'])
  if (topic === undefined || topic === '') return { problem: 'republish needs args.topic' }
  const properties = args['mqtt_properties'] ?? {}
  const userProperties = args['user_properties'] ?? ''
  if (!isTexts(properties)) return { problem: 'args.mqtt_properties is not an object with a text for each key' }
  if (typeof userProperties !== 'string' && !isTexts(userProperties))
    return { problem: 'args.user_properties is neither a template nor an object with a text for each key' }
  const rest = {
    qos: toText(args['qos']) ?? '${qos}',
    retain: toText(args['retain']) ?? '${retain}',
    payload: toText(args['payload']) ?? '${payload}',
  }
  const texts = { topic, ...rest, mqttProperties: toTexts(properties) }
  const user = typeof userProperties === 'string' ? userProperties : toTexts(userProperties)
  return { value: { kind: 'republish', arguments: { ...texts, userProperties: user } } }
}

/** SQL and templates: text with several lines. */
export function multilineText(maxBytes: number): SettingType<string> {
  const name = 'text'
  return {
    name,
    jsonSchema: { type: 'string' },
    read(value) {
      const found = toScalarText(value)
      if (found === undefined) return createTypeProblem(name, value)
      if (Buffer.byteLength(found) > maxBytes) return { problem: `the text is longer than ${maxBytes} bytes` }
      return /[^\P{Cc}\t\r\n]/u.test(found) ? { problem: 'the text contains a control character' } : { value: found }
    },
    show: (text) => JSON.stringify(text),
    hasLines: true,
  }
}

/** Whether it is neither a scalar nor a list. */
export function isObject(value: PlainValue | undefined): value is Readonly<Record<string, PlainValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isTexts(value: PlainValue): value is Readonly<Record<string, PlainValue>> {
  return isObject(value) && Object.values(value).every((part) => toText(part) !== undefined)
}

function toTexts(value: Readonly<Record<string, PlainValue>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, toText(part) ?? '']))
}

function toText(value: PlainValue | undefined): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  const text = String(value)
  return Buffer.byteLength(text) > maxTextBytes ? undefined : text
}
