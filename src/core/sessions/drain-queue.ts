// Keeps messages moving towards one client: what waits in memory is sent as the window has room, memory is filled up
// again from disk, and retained messages follow when nothing else waits.

import type { QueuedRecord, StoredRecord } from '../../records/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import type { SharedGroup } from '../topics/index.ts'
import type { Message } from '../model/message.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import { PendingQueue } from '../state/sessions/pending-queue.ts'
import { canReceive } from '../state/sessions/can-receive.ts'
import type { Session, SessionDelivery, PersistentQueue } from '../state/sessions/session.ts'
import { matchesFilter, splitExclusiveFilter, splitSharedFilter, type PacketId } from '../../protocol/index.ts'
import { abandon, removeDelivery, hasRoom, scheduleRetry, sendFirst, transmit } from '../queues/enqueue-for-session.ts'
import { holdDelivery, waitingBytes } from '../outgoing/held-bytes.ts'
import { restoreReceived } from '../bridge/bridge-replay.ts'
import { groupOf, reassignToPeer, reassignToMember } from '../shared/reassign-shared.ts'
import { fits, sendAck } from '../outgoing/send-to-client.ts'
import { deleteDelivery, messageOfRecord } from '../queues/persistent-queue.ts'
import { mustReadAgain } from '../queues/queue-gaps.ts'

/**
 * A part of a queue, its messages sent and their answers taken in, is one piece of work each. In a process that has not done
 * it yet it takes ten times as long, for some fifth of a second: each part has so many more messages than the one before it.
 */
const maxInPart = 128
const partGrowth = 16

/** What comes is kept in memory behind so many messages at most that are on disk alone. */
const maxTailInMemory = 8_192

/** Sends what may be sent now. Called whenever room has appeared: an acknowledgement, a report of sent bytes. */
export function drainQueue(state: BrokerState, session: Session): void {
  const connection = session.connection
  if (connection === undefined) return
  if (session.postponed !== undefined) sendPostponed(state, session, connection, session.postponed)
  const pending = session.pending
  if (pending !== undefined && session.postponed === undefined) {
    for (let next = pending.peek(); next !== undefined; next = pending.peek()) {
      if (!hasRoom(state, session, connection)) break
      pending.shift()
      sendWaiting(state, session, connection, next)
    }
  }
  if (session.onDiskCount > 0) {
    // While memory is short nothing is read ahead of what can be sent.
    if (state.memory.level === 'normal' || hasRoom(state, session, connection)) askForMore(state, session)
  } else if (session.retainedReplays !== undefined && session.pendingCount === 0) state.replaying.add(session)
}

function sendPostponed(
  state: BrokerState,
  session: Session,
  connection: Connection,
  resends: PendingQueue<SessionDelivery>,
): void {
  for (let next = resends.peek(); next !== undefined; next = resends.peek()) {
    const isOver = session.outgoing?.get(next.packetId) !== next
    if (!isOver && !hasRoom(state, session, connection)) return
    resends.shift()
    if (!isOver) resendOne(state, session, connection, next)
  }
  session.postponed = undefined
}

function sendWaiting(state: BrokerState, session: Session, connection: Connection, delivery: SessionDelivery): void {
  session.stored?.packetIds?.delete(delivery.sequence)
  if (dropDenied(state, session, delivery)) return
  sendFirst(state, session, connection, delivery, 'after-waiting')
}

/**
 * Who may have what may have changed while it waited. What a shared group gave to this session goes to another member
 * then; anything else is over.
 */
function dropDenied(state: BrokerState, session: Session, delivery: SessionDelivery): boolean {
  const { message } = delivery
  if (message === undefined || !isDenied(state, session, delivery)) return false
  // [MQTT5-4.8.2-5] QoS 2 that was begun with this member goes to nobody else.
  const mayMove = delivery.group !== undefined && !(delivery.qos === 2 && delivery.wasSent)
  const hasMoved =
    mayMove && (reassignToMember(state, session, delivery) || reassignToPeer(state, delivery, true) !== undefined)
  if (hasMoved) removeDelivery(state, session, delivery)
  else abandon(state, session, delivery, message, 'not-allowed')
  return true
}

function isDenied(state: BrokerState, session: Session, { message }: SessionDelivery): boolean {
  return message !== undefined && !canReceive(state, session, message.topic)
}

/** [MQTT-4.4.0-1] [MQTT5-4.4.0-1] What was in flight is sent again in its order, then the rest follows. */
export function resumeDelivery(state: BrokerState, session: Session, connection: Connection): void {
  postponeResends(session)
  resend(state, session, connection, -Infinity)
  drainQueue(state, session)
}

/** [MQTT5-3.3.4-9] Of what was in flight only so many go at once as the client takes now; the others as it answers. */
function postponeResends(session: Session): void {
  session.postponed = undefined
  if (session.inflightCount <= session.windowLimit) return
  const sent = session
    .window()
    .inSendOrder()
    .filter((delivery) => delivery.stage === 'sent')
  const released = session.inflightCount - sent.length
  const held = sent.slice(Math.max(0, session.windowLimit - released))
  if (held.length === 0) return
  session.postponed = new PendingQueue()
  for (const delivery of held) session.postponed.push(delivery)
}

/**
 * Sends again what was last sent at `sentBeforeMs` or earlier; all of it with -Infinity. What the client has on this
 * connection and may not have any more keeps its place and its packet id until it is answered: it is under way.
 */
export function resend(state: BrokerState, session: Session, connection: Connection, sentBeforeMs: number): void {
  const held = new Set(session.postponed?.all())
  for (const delivery of session.outgoing?.inSendOrder() ?? []) {
    if (held.has(delivery)) continue
    // What still waits for the disk has not been sent late: sent once more it would come after the client's PUBREC.
    const isLate = delivery.sentAtMs <= sentBeforeMs && delivery.sentWithBatch <= state.committedBatch
    if (sentBeforeMs !== -Infinity && (!isLate || isDenied(state, session, delivery))) continue
    resendOne(state, session, connection, delivery)
  }
  if (session.inflightCount > 0 && connection.version !== 5 && !session.isRetryScheduled) scheduleRetry(state, session)
}

function resendOne(state: BrokerState, session: Session, connection: Connection, delivery: SessionDelivery): void {
  if (delivery.stage === 'waiting') return // Its packet id is remembered, its message is still on disk.
  delivery.sentAtMs = state.nowMs
  if (delivery.stage === 'received') {
    sendAck(state, connection, { type: 'pubrel', packetId: delivery.packetId, waits: false })
  } else if (delivery.message !== undefined && !dropDenied(state, session, delivery)) {
    const { message } = delivery
    if (fits(state, connection, message, delivery)) transmit(state, session, connection, delivery, message)
    // [MQTT5-3.1.2-25] The client has come back with a smaller Maximum Packet Size.
    else abandon(state, session, delivery, message, 'too-large')
  }
}

function askForMore(state: BrokerState, session: Session): void {
  const stored = session.stored
  if (stored === undefined || stored.readRequest !== undefined) return
  const room = state.settings.maxQueuedMessages - session.pendingCount
  if (room * 2 < state.settings.maxQueuedMessages) return
  const maxWaitingBytes = state.settings.maxQueuedBytes * state.memory.queuesShare
  if (session.pendingCount > 0 && waitingBytes(session) * 2 > maxWaitingBytes) return
  const limit = Math.min(room, maxInPart, partGrowth * (stored.partNumber + 1))
  const { upTo, afterBatch } = readableUpTo(state, stored, limit)
  const question = state.request({ for: 'queue', session, upTo })
  stored.readRequest = question
  // A spool that goes without its oldest reads these on disk, and what is there is not to be in memory as well.
  const keepsLast = session.ackLatency !== undefined && session.spool?.dropsOldest !== true
  if (keepsLast && session.onDiskCount <= maxTailInMemory) stored.tailInMemory ??= []
  state.requests.push({
    kind: 'load-queue',
    question,
    clientId: session.clientId,
    fromSequence: stored.diskFrom,
    limit,
    part: stored.isReadAgain ? undefined : stored.partNumber,
    afterBatch,
  })
}

/** Of a long queue as much as is wanted has been on disk for a while. Else all of it is to be there first. */
function readableUpTo(
  state: BrokerState,
  stored: PersistentQueue,
  wanted: number,
): { upTo: number; afterBatch: number } {
  const { nextSequence, mark } = stored
  const newest = state.batches.lastOpenNumber
  if (mark !== undefined && mark.batch <= state.committedBatch) {
    stored.writtenUpTo = mark.sequence
    stored.mark = undefined
  }
  stored.mark ??= { sequence: nextSequence, batch: newest }
  const isThere = stored.writtenUpTo - stored.diskFrom >= wanted
  return isThere ? { upTo: stored.writtenUpTo, afterBatch: 0 } : { upTo: nextSequence, afterBatch: newest }
}

/** The answer to `load-queue`. `upTo`: the sequence that was next when the question was asked. */
export function handleQueueLoaded(
  state: BrokerState,
  session: Session,
  answer: { question: number; records: readonly StoredRecord[]; isEnd: boolean; upTo: number },
): void {
  const stored = session.stored
  // The session has ended, or lost its client meanwhile: what was read is read again when it is wanted.
  if (stored === undefined || stored.readRequest !== answer.question) return
  stored.readRequest = undefined
  if (session.connection === undefined) return
  if (mustReadAgain(state, session, stored, answer)) return drainQueue(state, session)
  const end = stored.tailInMemory?.[0]?.sequence ?? Infinity
  for (const record of answer.records) {
    if (record.kind !== 'queued' || record.sequence < stored.diskFrom) continue
    if (record.sequence < end) restoreDelivery(state, session, stored, record)
    else stored.diskFrom = end
  }
  if (answer.isEnd) stored.diskFrom = Math.max(stored.diskFrom, Math.min(answer.upTo, end))
  appendTail(session, stored)
  // What was dropped unread is still there as of an earlier moment.
  const mayReadOn = !answer.isEnd && stored.trimmedTo <= stored.diskFrom
  stored.partNumber = mayReadOn ? stored.partNumber + 1 : 0
  if (answer.isEnd) stored.completed = undefined
  drainQueue(state, session)
}

/** What is kept in memory follows, when nothing is left to be read before it. */
function appendTail(session: Session, stored: PersistentQueue): void {
  const { tailInMemory } = stored
  const next = tailInMemory?.[0]?.sequence ?? stored.nextSequence
  if (tailInMemory === undefined || stored.diskFrom < next) return
  stored.tailInMemory = undefined
  stored.diskFrom = stored.nextSequence
  for (const delivery of tailInMemory) session.queue().push(delivery)
}

function restoreDelivery(state: BrokerState, session: Session, stored: PersistentQueue, record: QueuedRecord): void {
  stored.diskFrom = record.sequence + 1
  const message = messageOfRecord(state, record)
  if (message === undefined) return
  if (restoreReceived(state, session, stored, { record, message })) return
  const group = sharedGroupOf(state, session, record, message)
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group })
  delivery.sequence = record.sequence
  const packetId = stored.packetIds?.get(record.sequence)
  holdDelivery(state, session, delivery, message)
  if (packetId !== undefined) replaceReserved(session, delivery, packetId)
  else if (record.qos === 1) delivery.wasSent = record.sequence < stored.sentBelow
  if (message.expiresAtMs <= state.nowMs && !delivery.wasSent) {
    state.countDrop(session, message, 'expired')
    deleteDelivery(state, session, delivery)
    return
  }
  session.queue().push(delivery)
}

/**
 * Older records do not say whether a shared group has given it. Where nothing else that the session subscribes to brings the
 * topic it was that one: what its client may not have goes to another member then.
 */
function sharedGroupOf(
  state: BrokerState,
  session: Session,
  { sharedFilter }: QueuedRecord,
  { topic }: Message,
): SharedGroup<Session> | undefined {
  if (sharedFilter !== undefined) return groupOf(state, sharedFilter)
  if (canReceive(state, session, topic)) return undefined
  const bringing = [...(session.subscriptions?.keys() ?? [])].filter((filter) => {
    const shared = splitSharedFilter(filter)
    return matchesFilter(shared?.filter ?? splitExclusiveFilter(filter) ?? filter, topic.name)
  })
  const [only] = bringing
  const shared = only === undefined || bringing.length > 1 ? undefined : splitSharedFilter(only)
  return shared === undefined ? undefined : state.router.group(shared.group, shared.filter)
}

/** In place of what has kept its packet id since the restart. */
function replaceReserved(session: Session, delivery: SessionDelivery, packetId: PacketId): void {
  const reserved = session.window().get(packetId)
  if (reserved !== undefined) session.window().remove(reserved)
  session.window().addWithId(delivery, packetId)
  delivery.wasSent = true
}
