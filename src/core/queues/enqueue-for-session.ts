// Gives one message to one session: it is sent now, queued, or dropped with a reason.

import type { QoS } from '../../protocol/index.ts'
import { abandonedSequence } from '../../records/index.ts'
import { encodePublishedQoS } from '../messages/internal-client-options.ts'
import type { Batches } from '../model/batches.ts'
import type { MemoryAccount } from '../model/memory-account.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { EnqueueParts, Parts, QueueParts, TransmitParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { copyOut, type Message } from '../messages/message.ts'
import type { DropReason } from '../model/drop-reason.ts'
import { publishHead } from '../model/send-list.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import type { Session, PersistentQueue, SessionDelivery } from '../state/sessions/session.ts'
import type { SharedGroup } from '../topics/index.ts'
import { dropToFreeSpace } from './drop-oldest.ts'
import {
  fitsMaximumPacket,
  fitsAtMostOnce,
  sendAllAfterCommit,
  sendPublish,
  sendPublishWithExtra,
  selectSendList,
} from '../outgoing/send-to-client.ts'
import { allocateDelivery, releaseDelivery, countWaitingBytes } from '../outgoing/delivery-memory.ts'
import { countDelivery, isDeferred } from '../outgoing/deliveries-rate.ts'
import {
  deleteDelivery,
  deleteRecord,
  commitWithoutDelay,
  storeDelivery,
  selectMaxStored,
  putRecord,
} from './persistent-queue.ts'

/** A connected internal client may have many more messages of at most this size in memory: max_mqueue_bytes limits them. */
const smallFrameBytes = 1_024
const smallFrameFactor = 64
const maxSmallInMemory = 65_536

/** Enqueues the message by its QoS. */
export function enqueueForSession(
  state: EnqueueParts,
  session: Session,
  message: Message,
  options: {
    qos: QoS
    retain: boolean
    subscriptionIdentifiers: readonly number[] | undefined
    group: SharedGroup<Session> | undefined
  },
): void {
  if (options.qos === 0) sendAtMostOnce(state, session, message, options)
  else enqueue(state, session, new Delivery(message, options), message)
}

/** Returns the delivery of a message for a bridge whose QoS is raised. The subscription identifier tells the bridge the published QoS. */
export function createUpgradedDelivery(
  message: Message,
  { raisesTo, retain }: { readonly raisesTo: QoS; readonly retain: boolean },
): Parameters<typeof enqueueForSession>[3] {
  return { qos: raisesTo, retain, subscriptionIdentifiers: encodePublishedQoS(message.qos), group: undefined }
}

/** Sends a QoS 0 message now, or drops it. */
function sendAtMostOnce(
  state: TransmitParts & Parts<'rules'>,
  session: Session,
  message: Message,
  options: { retain: boolean; subscriptionIdentifiers: readonly number[] | undefined },
): void {
  const connection = session.connection
  const { wanted } = state.rules.triggers
  if (connection === undefined) {
    if (wanted['delivery-dropped']) recordNotConnected(state, session, message, options.retain)
    return
  }
  if (connection.unsentBytes > state.settings.maxUnsentBytes)
    return state.counts.countDrop(session, message, 'not-reading')
  if (!connection.isPlain && isDeferred(session)) return state.counts.countDrop(session, message, 'rate-limited')
  if (!fitsAtMostOnce(state, connection, message, options.subscriptionIdentifiers))
    return state.counts.countDrop(session, message, 'too-large')
  state.counts.publishesSent++
  session.counts.sent++
  const list = selectSendList(state, connection)
  const head = publishHead(0, { retain: options.retain, dup: false }, 0)
  if (options.subscriptionIdentifiers === undefined && connection.isPlain) {
    sendPublish(list, connection, message, head)
  } else {
    sendPublishWithExtra(state, connection, message, {
      list,
      head,
      subscriptionIdentifiers: options.subscriptionIdentifiers,
    })
    countDelivery(state, session, connection)
  }
  if (wanted['message-delivered']) recordDelivered(state, session, message, { qos: 0, retain: options.retain })
}

/** Records the delivery for rules. */
function recordDelivered(
  state: Parts<'nowMs' | 'rules'>,
  session: Session,
  message: Message,
  { qos, retain }: { readonly qos: QoS; readonly retain: boolean },
): void {
  state.rules.triggers.addDelivery('message-delivered', session, { message, qos, retain, atMs: state.nowMs })
}

function recordNotConnected(
  state: Parts<'nowMs' | 'rules'>,
  session: Session,
  message: Message,
  retain: boolean,
): void {
  const reason = 'not-connected'
  state.rules.triggers.addDelivery('delivery-dropped', session, { message, qos: 0, retain, reason, atMs: state.nowMs })
}

/** Sends or queues a message of QoS 1 or 2. A persistent session stores the message first. */
export function enqueue(state: EnqueueParts, session: Session, delivery: SessionDelivery, message: Message): void {
  const stored = session.stored
  if (stored !== undefined) {
    const isFull = stored.count >= selectMaxStored(state.settings, session)
    if (isFull && !dropToFreeSpace(state, session, stored))
      return state.counts.countDrop(session, message, 'storage-full')
    storeDelivery(state, session, stored, delivery, message)
  }
  const { connection, outgoing } = session
  const isNext =
    outgoing.pendingCount === 0 &&
    outgoing.postponed === undefined &&
    (stored === undefined || stored.diskFrom === delivery.sequence)
  if (connection !== undefined && isNext && hasQueueSpace(state, session, connection)) {
    if (stored !== undefined) stored.diskFrom = delivery.sequence + 1
    sendFirst(state, session, connection, delivery, 'at-once')
  } else {
    enqueueWaiting(state, session, delivery, message)
  }
}

/** Returns whether another delivery may be in flight to this client. */
export function hasQueueSpace(state: Parts<'memory' | 'settings'>, session: Session, connection: Connection): boolean {
  // Messages of an earlier connection that have a packet identifier and are not sent again yet occupy no space of the window.
  const { outgoing, stored } = session
  const notSent = (stored?.packetIds?.size ?? 0) + (outgoing.postponed === undefined ? 0 : outgoing.postponed.length)
  const inFlight = outgoing.inflightCount - notSent
  if (inFlight >= outgoing.openWindow || connection.unsentBytes > state.settings.maxUnsentBytes) return false
  // One message is always allowed, whatever its size. `bytes` includes messages that are not sent again yet.
  return inFlight <= 0 || (outgoing.inflight?.bytes ?? 0) < state.settings.maxInflightBytes * state.memory.queuesShare
}

function enqueueWaiting(
  state: Parts<'batches' | 'counts' | 'memory' | 'payloads' | 'settings'>,
  session: Session,
  delivery: SessionDelivery,
  message: Message,
): void {
  const stored = session.stored
  if (stored === undefined) return enqueueInMemory(state, session, delivery, message)
  state.counts.publishesLeftWaiting++
  const isNextInMemory = session.connection !== undefined && stored.diskFrom === delivery.sequence
  // Messages for a disconnected client, and messages beyond the limit in memory, are on disk only.
  const { tailInMemory } = stored.reads
  const waiting = session.outgoing.pendingCount + (tailInMemory === undefined ? 0 : tailInMemory.length)
  const isFull =
    waiting >= computeMaxInMemory(state.settings, session, message) || !fitsInMemory(state, session, message)
  if ((!isNextInMemory && tailInMemory === undefined) || isFull) {
    forgetBehind(state.memory, session, stored)
    return commitWithoutDelay(state.batches, session, delivery)
  }
  copyOut(message, state.payloads.buffers)
  allocateDelivery(state.memory, session, delivery, message)
  if (tailInMemory !== undefined) return void tailInMemory.push(delivery)
  stored.diskFrom = delivery.sequence + 1
  session.outgoing.ensureQueue().push(delivery)
}

/**
 * Returns the maximum number of waiting messages in memory. It is larger for internal clients, because they send faster than messages are
 * read from disk.
 */
function computeMaxInMemory(settings: CoreSettings, { internal }: Session, message: Message): number {
  const { maxQueuedMessages } = settings
  if (internal?.ackLatency === undefined || message.frameEnd - message.frameStart > smallFrameBytes)
    return maxQueuedMessages
  return Math.max(maxQueuedMessages, Math.min(maxSmallInMemory, maxQueuedMessages * smallFrameFactor))
}

/** Returns whether mqtt.max_mqueue_bytes allows one more message in memory. One message is always allowed, whatever its size. */
function fitsInMemory({ settings, memory }: Parts<'memory' | 'settings'>, session: Session, message: Message): boolean {
  const bytes = countWaitingBytes(session)
  return bytes <= 0 || bytes + (message.frameEnd - message.frameStart) <= settings.maxQueuedBytes * memory.queuesShare
}

/** Removes messages from memory that arrived while earlier ones are read from disk: they stay on disk only. */
export function forgetBehind(memory: MemoryAccount, session: Session, stored: PersistentQueue): void {
  if (stored.reads.tailInMemory === undefined) return
  for (const delivery of stored.reads.tailInMemory) releaseDelivery(memory, session, delivery)
  stored.reads.tailInMemory = undefined
}

function enqueueInMemory(
  state: Parts<'counts' | 'memory' | 'payloads' | 'settings'>,
  session: Session,
  delivery: SessionDelivery,
  message: Message,
): void {
  // A clean session without a client has ended: its last subscriptions are being removed.
  if (session.connection === undefined) return
  const queue = session.outgoing.ensureQueue()
  while (queue.length >= state.settings.maxQueuedMessages || !fitsInMemory(state, session, message)) {
    if (state.settings.queueFullPolicy === 'drop-newest') return state.counts.countDrop(session, message, 'queue-full')
    if (!dropOldestWaiting(state, session, 'queue-full')) break
  }
  state.counts.publishesLeftWaiting++
  copyOut(message, state.payloads.buffers)
  allocateDelivery(state.memory, session, delivery, message)
  queue.push(delivery)
}

/** Drops the oldest queued message of a clean session. Returns false if the queue is empty. */
export function dropOldestWaiting(state: Parts<'counts' | 'memory'>, session: Session, reason: DropReason): boolean {
  const oldest = session.outgoing.pending?.shift()
  if (oldest === undefined) return false
  if (oldest.message !== undefined) state.counts.countDropForNewer(session, oldest.message, reason)
  releaseDelivery(state.memory, session, oldest)
  return true
}

/**
 * Sends a delivery for the first time on this connection, or drops it if it is too large for the client or expired. A message that did not
 * wait has not expired, even with a message expiry interval of 0.
 */
export function sendFirst(
  state: EnqueueParts,
  session: Session,
  connection: Connection,
  delivery: SessionDelivery,
  when: 'at-once' | 'after-waiting',
): void {
  const message = delivery.message
  if (message === undefined) return
  // A message that may have been sent before must be sent again, because the client may know its packet identifier.
  const canExpire = when === 'after-waiting' && !delivery.wasSent
  const isExpired = canExpire && message.expiresAtMs <= state.nowMs
  const refusal = isExpired
    ? 'expired'
    : fitsMaximumPacket(state, connection, message, delivery)
      ? undefined
      : 'too-large'
  if (refusal !== undefined) return abandon(state, session, delivery, { message, reason: refusal })
  copyOut(message, state.payloads.buffers)
  allocateDelivery(state.memory, session, delivery, message)
  const { outgoing } = session
  if (delivery.packetId === 0) outgoing.ensureWindow().add(delivery)
  else outgoing.ensureWindow().recordSent(delivery)
  delivery.stage = 'sent'
  delivery.sentAtMs = state.nowMs
  state.counts.publishesSent++
  session.counts.sent++
  transmit(state, session, connection, delivery, message)
  if (state.rules.triggers.wanted['message-delivered']) recordDelivered(state, session, message, delivery)
  if (connection.version !== 5 && !outgoing.isRetryScheduled) scheduleRetry(state, session)
}

/** Drops a message and ends its delivery. */
export function abandon(
  state: QueueParts,
  session: Session,
  delivery: SessionDelivery,
  { message, reason }: { readonly message: Message; readonly reason: DropReason },
): void {
  state.counts.countDrop(session, message, reason)
  removeDelivery(state, session, delivery)
}

/**
 * Ends a delivery for this session, because another member has the message or no client can receive it. The message was not sent on
 * this connection.
 */
export function removeDelivery(state: QueueParts, session: Session, delivery: SessionDelivery): void {
  const { packetId, qos } = delivery
  if (packetId !== 0 && qos === 2) abandonSent(state.batches, session, delivery)
  else if (packetId !== 0) session.outgoing.ensureWindow().remove(delivery)
  deleteDelivery(state, session, delivery)
}

/**
 * Ends a QoS 2 delivery that may have been sent, and keeps its packet identifier in use. [MQTT-4.3.3-2] [MQTT5-4.3.3-10] A client that
 * received the message would treat another message with this identifier as a duplicate until PUBREL.
 */
function abandonSent(batches: Batches, session: Session, delivery: SessionDelivery): void {
  const { packetId } = delivery
  session.outgoing.ensureWindow().abandon(delivery)
  if (delivery.sequence === 0) return
  putRecord(batches, {
    kind: 'outgoing',
    clientId: session.clientId,
    packetId,
    sequence: abandonedSequence,
    stage: 'sent',
  })
}

/** Ends a delivery whose record is lost. It frees its place in the in-flight window; at QoS 2, its packet identifier stays in use. */
export function abandonLost(batches: Batches, session: Session, delivery: SessionDelivery): void {
  if (delivery.qos === 2) abandonSent(batches, session, delivery)
  else session.outgoing.ensureWindow().remove(delivery)
  if (session.stored?.packetIds?.delete(delivery.sequence) !== true) return
  deleteRecord(batches, { kind: 'queued', clientId: session.clientId, sequence: delivery.sequence })
}

/** Sends PUBLISH for a delivery that has a packet identifier, with DUP if it was sent before. */
export function transmit(
  state: TransmitParts,
  session: Session,
  connection: Connection,
  delivery: SessionDelivery,
  message: Message,
): void {
  // A QoS 2 message is a duplicate only with the same packet identifier [MQTT-4.3.3-1].
  const dup = delivery.wasSent || (message.isRepeat && delivery.qos === 1)
  const head = publishHead(delivery.qos, { retain: delivery.retain, dup }, delivery.packetId)
  const mustBeStored = delivery.qos === 2 && session.stored !== undefined
  if (mustBeStored && !delivery.wasSent) {
    putRecord(state.batches, {
      kind: 'outgoing',
      clientId: session.clientId,
      packetId: delivery.packetId,
      sequence: delivery.sequence,
      stage: 'sent',
    })
  }
  // If a QoS 2 packet identifier were sent before it was stored, another message could get it after a crash. In a
  // redelivery it is already stored, and must not follow the client's later acknowledgements [MQTT-4.3.3-1].
  const isStored = delivery.wasSent && delivery.sentWithBatch <= state.batches.committed
  // Later packets wait as well. Otherwise QoS 0 and 1 messages would overtake QoS 2 messages of the same topic.
  const list =
    mustBeStored && !isStored ? sendAllAfterCommit(state.batches, connection) : selectSendList(state, connection)
  delivery.sentWithBatch = list === state.outputs.sends ? 0 : state.batches.openBatch.number
  delivery.wasSent = true
  if (delivery.subscriptionIdentifiers === undefined && connection.isPlain) {
    sendPublish(list, connection, message, head)
  } else {
    sendPublishWithExtra(state, connection, message, {
      list,
      head,
      subscriptionIdentifiers: delivery.subscriptionIdentifiers,
    })
    countDelivery(state, session, connection)
  }
}

/**
 * Schedules the retransmission of unacknowledged packets on the same connection, which is allowed for 3.1 and 3.1.1 clients only
 * [MQTT5-4.4.0-1].
 */
export function scheduleRetry(state: Parts<'deadlines' | 'nowMs' | 'settings'>, session: Session): void {
  if (state.settings.retryIntervalMs === 0) return
  session.outgoing.isRetryScheduled = true
  state.deadlines.set('retry', session.clientId, state.nowMs + state.settings.retryIntervalMs)
}

/** Returns the QoS with which a message is delivered to a subscription. */
export function computeEffectiveQoS(settings: CoreSettings, published: QoS, granted: QoS): QoS {
  if (settings.upgradeQoS) return granted
  return published < granted ? published : granted
}
