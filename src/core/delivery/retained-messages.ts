// What topics remember: kept when a PUBLISH with the retain flag comes, given to whoever subscribes later. A filter
// may match a million topics, so they are looked up in slices, as fast as the client takes them.

import { bareFilter, parseTopicName, splitSharedFilter, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import { never, ownedApart, toStored, type Message } from '../message.ts'
import { topicBelow } from '../mountpoint.ts'
import { mayReceive } from '../sessions/may-receive.ts'
import type { RetainedScan, Session } from '../sessions/session.ts'
import type { SubscriptionOptions } from '../topics/index.ts'
import { hand } from './publish.ts'
import { effectiveQoS } from './offer.ts'
import { put, remove } from './stored-queue.ts'

/** Topics that one slice looks at: about a millisecond. */
const sliceTopics = 1_000

/** Why a message is not kept for its topic, if it is not. Nothing else depends on it: it is delivered all the same. */
export type RetainRefusal = 'no-room' | 'too-large'

/** [MQTT-3.3.1-5, -10] Keeps it in place of the last one, or with an empty payload takes the last one away. */
export function retain(state: BrokerState, message: Message): RetainRefusal | undefined {
  const name = message.topic.name
  if (message.payloadBytes === 0) {
    if (state.retained.delete(name)) remove(state, { kind: 'retained', topic: name })
    return undefined
  }
  const { maxRetainedMessages, maxRetainedPayloadBytes, retainedExpiryMs } = state.settings
  if (message.payloadBytes > maxRetainedPayloadBytes) return 'too-large'
  const isFull = maxRetainedMessages !== undefined && state.retained.count >= maxRetainedMessages
  if (isFull && state.retained.get(name) === undefined) return 'no-room'
  const kept = ownedApart(message, retainedExpiryMs === 0 ? never : state.nowMs + retainedExpiryMs)
  keepRetained(state, kept)
  put(state, { kind: 'retained', message: toStored(kept) })
  return undefined
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
  remove(state, { kind: 'retained', topic: name })
}

/** [MQTT5-3.3.1-9 to -11] By retain handling; a shared subscription is given none [MQTT5-4.8.2]. */
export function startRetained(
  state: BrokerState,
  session: Session,
  filter: TopicFilter,
  how: { options: SubscriptionOptions; isNew: boolean },
): void {
  const { retainHandling } = how.options
  if (retainHandling === 2 || (retainHandling === 1 && !how.isNew)) return
  if (state.retained.count === 0 || splitSharedFilter(filter) !== undefined) return
  session.scans ??= []
  session.scans = session.scans.filter((scan) => scan.filter !== filter)
  session.scans.push({
    filter,
    options: how.options,
    cursor: state.retained.matching(bareFilter(filter)),
    found: [],
    isAtEnd: false,
  })
  state.scanning.add(session)
}

/** One slice for each session that has room. */
export function continueScans(state: BrokerState): void {
  for (const session of state.scanning) {
    if (!hasRoomForRetained(state, session)) {
      state.scanning.delete(session) // `pump` puts it back when there is room.
      continue
    }
    const scan = session.scans?.[0]
    if (scan !== undefined) continueScan(state, session, scan)
    if (scan === undefined || (scan.isAtEnd && scan.found.length === 0)) session.scans?.shift()
    if (session.scans === undefined || session.scans.length === 0) {
      session.scans = undefined
      state.scanning.delete(session)
    }
  }
}

function continueScan(state: BrokerState, session: Session, scan: RetainedScan): void {
  if (scan.found.length === 0) {
    const slice = scan.cursor.next(sliceTopics)
    scan.isAtEnd = slice.isEnd
    scan.found = slice.messages
  }
  let given = 0
  for (const message of scan.found) {
    if (!hasRoomForRetained(state, session)) break
    give(state, session, scan, message)
    given++
  }
  scan.found = given === scan.found.length ? [] : scan.found.slice(given)
}

function give(state: BrokerState, session: Session, scan: RetainedScan, message: Message): void {
  if (message.expiresAtMs <= state.nowMs) return
  // [MQTT5-3.8.3-3] Its own messages are its own when they come out of the topic's memory too.
  if (scan.options.noLocal && message.publisher === session.clientId) return
  // Taken back or replaced since the slice was read: the new one has come, or comes, by itself.
  if (state.retained.get(message.topic.name) !== message) return
  if (!mayBeGiven(state, session, message)) return
  hand(state, session, message, {
    qos: effectiveQoS(state, message.qos, scan.options.qos),
    retain: true, // [MQTT-3.3.1-8] [MQTT5-3.3.1-9]
    subscriptionIdentifiers: scan.options.identifier === undefined ? undefined : [scan.options.identifier],
    group: undefined,
  })
}

/** The receiver may have it, and its publisher may still be heard: both may have changed since it was kept. */
function mayBeGiven(state: BrokerState, session: Session, message: Message): boolean {
  const { permissions } = state
  if (permissions.allowsEverything) return true
  if (!mayReceive(state, session, message.topic)) return false
  // The broker's own, the operator's, or of somebody whose right can not be looked up any more.
  if (message.publisher === '' || message.isByOwnRight) return true
  const publisher = { clientId: message.publisher, username: message.publisherUsername }
  return permissions.mayRemain(publisher, topicBelow(state.topics, session.mountpoint, message.topic))
}

/** Retained messages fill at most half of what may wait, so that live ones still find room. */
function hasRoomForRetained(state: BrokerState, session: Session): boolean {
  const connection = session.connection
  if (connection === undefined || connection.unsentBytes * 2 > state.settings.maxUnsentBytes) return false
  return session.onDiskCount === 0 && session.pendingCount * 2 < state.settings.maxQueuedMessages
}
