// What topics remember: kept when a PUBLISH with the retain flag comes, given to whoever subscribes later (see
// retained-scans.ts).

import { parseTopicName } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import { never, ownedApart, toStored, type Arrival, type Message } from '../message.ts'
import { put, remove } from './stored-queue.ts'

/** Why a message is not kept for its topic, if it is not. Nothing else depends on it: it is delivered all the same. */
export type RetainRefusal = 'no-room' | 'too-large'

/** [MQTT-3.3.1-5, -10] Keeps it in place of the last one, or with an empty payload takes the last one away. */
export function retain(state: BrokerState, message: Message, arrival?: Arrival): RetainRefusal | undefined {
  const name = message.topic.name
  if (message.payloadBytes === 0) {
    if (state.retained.delete(name) && !isOfBroker(name)) remove(state, { kind: 'retained', topic: name })
    return undefined
  }
  const { maxRetainedMessages, maxRetainedPayloadBytes, retainedExpiryMs } = state.settings
  if (message.payloadBytes > maxRetainedPayloadBytes) return 'too-large'
  // Each shard keeps its part of the topics, and has its part of the room.
  const isFull =
    maxRetainedMessages !== undefined && state.retained.count >= Math.ceil(maxRetainedMessages / state.place.count)
  if (isFull && !isOfBroker(name) && state.retained.get(name) === undefined) return 'no-room'
  const kept = ownedApart(message, retainedExpiryMs === 0 ? never : state.nowMs + retainedExpiryMs)
  kept.arrival = arrival
  keepRetained(state, kept)
  if (isOfBroker(name)) return undefined
  put(state, { kind: 'retained', message: toStored(kept) })
  return undefined
}

/** What the broker says of itself is true for a moment: it is kept in memory for those who come later, and never stored. */
export function isOfBroker(topic: string): boolean {
  return topic.startsWith('$SYS/')
}

/** Puts it in its place in memory; its record is the caller's concern. */
export function keepRetained(state: BrokerState, message: Message): void {
  state.retained.set(message)
  if (message.expiresAtMs === never) state.deadlines.cancel('retained-expiry', message.topic.name)
  else state.deadlines.set('retained-expiry', message.topic.name, message.expiresAtMs)
}

export function expireRetained(state: BrokerState, topic: string): void {
  const name = parseTopicName(topic)
  const message = name === undefined ? undefined : state.retained.get(name)
  if (name === undefined || message === undefined || message.expiresAtMs > state.nowMs) return
  state.retained.delete(name)
  if (isOfBroker(name)) return
  remove(state, { kind: 'retained', topic: name })
}
