// Answers of `message.publish`, checked: the process of a plugin is not trusted.

import type { PublishHookResult } from '../../core/index.ts'
import { parseTopicName, type ReasonCode, type TopicName } from '../../protocol/index.ts'
import type { MessageChange } from '../calls/call-frames.ts'
import { parsePropertiesJson } from './plugin-properties.ts'
import type { CallResult } from './plugin-channel.ts'

/** A text is the reason why the answer is a failure. */
export function parsePublishAnswer(
  plugin: string,
  result: Exclude<CallResult, { kind: 'failure' }>,
): PublishHookResult | string {
  if (result.kind === 'pass') return pass
  return result.kind === 'change' ? parseChange(plugin, result.change) : parseDrop(plugin, result.value)
}

const pass: PublishHookResult = { action: 'pass' }

function parseChange(plugin: string, change: MessageChange): PublishHookResult | string {
  const { payload, qos, retain, properties: json } = change
  const topic = change.topic === undefined ? undefined : parseChangedTopic(change.topic)
  if (change.topic !== undefined && topic === undefined)
    return `it changed the topic to ${JSON.stringify(change.topic.slice(0, 100))}, to which clients cannot publish`
  const properties = json === undefined ? undefined : parsePropertiesJson(json)
  if (typeof properties === 'string') return properties
  const copied = payload === undefined ? undefined : Buffer.from(payload)
  return { action: 'change', plugin, topic, payload: copied, qos, retain, properties }
}

const reservedTopic = /^\$(?:SYS|share|queue|exclusive|delayed)(?:\/|$)/

function parseChangedTopic(text: string): TopicName | undefined {
  return reservedTopic.test(text) ? undefined : parseTopicName(text)
}

/** Reason codes of PUBACK [MQTT5-3.4.2.1]. */
const pubackReasons: ReadonlySet<unknown> = new Set([0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99])

function parseDrop(plugin: string, answer: unknown): PublishHookResult | string {
  if (typeof answer !== 'object' || answer === null) return 'its answer is no object'
  const { drop, reasonCode = 0, ...others } = answer as Readonly<Record<string, unknown>>
  if (drop !== true || Object.keys(others).length > 0) return 'its answer is neither a change nor a drop'
  return isPubackReason(reasonCode)
    ? { action: 'drop', plugin, reasonCode }
    : `the reason code ${String(reasonCode)} is not allowed in PUBACK`
}

function isPubackReason(code: unknown): code is ReasonCode {
  return pubackReasons.has(code)
}
