// Sends queued messages to one client while its in-flight window has space, refills the queue in memory from disk, and
// sends retained messages when no other message waits.

import type { QueuedRecord, StoredRecord } from '../../records/index.ts'
import type { Batches } from '../model/batches.ts'
import type { DrainParts, Parts, PermitParts, QueueParts, RedeliverParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { SharedGroup } from '../topics/index.ts'
import type { Message } from '../messages/message.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import { PendingQueue } from '../state/sessions/pending-queue.ts'
import { canReceive } from '../state/sessions/can-receive.ts'
import type { Session, PersistentQueue, SessionDelivery } from '../state/sessions/session.ts'
import { matchesFilter, splitExclusiveFilter, splitSharedFilter, type PacketId } from '../../protocol/index.ts'
import {
  abandon,
  abandonLost,
  removeDelivery,
  hasQueueSpace,
  scheduleRetry,
  sendFirst,
  transmit,
} from '../queues/enqueue-for-session.ts'
import { allocateDelivery, countWaitingBytes } from '../outgoing/delivery-memory.ts'
import { restoreReceived } from '../bridge/bridge-replay.ts'
import { findSharedGroup, reassignToPeer, reassignToMember } from '../shared/reassign-shared.ts'
import { fitsMaximumPacket, sendAck } from '../outgoing/send-to-client.ts'
import { deleteDelivery, createQueuedMessage } from '../queues/persistent-queue.ts'
import { mustReadAgain } from '../queues/queue-gaps.ts'

/**
 * A queue is read in parts. A part is read, sent and acknowledged as one step. In a new process this code is slow until V8 has
 * optimized it: for about 0.2 s it takes ten times as long. So part *n* has at most *n* times `partGrowth` messages, up to the maximum.
 */
const maxInPart = 128
const partGrowth = 16

/** New messages stay in memory if at most this number of messages before them is on disk only. */
const maxTailInMemory = 8_192

/** Sends the messages for which the in-flight window has space. Called after an acknowledgement or a report of sent bytes. */
export function drainQueue(state: DrainParts, session: Session): void {
  const connection = session.connection
  if (connection === undefined) return
  const { outgoing } = session
  if (outgoing.postponed !== undefined) sendPostponed(state, session, connection, outgoing.postponed)
  const { pending } = outgoing
  if (pending !== undefined && outgoing.postponed === undefined) {
    for (let next = pending.peek(); next !== undefined; next = pending.peek()) {
      if (!hasQueueSpace(state, session, connection)) break
      pending.shift()
      sendWaiting(state, session, connection, next)
    }
  }
  if (session.onDiskCount > 0) {
    // While memory is short, no messages are read before they can be sent.
    if (state.memory.level === 'normal' || hasQueueSpace(state, session, connection)) requestQueueLoad(state, session)
  } else if (session.retainedReplays !== undefined && outgoing.pendingCount === 0) state.retained.replaying.add(session)
}

function sendPostponed(
  state: RedeliverParts,
  session: Session,
  connection: Connection,
  resends: PendingQueue<SessionDelivery>,
): void {
  for (let next = resends.peek(); next !== undefined; next = resends.peek()) {
    const isOver = session.outgoing.inflight?.get(next.packetId) !== next
    if (!isOver && !hasQueueSpace(state, session, connection)) return
    resends.shift()
    if (!isOver) resendOne(state, session, connection, next)
  }
  session.outgoing.postponed = undefined
}

function sendWaiting(state: RedeliverParts, session: Session, connection: Connection, delivery: SessionDelivery): void {
  session.stored?.packetIds?.delete(delivery.sequence)
  if (dropDenied(state, session, delivery)) return
  sendFirst(state, session, connection, delivery, 'after-waiting')
}

/**
 * Returns true if the client may no longer receive the message, because permissions changed while it waited. A message of a shared
 * subscription goes to another member; other messages are dropped.
 */
function dropDenied(state: RedeliverParts, session: Session, delivery: SessionDelivery): boolean {
  const { message } = delivery
  if (message === undefined || !isDenied(state, session, delivery)) return false
  // [MQTT5-4.8.2-5] A QoS 2 message that was sent to this member goes to no other.
  const canReassign = delivery.group !== undefined && !(delivery.qos === 2 && delivery.wasSent)
  const isReassigned =
    canReassign && (reassignToMember(state, session, delivery) || reassignToPeer(state, delivery, true) !== undefined)
  if (isReassigned) removeDelivery(state, session, delivery)
  else abandon(state, session, delivery, { message, reason: 'not-allowed' })
  return true
}

function isDenied(state: Parts<'access' | 'topics'>, session: Session, { message }: SessionDelivery): boolean {
  return message !== undefined && !canReceive(state, session, message.topic)
}

/** [MQTT-4.4.0-1] [MQTT5-4.4.0-1] Sends in-flight messages again in their order, then queued messages. */
export function resumeDelivery(state: DrainParts, session: Session, connection: Connection): void {
  postponeResends(session)
  resend(state, session, connection, -Infinity)
  drainQueue(state, session)
}

/** [MQTT5-3.3.4-9] Postpones in-flight messages beyond the client's Receive Maximum. They are sent when it has acknowledged others. */
function postponeResends({ outgoing }: Session): void {
  outgoing.postponed = undefined
  if (outgoing.inflightCount <= outgoing.windowLimit) return
  const sent = outgoing
    .ensureWindow()
    .listInSendOrder()
    .filter((delivery) => delivery.stage === 'sent')
  const released = outgoing.inflightCount - sent.length
  const held = sent.slice(Math.max(0, outgoing.windowLimit - released))
  if (held.length === 0) return
  outgoing.postponed = new PendingQueue()
  for (const delivery of held) outgoing.postponed.push(delivery)
}

/**
 * Sends packets again that were last sent at `sentBeforeMs` or earlier. With -Infinity, sends all again. A message that the client
 * received on this connection and may no longer receive stays in flight with its packet identifier until it is
 * acknowledged.
 */
export function resend(state: RedeliverParts, session: Session, connection: Connection, sentBeforeMs: number): void {
  const held = new Set(session.outgoing.postponed?.listItems())
  for (const delivery of session.outgoing.inflight?.listInSendOrder() ?? []) {
    if (held.has(delivery)) continue
    // Packets that wait for a commit are not late. If they were sent again, they would follow the client's PUBREC.
    const isLate = delivery.sentAtMs <= sentBeforeMs && delivery.sentWithBatch <= state.batches.committed
    if (sentBeforeMs !== -Infinity && (!isLate || isDenied(state, session, delivery))) continue
    resendOne(state, session, connection, delivery)
  }
  if (session.outgoing.inflightCount > 0 && connection.version !== 5 && !session.outgoing.isRetryScheduled)
    scheduleRetry(state, session)
}

function resendOne(state: RedeliverParts, session: Session, connection: Connection, delivery: SessionDelivery): void {
  if (delivery.stage === 'waiting') return // Its packet identifier is known; its message is still on disk.
  delivery.sentAtMs = state.nowMs
  if (delivery.stage === 'received') {
    sendAck(state, connection, { type: 'pubrel', packetId: delivery.packetId, waits: false })
  } else if (delivery.message !== undefined && !dropDenied(state, session, delivery)) {
    const { message } = delivery
    if (fitsMaximumPacket(state, connection, message, delivery)) transmit(state, session, connection, delivery, message)
    // [MQTT5-3.1.2-25] The client reconnected with a smaller Maximum Packet Size.
    else abandon(state, session, delivery, { message, reason: 'too-large' })
  }
}

function requestQueueLoad(
  state: Parts<'batches' | 'memory' | 'outputs' | 'requests' | 'settings'>,
  session: Session,
): void {
  const stored = session.stored
  if (stored === undefined || stored.reads.request !== undefined) return
  const space = state.settings.maxQueuedMessages - session.outgoing.pendingCount
  if (space * 2 < state.settings.maxQueuedMessages) return
  const maxWaitingBytes = state.settings.maxQueuedBytes * state.memory.queuesShare
  if (session.outgoing.pendingCount > 0 && countWaitingBytes(session) * 2 > maxWaitingBytes) return
  const limit = Math.min(space, maxInPart, partGrowth * (stored.reads.partNumber + 1))
  const { upTo, afterBatch } = computeReadablePart(state.batches, stored, limit)
  const requestId = state.requests.add({ for: 'queue', session, upTo })
  stored.reads.request = requestId
  // A queue that drops the oldest message reads it from disk, so no other message may be in memory at the same time.
  const keepsLast = session.internal?.ackLatency !== undefined && session.internal?.spool?.dropsOldest !== true
  if (keepsLast && session.onDiskCount <= maxTailInMemory) stored.reads.tailInMemory ??= []
  state.outputs.requests.push({
    kind: 'load-queue',
    requestId,
    clientId: session.clientId,
    fromSequence: stored.diskFrom,
    limit,
    part: stored.reads.isReadAgain ? undefined : stored.reads.partNumber,
    afterBatch,
  })
}

/**
 * Returns the end of the part to read, and the batch for which the read waits. If enough of a long queue is durable, only the durable part
 * is read. Otherwise the read waits until the whole queue is durable.
 */
function computeReadablePart(
  batches: Batches,
  stored: PersistentQueue,
  maxRecords: number,
): { upTo: number; afterBatch: number } {
  const { nextSequence, reads } = stored
  const { mark } = reads
  const newest = batches.lastOpenNumber
  if (mark !== undefined && mark.batch <= batches.committed) {
    reads.writtenUpTo = mark.sequence
    reads.mark = undefined
  }
  reads.mark ??= { sequence: nextSequence, batch: newest }
  const isDurable = reads.writtenUpTo - stored.diskFrom >= maxRecords
  return isDurable ? { upTo: reads.writtenUpTo, afterBatch: 0 } : { upTo: nextSequence, afterBatch: newest }
}

/** Handles the response to `load-queue`. `upTo`: the next sequence number when it was requested. */
export function handleQueueLoaded(
  state: DrainParts,
  session: Session,
  result: { requestId: number; records: readonly StoredRecord[]; isEnd: boolean; upTo: number },
): void {
  const stored = session.stored
  // The session ended or its client disconnected meanwhile. The messages are read again when they are needed.
  if (stored === undefined || stored.reads.request !== result.requestId) return
  stored.reads.request = undefined
  if (session.connection === undefined) return
  if (mustReadAgain(state.outputs, session, stored, result)) return drainQueue(state, session)
  const end = stored.reads.tailInMemory?.[0]?.sequence ?? Infinity
  const from = stored.diskFrom
  for (const record of result.records) {
    if (record.kind !== 'queued' || record.sequence < stored.diskFrom) continue
    if (record.sequence < end) restoreDelivery(state, session, stored, record)
    else stored.diskFrom = end
  }
  if (result.isEnd) stored.diskFrom = Math.max(stored.diskFrom, Math.min(result.upTo, end))
  abandonMissing(state.batches, session, stored, { from, records: result.records })
  appendTail(session, stored)
  // The snapshot still contains messages that were dropped without being read.
  const { reads } = stored
  const canReadOn = !result.isEnd && reads.trimmedTo <= stored.diskFrom
  reads.partNumber = canReadOn ? reads.partNumber + 1 : 0
  if (result.isEnd) stored.completed = undefined
  drainQueue(state, session)
}

/**
 * Frees the places in the in-flight window of messages that the part should contain, but whose records are lost. Otherwise a client with a
 * small Receive Maximum would get no further message.
 */
function abandonMissing(
  batches: Batches,
  session: Session,
  stored: PersistentQueue,
  part: { readonly from: number; readonly records: readonly StoredRecord[] },
): void {
  const { packetIds } = stored
  if (packetIds === undefined || packetIds.size === 0 || part.records.length === stored.diskFrom - part.from) return
  const found = new Set(part.records.map((record) => (record.kind === 'queued' ? record.sequence : 0)))
  for (const [sequence, packetId] of packetIds) {
    if (sequence < part.from || sequence >= stored.diskFrom || found.has(sequence)) continue
    const delivery = session.outgoing.inflight?.get(packetId)
    if (delivery?.stage === 'waiting' && delivery.sequence === sequence) abandonLost(batches, session, delivery)
  }
}

/** Moves the newest messages, which stayed in memory, into the queue when all messages before them are read. */
function appendTail(session: Session, stored: PersistentQueue): void {
  const { tailInMemory } = stored.reads
  const next = tailInMemory?.[0]?.sequence ?? stored.nextSequence
  if (tailInMemory === undefined || stored.diskFrom < next) return
  stored.reads.tailInMemory = undefined
  stored.diskFrom = stored.nextSequence
  for (const delivery of tailInMemory) session.outgoing.ensureQueue().push(delivery)
}

function restoreDelivery(
  state: PermitParts & QueueParts & Parts<'nowMs'>,
  session: Session,
  stored: PersistentQueue,
  record: QueuedRecord,
): void {
  stored.diskFrom = record.sequence + 1
  const message = createQueuedMessage(state.topics, record)
  if (message === undefined) return
  if (restoreReceived(state, session, stored, { record, message })) return
  const group = findGroupOfRecord(state, session, record, message)
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group })
  delivery.sequence = record.sequence
  const packetId = stored.packetIds?.get(record.sequence)
  allocateDelivery(state.memory, session, delivery, message)
  if (packetId !== undefined) replaceReserved(session, delivery, packetId)
  else if (record.qos === 1) delivery.wasSent = record.sequence < stored.sentBelow
  if (message.expiresAtMs <= state.nowMs && !delivery.wasSent) {
    state.counts.countDrop(session, message, 'expired')
    deleteDelivery(state, session, delivery)
    return
  }
  session.outgoing.ensureQueue().push(delivery)
}

/**
 * Returns the shared group of a message that is read from disk. Older records do not contain it. Then, if the client may not receive the
 * message, and only one subscription matches its topic and is shared, the message is of that group and goes to another member.
 */
function findGroupOfRecord(
  state: Parts<'access' | 'router' | 'topics'>,
  session: Session,
  { sharedFilter }: QueuedRecord,
  { topic }: Message,
): SharedGroup<Session> | undefined {
  if (sharedFilter !== undefined) return findSharedGroup(state.router, sharedFilter)
  if (canReceive(state, session, topic)) return undefined
  const matching = [...(session.subscriptions?.keys() ?? [])].filter((filter) => {
    const shared = splitSharedFilter(filter)
    return matchesFilter(shared?.filter ?? splitExclusiveFilter(filter) ?? filter, topic.name)
  })
  const [only] = matching
  const shared = only === undefined || matching.length > 1 ? undefined : splitSharedFilter(only)
  return shared === undefined ? undefined : state.router.findGroup(shared.group, shared.filter)
}

/** Replaces the entry that reserved its packet identifier since the restart. */
function replaceReserved(session: Session, delivery: SessionDelivery, packetId: PacketId): void {
  const reserved = session.outgoing.ensureWindow().get(packetId)
  if (reserved !== undefined) session.outgoing.ensureWindow().remove(reserved)
  session.outgoing.ensureWindow().addWithId(delivery, packetId)
  delivery.wasSent = true
}
