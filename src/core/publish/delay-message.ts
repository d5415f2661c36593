// Messages to `$delayed/{n}/topic` are stored, and published to `topic` n seconds later.
//
//   PUBLISH $delayed/10/a ──► record of an internal session ──► PUBACK ──► due ──► published to a; the record is deleted in that batch
//
// The record has the form of a will (`publish/stored-wills.ts`): a large message is removed from memory when it is durable, and
// messages for other shards are sent again after a restart. Each shard has its part of the limit.

import { delayedTopicPrefix, parseTopicName, type TopicName } from '../../protocol/index.ts'
import type { WillRecord } from '../../records/index.ts'
import { copyAlone, createMessageFromStored, type Message, never, toStored } from '../messages/message.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import { measureMessage } from '../messages/measure-message.ts'
import { parseDelayedId, reserveDelayedName } from '../namespaces/internal-session-names.ts'
import { countWill, releaseWill } from '../outgoing/will-memory.ts'
import { putRecord } from '../queues/persistent-queue.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts, WillRecordParts } from '../state/parts.ts'
import type { DelayedMessage, WillState } from '../state/will-state.ts'
import { SessionWill } from '../state/sessions/session-will.ts'

/** Longest delay. A number from this one on is a time in seconds since 1970. */
const maxDelaySeconds = 4_294_967
const msPerSecond = 1_000
const form = /^(\d{1,12})\/(.+)$/s

/** For the client and the log. */
export const delayProblem =
  'invalid delayed topic: use $delayed/SECONDS/TOPIC with a delay up to 4294967 s or a time since 1970'

/** Topic and time of a delayed message. */
export interface Delay {
  readonly topic: TopicName
  readonly dueAtMs: number
}

/**
 * Parses the client's topic. Returns undefined if the delay is not a number or too long, or if no valid topic name follows it.
 */
export function readDelay(name: TopicName, nowMs: number): Delay | undefined {
  const [, seconds, rest = ''] = form.exec(name.slice(delayedTopicPrefix.length)) ?? []
  const topic = rest.startsWith(delayedTopicPrefix) ? undefined : parseTopicName(rest)
  if (seconds === undefined || topic === undefined) return undefined
  const isTime = Number(seconds) >= maxDelaySeconds
  const dueAtMs = isTime ? Number(seconds) * msPerSecond : nowMs + Number(seconds) * msPerSecond
  if (dueAtMs - nowMs > maxDelaySeconds * msPerSecond) return undefined
  return { topic, dueAtMs: Math.max(dueAtMs, nowMs) }
}

/**
 * Returns the setting whose limit is reached; undefined: none. `publisher` is the name of a session, whose messages are all on this shard;
 * '' for rules and the API. Internal clients are exempt from the limit of a client: the messages of a bridge come from many
 * clients.
 */
export function findDelayedLimit(
  { settings, shard, wills }: Parts<'settings' | 'shard' | 'wills'>,
  publisher: string,
): 'delayed.max_delayed_messages' | 'delayed.max_delayed_messages_per_client' | undefined {
  const { maxDelayedMessages: max, maxDelayedMessagesPerClient: maxOfClient } = settings
  if (max !== undefined && wills.delayedMessages.size >= Math.ceil(max / shard.count))
    return 'delayed.max_delayed_messages'
  if (maxOfClient === undefined || publisher === '' || isInternalClient(publisher)) return undefined
  const isReached = (wills.delayedByPublisher.get(publisher) ?? 0) >= maxOfClient
  return isReached ? 'delayed.max_delayed_messages_per_client' : undefined
}

/** Stores the message in the open batch. The caller has checked the limit. */
export function delayMessage(
  state: WillRecordParts & Parts<'deadlines' | 'settings'>,
  message: Message,
  { dueAtMs, ruleDepth = 0 }: { readonly dueAtMs: number; readonly ruleDepth?: number | undefined },
): void {
  const name = reserveDelayedName(state.ids, message.publisher)
  const own = copyAlone(message, never)
  const will = new SessionWill({ name, message: own, delaySeconds: ruleDepth, createdAtMs: state.nowMs })
  // A delayed message has no will delay: this field of its record has the number of rules that led to it. Versions before wrote 0.
  const stored = toStored(own)
  putRecord(state.batches, { kind: 'will', clientId: name, message: stored, delaySeconds: ruleDepth, dueAtMs })
  if (isLarge(state.settings, own)) state.wills.unwritten.push({ batch: state.batches.openBatch.number, will })
  addDelayed(state, will, own, dueAtMs)
}

/** Restores a message that was stored before this start. */
export function restoreDelayed(
  state: Parts<'deadlines' | 'memory' | 'settings' | 'topics' | 'wills'>,
  { clientId: name, message: stored, delaySeconds: ruleDepth, dueAtMs, remaining }: WillRecord,
): void {
  const topic = parseTopicName(stored.topic)
  if (topic === undefined || dueAtMs === undefined) return
  if (remaining !== undefined) state.wills.remaining.set(name, remaining)
  const message = createMessageFromStored(stored, state.topics.internName(topic))
  const held = isLarge(state.settings, message) ? undefined : copyAlone(message, never)
  const will = new SessionWill({ name, message: held, delaySeconds: ruleDepth, createdAtMs: stored.publishedAtMs })
  addDelayed(state, will, message, dueAtMs)
}

/** Removes and returns a message that is being published or deleted. Returns undefined if it does not exist. */
export function takeDelayed(state: Parts<'deadlines' | 'memory' | 'wills'>, id: string): DelayedMessage | undefined {
  const found = state.wills.delayedMessages.get(id)
  if (found === undefined) return undefined
  state.wills.delayedMessages.delete(id)
  state.deadlines.cancel('delayed-due', id)
  countDelayed(state.wills, found.publisher, -1)
  releaseWill(state.memory, found.will)
  return found
}

function addDelayed(
  state: Parts<'deadlines' | 'memory' | 'wills'>,
  will: SessionWill,
  message: Message,
  dueAtMs: number,
): void {
  const id = parseDelayedId(will.name)
  const { qos, retain, publisher, publisherUsername, publishedAtMs, payloadBytes } = message
  const fields = { qos, retain, publisher, publisherUsername, publishedAtMs, payloadBytes }
  state.wills.delayedMessages.set(id, { will, dueAtMs, topic: message.topic.name, ...fields })
  state.deadlines.set('delayed-due', id, dueAtMs)
  countDelayed(state.wills, publisher, 1)
  countWill(state.memory, will)
}

function countDelayed({ delayedByPublisher }: WillState, publisher: string, change: 1 | -1): void {
  const count = (delayedByPublisher.get(publisher) ?? 0) + change
  if (count > 0) delayedByPublisher.set(publisher, count)
  else delayedByPublisher.delete(publisher)
}

function isLarge(settings: CoreSettings, { topic, payloadBytes, properties }: Message): boolean {
  return measureMessage(topic.name, payloadBytes, properties) > settings.maxWillBytesInMemory
}
