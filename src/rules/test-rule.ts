// Runs SQL on sample data, without a broker: what `rule_test` does.

import { type CompiledRule, compileRule } from './compile/compile-rule.ts'
import { eventDefinitions, type EventName, getSample } from './events/event-definitions.ts'
import { toEventFields, RuleEvent } from './events/rule-event.ts'
import { resolveEvent, findTopicEvent, takesEvent } from './events/rule-sources.ts'
import type { HostFunctions } from './functions/host-functions.ts'
import {
  Budget,
  encodeJson,
  getKey,
  isArray,
  isMap,
  type MapBuilder,
  RuleError,
  type RuleMap,
  type RuleValue,
} from '../values/index.ts'

export type RuleTestResult =
  /** SELECT gives a map, FOREACH an array, which is empty if there are no items. */
  | { readonly outcome: 'passed'; readonly output: RuleMap | readonly RuleMap[] }
  /** The topic or event is not one of FROM, or WHERE is not true. */
  | { readonly outcome: 'no-match' }
  | { readonly outcome: 'failed'; readonly error: RuleError }

/**
 * Compiles and runs `sql`. `context` has columns; missing ones come from the sample of the event. `event` or
 * `event_type` names the event; without them it is the first event after FROM, or a message. A payload that is not text
 * is used as its JSON. Throws RuleCompileError.
 */
export function testRule(sql: string, context: RuleMap, host: HostFunctions): RuleTestResult {
  const rule = compileRule(sql, { ruleId: 'sql_test' })
  const sample = createSampleEvent(rule, context)
  if (sample instanceof RuleError) return { outcome: 'failed', error: sample }
  const topic = sample.readColumn('topic')
  if (!rule.sources.some((source) => takesEvent(source, sample.fields.event, topic))) return { outcome: 'no-match' }
  const result = rule.evaluate(sample, host)
  if (result.outcome === 'failed') return result
  if (result.outcome === 'no-result')
    return result.isMatch ? { outcome: 'passed', output: [] } : { outcome: 'no-match' }
  return { outcome: 'passed', output: rule.isForeach ? result.outputs : result.outputs[0] }
}

/** Returns the event that a context describes, or the error in the context. */
export function createSampleEvent(rule: CompiledRule, context: RuleMap): RuleEvent | RuleError {
  const event = findContextEvent(rule, context)
  if (event instanceof RuleError) return event
  const columns: MapBuilder = { ...getSample(event), ...context, event }
  delete columns['event_type']
  const { payload } = columns
  if (isMap(payload) || isArray(payload)) columns['payload'] = encodeJson(payload, new Budget())
  return new RuleEvent(toEventFields(event, columns))
}

function findContextEvent(rule: CompiledRule, context: RuleMap): EventName | RuleError {
  const named = getKey(context, 'event') ?? getKey(context, 'event_type')
  if (named === undefined) return resolveEvent(rule.sources[0])
  const event = typeof named === 'string' ? findEvent(named) : undefined
  return event ?? new RuleError('the context names no known event', 'evaluation')
}

/** Names as `client.connected`, `client_connected` or `$events/client_connected`. */
function findEvent(name: string): EventName | undefined {
  for (const event of eventDefinitions.keys()) {
    if (name === event || name === event.replace('.', '_')) return event
  }
  return findTopicEvent(name) ?? findTopicEvent(`$events/${name}`) ?? findBridgeEvent(name)
}

function findBridgeEvent(name: string): EventName | undefined {
  return name.startsWith('$bridges/') || name === 'bridge_mqtt' ? 'bridge.message' : undefined
}

/**
 * Returns a value for a JSON document: undefined members are left out, bytes that are not valid UTF-8 become
 * `{"$base64":…}`, floats keep a decimal. Throws RuleError if the text would be too large.
 */
export function toJsonText(value: RuleValue): string {
  return encodeJson(value, new Budget())
}
