// Retained messages: stored when a PUBLISH has the flag RETAIN, and sent for later subscriptions (see
// retained-replay.ts).

import { parseTopicName, type TopicName } from '../../protocol/index.ts'
import type { RetainedState } from '../state/retained-state.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts, RetainedParts } from '../state/parts.ts'
import {
  never,
  copyRetained,
  maxSmallPayloadBytes,
  toStored,
  type RetainedOrigin,
  type Message,
} from '../messages/message.ts'
import { measureMessage } from '../messages/measure-message.ts'
import type { NamespaceQuotas } from '../namespaces/namespace-quotas.ts'
import { parseTopicNamespace } from '../namespaces/namespaced-names.ts'
import { SmallRetained, StoredRetained, type RetainedMessage } from '../messages/retained-message.ts'
import { forgetPayload } from './retained-reads.ts'
import { putRecord, deleteRecord } from '../queues/persistent-queue.ts'

/** Memory of one retained message and its entry in the tree, without payload and topic, as measured. */
const retainedObjectBytes = 1_300
const smallRetainedObjectBytes = 350

/** Reason why a message is not retained. It is still delivered to subscribers. */
export type RetainRefusal = 'limit-reached' | 'too-large'

/** [MQTT-3.3.1-5, -10] Stores the message in place of the last one; an empty payload deletes the last one. */
export function setRetained(
  state: RetainedParts,
  message: Message,
  arrival?: RetainedOrigin,
): RetainRefusal | undefined {
  const name = message.topic.name
  if (message.payloadBytes === 0) {
    deleteRetained(state, name)
    return undefined
  }
  const { retainedExpiryMs } = state.settings
  if (exceedsRetainedPayload(state.settings, message)) {
    // Current subscribers get this message. A later subscriber must not get the one before it, so that is deleted.
    deleteRetained(state, name)
    return 'too-large'
  }
  const isBrokers = isBrokerTopic(name)
  if (!isBrokers && isFull(state) && state.retained.tree.get(name) === undefined) return 'limit-reached'
  if (state.namespaces.quotas !== undefined && !isWithinNamespaceQuota(state.retained, state.namespaces.quotas, name))
    return 'limit-reached'
  const kept = copyRetained(message, retainedExpiryMs === 0 || isBrokers ? never : state.nowMs + retainedExpiryMs)
  kept.retainedOrigin = arrival
  putRetained(state, kept, state.batches.openBatch.number)
  if (!isBrokers) putRecord(state.batches, { kind: 'retained', message: toStored(kept) })
  return undefined
}

/** retainer.max_payload_size. */
export function exceedsRetainedPayload(settings: CoreSettings, message: Message): boolean {
  return message.payloadBytes > settings.maxRetainedPayloadBytes
}

function deleteRetained(state: Parts<'batches' | 'memory' | 'namespaces' | 'retained'>, topic: TopicName): void {
  if (clearRetained(state, topic) && !isBrokerTopic(topic)) deleteRecord(state.batches, { kind: 'retained', topic })
}

/** The limit is for the node, although each shard stores only messages of its topics. */
function isFull({ settings, shard, retained }: Parts<'retained' | 'settings' | 'shard'>): boolean {
  const { maxRetainedMessages: max } = settings
  if (max === undefined) return false
  const here = retained.tree.count - retained.ofBroker
  if (retained.countOnPeers === undefined) return here >= Math.ceil(max / shard.count)
  return here + retained.countOnPeers() >= max
}

/** Shards that store messages of one namespace at the same moment may each exceed the limit by one. */
function isWithinNamespaceQuota(retained: RetainedState, quotas: NamespaceQuotas, topic: TopicName): boolean {
  const namespace = parseTopicNamespace(topic)
  return namespace === undefined || quotas.allowsRetained(namespace) || retained.tree.get(topic) !== undefined
}

/** Removes the message from memory; the caller deletes its record. Returns false if there was none. */
export function clearRetained(state: Parts<'memory' | 'namespaces' | 'retained'>, topic: TopicName): boolean {
  const message = state.retained.tree.delete(topic)
  if (message === undefined) return false
  state.memory.add('retained', -measureRetainedMemory(message))
  if (message instanceof StoredRetained) forgetPayload(state.retained, message)
  if (isBrokerTopic(topic)) state.retained.ofBroker--
  if (state.namespaces.quotas !== undefined) countRetained(state.namespaces.quotas, topic, -1)
  return true
}

function countRetained(quotas: NamespaceQuotas, topic: TopicName, change: 1 | -1): void {
  const namespace = parseTopicNamespace(topic)
  if (namespace !== undefined) quotas.countRetained(namespace, change)
}

/** Messages of the broker about itself are valid for a short time: they are retained in memory and never stored. */
export function isBrokerTopic(topic: string): boolean {
  // `$SYS/#` also matches `$SYS` [MQTT-4.7.1-2].
  return topic.startsWith('$SYS') && (topic.length === 4 || topic[4] === '/')
}

/**
 * Puts the message into memory; the caller writes its record. `batch` is the one with the record, 0 if it is durable.
 * Then only the metadata of a large message stays in memory. Messages of the broker have no record and stay complete.
 */
export function putRetained(
  state: Parts<'deadlines' | 'memory' | 'namespaces' | 'retained' | 'settings'>,
  message: Message,
  batch: number,
): void {
  const size = measureMessage(message.topic.name, message.payloadBytes, message.properties)
  const isLarge = size > state.settings.maxRetainedBytesInMemory && !isBrokerTopic(message.topic.name)
  const retained = isLarge
    ? new StoredRetained(message)
    : message.payloadBytes <= maxSmallPayloadBytes
      ? new SmallRetained(message)
      : message
  if (retained instanceof StoredRetained && batch > 0) state.retained.payloads.addUnwritten(retained, message, batch)
  const replaced = state.retained.tree.set(retained)
  const isNew = replaced === undefined
  // Most messages replace one of the same size, which changes nothing.
  const heldBytes = measureRetainedMemory(retained) - (replaced === undefined ? 0 : measureRetainedMemory(replaced))
  if (heldBytes !== 0) state.memory.add('retained', heldBytes)
  if (replaced instanceof StoredRetained) forgetPayload(state.retained, replaced)
  if (isNew && isBrokerTopic(message.topic.name)) state.retained.ofBroker++
  if (isNew && state.namespaces.quotas !== undefined) countRetained(state.namespaces.quotas, message.topic.name, 1)
  if (message.expiresAtMs === never) state.deadlines.cancel('retained-expiry', message.topic.name)
  else state.deadlines.set('retained-expiry', message.topic.name, message.expiresAtMs)
}

function measureRetainedMemory(message: RetainedMessage): number {
  const { topicName } = message
  if (message instanceof StoredRetained) return smallRetainedObjectBytes + topicName.length
  const objectBytes = message instanceof SmallRetained ? smallRetainedObjectBytes : retainedObjectBytes
  return objectBytes + measureMessage(topicName, message.payloadBytes, message.properties)
}

export function expireRetained(
  state: Parts<'batches' | 'memory' | 'namespaces' | 'nowMs' | 'retained'>,
  topic: string,
): void {
  const name = parseTopicName(topic)
  const message = name === undefined ? undefined : state.retained.tree.get(name)
  if (name === undefined || message === undefined || message.expiresAtMs > state.nowMs) return
  clearRetained(state, name)
  if (isBrokerTopic(name)) return
  deleteRecord(state.batches, { kind: 'retained', topic: name })
}
