// Detaches a session from its client, and ends sessions.

import type { BrokerState } from '../state/broker-state.ts'
import type { ForwardParts, Parts, PermitParts, QueueParts, RedeliverParts } from '../state/parts.ts'
import type { MemoryAccount } from '../model/memory-account.ts'
import type { Batches } from '../model/batches.ts'
import type { SessionEndCause } from '../model/outputs.ts'
import { canReceive } from '../state/sessions/can-receive.ts'
import {
  createPersistentQueue,
  type Session,
  type PersistentQueue,
  type SessionDelivery,
} from '../state/sessions/session.ts'
import { storeForMembers } from '../shared/expired-session-redelivery.ts'
import { releaseAllOnPeers } from '../peers/qos2-forwarding.ts'
import { releaseInFlightMemory } from '../outgoing/delivery-memory.ts'
import { removeSubscriptions } from './remove-subscriptions.ts'
import { forgetBehind } from '../queues/enqueue-for-session.ts'
import { updatePresence } from '../peers/update-interest.ts'
import { reassignToPeer, reassignToMember } from '../shared/reassign-shared.ts'
import { dropWill, publishWill } from './publish-will.ts'
import { cancelReplays } from '../retained/retained-replay.ts'
import { toExpiryMs, deleteDelivery, recordSession } from '../queues/persistent-queue.ts'
import { recordGapsBelow } from '../queues/queue-gaps.ts'
import { storePendingWill, recordDueTime } from '../publish/stored-wills.ts'

/** The client of the session disconnected: the session ends at once, or when it expires. */
export function detachSession(state: BrokerState, session: Session, options: { publishWill: boolean }): void {
  updatePresence(state.peers, session, -1)
  session.connection = undefined
  session.disconnectedAtMs = state.nowMs
  cancelReplays(state, session, undefined)
  state.sessions.connected--
  publishOrDropWill(state, session, options.publishWill)
  if (session.expirySeconds === 0) return endSession(state, session, 'disconnected')
  // While the broker stops, all clients disconnect. A message that reassigned to another member would lose the information that it was sent
  // before.
  if (!state.isShuttingDown) reassignSharedDeliveries(state, session)
  moveQueueToDisk(state.memory, session)
  const expiry = toExpiryMs(session)
  if (expiry !== undefined) state.deadlines.set('session-expiry', session.clientId, state.nowMs + expiry)
  if (session.stored !== undefined) recordSession(state.batches, session, session.stored)
}

/** [MQTT5-3.1.2.11.2] Returns whether the session is expired, although the tick that ends it may not have come yet. */
export function hasExpired(nowMs: number, session: Session): boolean {
  const expiry = toExpiryMs(session)
  return expiry !== undefined && session.connection === undefined && nowMs >= session.disconnectedAtMs + expiry
}

/** Makes the session persistent. */
export function startStoring(batches: Batches, session: Session): PersistentQueue {
  session.stored ??= createPersistentQueue()
  recordSession(batches, session, session.stored)
  return session.stored
}

/** Removes queued messages from memory, which are on disk too, so that a disconnected client needs little memory. */
export function moveQueueToDisk(memory: MemoryAccount, session: Session): void {
  const { stored } = session
  const { pending } = session.outgoing
  if (stored === undefined) return
  const { reads } = stored
  reads.request = undefined
  reads.partNumber = 0
  reads.isReadAgain = false
  forgetBehind(memory, session, stored)
  const first = pending?.peek()
  if (first === undefined || pending === undefined) return
  // Some messages in between were reassigned to another member or have expired.
  if (stored.diskFrom - first.sequence > pending.length) recordGapsBelow(stored, stored.diskFrom)
  stored.diskFrom = first.sequence
  for (const delivery of pending.takeAll()) {
    releaseInFlightMemory(memory, session, delivery)
    if (delivery.packetId !== 0) delivery.message = undefined // Reserved: it is read again with its queued record.
    if (delivery.packetId !== 0) stored.packetIds?.set(delivery.sequence, delivery.packetId)
  }
}

const sessionDeadlines = ['session-expiry', 'will-due', 'retry'] as const

/** Deletes the session. Its will is published, and its messages of shared subscriptions go to other members. */
export function endSession(state: BrokerState, session: Session, cause: SessionEndCause): void {
  state.bridges.clientFilters?.forget(session)
  state.sessions.remove(session)
  session.absence = undefined
  for (const kind of sessionDeadlines) state.deadlines.cancel(kind, session.clientId)
  if (state.sessions.full.delete(session)) state.rules.hasActionCapacity = true
  state.sessions.nearlyFull.delete(session)
  const moving = listSharedDeliveries(session)
  removeSubscriptions(state, session)
  for (const delivery of moving) if (!reassignToMember(state, session, delivery)) reassignToPeer(state, delivery, true)
  deleteDeliveries(state, session)
  releaseAllOnPeers(state, session)
  // [MQTT5-3.1.3.2.2] The end of the session ends the will delay.
  if (session.will !== undefined && session.will.dueAtMs !== Infinity) publishWill(state, session)
  if (session.stored !== undefined) {
    // A new session with the same client ID may start, so all writes for this one must be before it.
    if (session.internal?.ackLatency !== undefined) state.batches.includeDeferredWrites()
    if (!storeForMembers(state, session, session.stored))
      state.batches.openBatch.changes.push({ change: 'delete-session', clientId: session.clientId })
    storePendingWill(state, session.clientId)
  }
  releaseReferences(session)
  state.outputs.events.push({ event: 'session-ended', clientId: session.clientId, cause })
}

/**
 * Stale plans of unused topics refer to ended sessions (see `topics/topic-router.ts`), so these release what they hold.
 */
function releaseReferences(session: Session): void {
  session.stored = undefined
  session.outgoing.release()
  session.incoming.packetIds = undefined
}

/** Deletes all messages that the session has not acknowledged completely, with their payloads. */
function deleteDeliveries(state: QueueParts, session: Session): void {
  const held = [...(session.outgoing.inflight?.listInSendOrder() ?? []), ...(session.outgoing.pending?.takeAll() ?? [])]
  for (const delivery of held) deleteDelivery(state, session, delivery)
  if (session.stored !== undefined) forgetBehind(state.memory, session, session.stored)
}

/** [MQTT5-4.8.2-5] Returns unacknowledged messages of shared subscriptions, in order. */
function listSharedDeliveries(session: Session): SessionDelivery[] {
  const inFlight = (session.outgoing.inflight?.listInSendOrder() ?? []).filter((delivery) => delivery.qos === 1)
  return [...inFlight, ...listWaitingDeliveries(session)].filter((delivery) => delivery.group !== undefined)
}

function listWaitingDeliveries(session: Session): SessionDelivery[] {
  const all = session.outgoing.pending?.takeAll() ?? []
  for (const delivery of all) session.outgoing.pending?.push(delivery)
  return all
}

/** The client disconnected: QoS 1 messages of shared subscriptions go to a connected member, if there is one. */
function reassignSharedDeliveries(state: RedeliverParts, session: Session): void {
  const all = listSharedDeliveries(session)
  const reassigned = new Set(all.filter((delivery) => reassignDelivery(state, session, delivery)))
  const staying = all.filter((delivery) => !reassigned.has(delivery))
  copyToPeers(state, session, staying)
  if (reassigned.size === 0) return
  const pending = session.outgoing.pending?.takeAll().filter((delivery) => !reassigned.has(delivery)) ?? []
  for (const delivery of pending) session.outgoing.pending?.push(delivery)
  for (const delivery of reassigned) {
    if (delivery.packetId !== 0) session.outgoing.inflight?.remove(delivery)
    deleteDelivery(state, session, delivery)
  }
}

/**
 * A message that the session may no longer receive goes to any allowed member, connected or not. Otherwise it would be lost with the
 * session.
 */
function reassignDelivery(state: RedeliverParts, session: Session, delivery: SessionDelivery): boolean {
  const isDenied = delivery.message !== undefined && !canReceive(state, session, delivery.message.topic)
  if ((isDenied || hasOpenMember(state, delivery, session)) && reassignToMember(state, session, delivery)) return true
  return isDenied && reassignToPeer(state, delivery, true) !== undefined
}

/**
 * For messages without another connected member on this shard: sends a copy to a member on another shard. This session keeps the message
 * until that shard has it.
 */
function copyToPeers(
  state: ForwardParts & PermitParts & Parts<'memory' | 'rules'>,
  session: Session,
  deliveries: readonly SessionDelivery[],
): void {
  if (deliveries.length === 0) return
  const absence = {}
  session.absence = absence
  for (const delivery of deliveries) {
    // QoS 2 messages stay: the copy would be a duplicate if the client reconnects before the peer has responded.
    if (delivery.qos === 2 || hasOpenMember(state, delivery, session)) continue
    const forwarded = reassignToPeer(state, delivery, false)
    forwarded?.runWhenComplete(() => {
      // If the client was connected meanwhile it may have received the message as well, which QoS 1 allows.
      const isReassigned = forwarded.refusal === undefined && session.absence === absence
      if (isReassigned) completeReassignment(state, session, delivery)
    })
  }
}

function completeReassignment(state: QueueParts, session: Session, delivery: SessionDelivery): void {
  if (delivery.packetId !== 0) {
    if (session.outgoing.inflight?.get(delivery.packetId) !== delivery) return
    session.outgoing.inflight.remove(delivery)
  }
  deleteDelivery(state, session, delivery)
}

/** Returns whether another connected member may receive the message. */
function hasOpenMember(
  state: Parts<'access' | 'topics'>,
  { group, message }: SessionDelivery,
  except: Session,
): boolean {
  if (message === undefined) return false
  for (const { subscriber } of group?.iterateMembers() ?? []) {
    if (subscriber === except || subscriber.connection === undefined) continue
    if (canReceive(state, subscriber, message.topic)) return true
  }
  return false
}

function publishOrDropWill(state: BrokerState, session: Session, isToBePublished: boolean): void {
  const { will } = session
  if (will === undefined) return
  if (!isToBePublished) return dropWill(state, session)
  if (will.delaySeconds === 0 || session.expirySeconds === 0) return publishWill(state, session)
  will.dueAtMs = state.nowMs + will.delaySeconds * 1_000
  state.deadlines.set('will-due', session.clientId, will.dueAtMs)
  recordDueTime(state, will, will.dueAtMs)
}
