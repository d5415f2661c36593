// The queue of a persistent session and its records. If the client acknowledges a message while its record is in an
// open batch, the write is cancelled and never reaches the disk.

import { parseTopicName, type TopicTable } from '../../protocol/index.ts'
import type { QueuedRecord, SessionRecord, StoredChange } from '../../records/index.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts, QueueParts } from '../state/parts.ts'
import type { Batches } from '../model/batches.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import { createMessageFromStored, toStored, type Message } from '../messages/message.ts'
import { maxAckDelayMs, type AckLatency } from '../state/sessions/ack-latency.ts'
import { releaseDelivery } from '../outgoing/delivery-memory.ts'
import { announceFull, announceSpace } from '../peers/full-session-notice.ts'
import { neverExpires, type Session, type PersistentQueue, type SessionDelivery } from '../state/sessions/session.ts'

/** After this number of deleted records, the session record stores the new start of its queue. */
const headRecordInterval = 1_000

export function putRecord(batches: Batches, record: Extract<StoredChange, { change: 'put' }>['record']): void {
  batches.openBatch.changes.push({ change: 'put', record })
}

export function deleteRecord(batches: Batches, key: Extract<StoredChange, { change: 'delete' }>['key']): void {
  batches.openBatch.changes.push({ change: 'delete', key })
}

/** Undefined if the record is damaged; it is then deleted without a report. */
export function createQueuedMessage(
  topics: TopicTable,
  { message: stored, payloadId = 0 }: QueuedRecord,
): Message | undefined {
  const name = typeof stored === 'number' ? undefined : parseTopicName(stored.topic)
  if (typeof stored === 'number' || name === undefined) return undefined
  const message = createMessageFromStored(stored, topics.internName(name))
  message.payloadId = payloadId
  return message
}

/** Assigns the sequence number of the delivery and adds its record. */
export function storeDelivery(
  state: Parts<'batches' | 'nowMs' | 'payloads' | 'peers' | 'rules' | 'sessions' | 'settings'>,
  session: Session,
  stored: PersistentQueue,
  delivery: SessionDelivery,
  message: Message,
): void {
  delivery.sequence = stored.nextSequence++
  delivery.putBatch = state.batches.openBatch.number
  delivery.putIndex = state.batches.openBatch.changes.length
  stored.count++
  if (delivery.group !== undefined) stored.canHoldShared = true
  recordCount(state, session, stored)
  if (message.payloadId !== 0) state.payloads.refcounts.add(message.payloadId, 1)
  const record: QueuedRecord = {
    kind: 'queued',
    clientId: session.clientId,
    sequence: delivery.sequence,
    qos: delivery.qos,
    retain: delivery.retain,
    subscriptionIdentifiers: delivery.subscriptionIdentifiers,
    sharedFilter: delivery.group?.sharedFilter,
    message: message.payloadId === 0 ? toStored(message) : message.payloadId,
  }
  putRecord(state.batches, record)
  const ackLatency = session.internal?.ackLatency
  if (ackLatency !== undefined && delivery.qos === 1) deferCommitForAck(state, session, ackLatency)
}

/** Returns the maximum number of stored messages. */
export function selectMaxStored(settings: CoreSettings, { internal }: Session): number {
  return internal?.spool?.maxMessages ?? settings.maxStoredMessages
}

/** Part of the limit from which a queue is reported as nearly full, and part below which it is not any more. */
const nearlyFullPart = 0.8
const relievedPart = 0.75

/** Called when the queue has one more message, and when a queue was restored or its limit changed. */
export function recordCount(
  state: Parts<'peers' | 'rules' | 'sessions' | 'settings'>,
  session: Session,
  stored: PersistentQueue,
): void {
  const max = selectMaxStored(state.settings, session)
  if (stored.count < max * nearlyFullPart) return
  // Internal clients have alarms of their own. After a restart, their queues are restored before they have named their limits.
  if (session.internal === undefined && !isInternalClient(session.clientId)) state.sessions.nearlyFull.add(session)
  if (stored.count >= max) markFull(state, session)
}

/** Returns what happens to messages for a full queue. */
export function selectOverflow(
  settings: CoreSettings,
  { internal }: Session,
): 'drop-oldest' | 'drop-newest' | 'reject' {
  if (internal === undefined) return settings.storedMessagesOverflow === 'drop-oldest' ? 'drop-oldest' : 'reject'
  if (internal.spool?.dropsOldest === true) return 'drop-oldest'
  return internal.spool?.dropsNewest === true ? 'drop-newest' : 'reject'
}

/** Applies changed settings to all queues. */
export function recountQueues(state: Parts<'peers' | 'rules' | 'sessions' | 'settings'>): void {
  for (const session of state.sessions.values()) {
    const { stored } = session
    if (stored === undefined || session.internal !== undefined) continue
    state.sessions.nearlyFull.delete(session)
    if (state.sessions.full.delete(session)) state.rules.hasActionCapacity = true
    if (stored.isFullAnnounced) announceSpace(state.peers, session, stored, Infinity)
    recordCount(state, session, stored)
  }
}

/** Marks the queue as full: publishers are refused, unless its policy is to drop messages. */
export function markFull(state: Parts<'peers' | 'rules' | 'sessions' | 'settings'>, session: Session): void {
  if (selectOverflow(state.settings, session) !== 'reject') return
  state.sessions.full.add(session)
  // The client may wait for another full queue. Its acknowledgements must be read, so it does not wait any more.
  if (session.connection?.isPaused === true) state.rules.hasActionCapacity = true
  if (session.stored !== undefined) announceFull(state.peers, session, session.stored)
}

/** Stores the payload of a message for several persistent sessions once; each queued record refers to it. */
export function storePayload(state: Parts<'batches' | 'payloads'>, message: Message): void {
  message.payloadId = state.payloads.nextId()
  const reservation = state.payloads.takeReservation()
  if (reservation !== undefined) putRecord(state.batches, reservation)
  putRecord(state.batches, { kind: 'payload', id: message.payloadId, message: toStored(message) })
}

/**
 * Removes a delivery from memory and its queued record: the write is cancelled, or the record is deleted. A delivery in
 * flight must have been removed from the in-flight window, or `releaseInFlightMemory` must have been called for it.
 */
export function deleteDelivery(state: QueueParts, session: Session, delivery: SessionDelivery): void {
  const stored = session.stored
  releaseDelivery(state.memory, session, delivery)
  if (stored === undefined || delivery.sequence === 0) return
  const isPlain = delivery.qos === 1 && (delivery.message === undefined || delivery.message.payloadId === 0)
  const isDeferred = session.internal?.ackLatency !== undefined && isPlain
  const batch = state.batches.open(delivery.putBatch)
  if (batch !== undefined)
    state.batches.cancelWrite(
      batch,
      delivery.putIndex,
      session.internal?.ackLatency !== undefined && delivery.qos === 1,
    )
  else {
    const key = { kind: 'queued', clientId: session.clientId, sequence: delivery.sequence } as const
    if (isDeferred) state.batches.deferWrite({ change: 'delete', key })
    else deleteRecord(state.batches, key)
    stored.deletedSinceRecord++
  }
  stored.count--
  const { nearlyFull, full } = state.sessions
  if (nearlyFull.size > 0 && stored.count < selectMaxStored(state.settings, session) * relievedPart)
    nearlyFull.delete(session)
  if (full.size > 0 && stored.count < selectMaxStored(state.settings, session) && full.delete(session))
    state.rules.hasActionCapacity = true
  if (stored.isFullAnnounced) announceSpace(state.peers, session, stored, selectMaxStored(state.settings, session))
  const payloadId = delivery.message?.payloadId ?? stored.payloadsOnDisk?.get(delivery.sequence) ?? 0
  stored.payloadsOnDisk?.delete(delivery.sequence)
  if (payloadId !== 0) releasePayload(state, payloadId)
  if (stored.deletedSinceRecord < headRecordInterval) return
  if (isDeferred) state.batches.deferWrite({ change: 'put', record: toSessionRecord(session, stored) })
  else recordSession(state.batches, session, stored)
}

/** Delays the commit for a fast client: a message that it acknowledges before the write is never written. */
function deferCommitForAck(state: Parts<'batches' | 'nowMs'>, { connection }: Session, latency: AckLatency): void {
  const { batches, nowMs } = state
  // Behind a QoS 2 message, this message is sent only after the batch is written, so no acknowledgement can arrive before the write.
  const isHeld = connection !== undefined && connection.sendsDeferredUntilBatch > batches.committed
  batches.deferCommit(!isHeld && latency.isNear(batches.commitMs) ? nowMs + maxAckDelayMs : 0)
}

/** The last message is on disk only, so its client cannot acknowledge it before the write: the commit need not be delayed. */
export function commitWithoutDelay(batches: Batches, session: Session, { qos }: SessionDelivery): void {
  if (session.internal?.ackLatency !== undefined && qos === 1) batches.stopDeferring()
}

export function releasePayload(state: Parts<'batches' | 'payloads'>, payloadId: number): void {
  if (state.payloads.refcounts.add(payloadId, -1) === 0) deleteRecord(state.batches, { kind: 'payload', id: payloadId })
}

export function recordSession(batches: Batches, session: Session, stored: PersistentQueue): void {
  // An earlier record of the session may be a deferred write.
  if (session.internal?.ackLatency !== undefined) batches.includeDeferredWrites()
  putRecord(batches, toSessionRecord(session, stored))
}

export function toSessionRecord(session: Session, stored: PersistentQueue): SessionRecord {
  stored.head = findLowestSequence(session, stored)
  stored.deletedSinceRecord = 0
  return {
    kind: 'session',
    clientId: session.clientId,
    version: session.lastConnect.version,
    username: session.identity.username,
    isSuperuser: session.identity.isSuperuser,
    principal: session.identity.principal,
    mountpoint: session.mountpoint,
    createdAtMs: session.createdAtMs,
    expirySeconds: session.expirySeconds,
    disconnectedAtMs: session.connection === undefined ? session.disconnectedAtMs : undefined,
    queueHead: session.restored?.isRecovered === true ? 0 : stored.head,
    sentBelow: computeSentBelow(session, stored),
    receiveMaximum: session.outgoing.windowLimit,
  }
}

function findLowestSequence(session: Session, stored: PersistentQueue): number {
  let lowest = stored.diskFrom
  const waiting = session.outgoing.pending?.peek()
  if (waiting !== undefined) lowest = Math.min(lowest, waiting.sequence)
  // A delivery after PUBREC has no queued record, so its sequence number does not matter here.
  for (const delivery of session.outgoing.inflight?.listInSendOrder() ?? []) {
    const isPastRecord = delivery.stage === 'received' && delivery.message === undefined
    if (delivery.sequence !== 0 && !isPastRecord) lowest = Math.min(lowest, delivery.sequence)
  }
  return lowest
}

function computeSentBelow(session: Session, stored: PersistentQueue): number {
  let below = stored.sentBelow
  for (const delivery of session.outgoing.inflight?.listInSendOrder() ?? []) {
    if (delivery.wasSent) below = Math.max(below, delivery.sequence + 1)
  }
  return below
}

/** Undefined: the session does not expire. */
export function toExpiryMs(session: Session): number | undefined {
  return session.expirySeconds === neverExpires ? undefined : session.expirySeconds * 1_000
}
