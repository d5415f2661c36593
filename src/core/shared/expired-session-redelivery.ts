// Redelivers messages of shared subscriptions that are queued on disk for a session that has ended. Their publishers were
// acknowledged and there may be other members, so the queue is read to its end before it is deleted (MQTT 5.0, 4.8.2).
//
//   session "lamp" ends ──► its records on disk move to a name that no client can have
//                             ├─ of a shared subscription ──► queue of another member, or handoff record to another shard
//                             └─ all others are deleted
//
// A message leaves the queue in the batch that stores it at its new place, so that after a crash it is in one place. There may be very
// many queues, and other clients are served meanwhile. So queues are read one after the other and in parts, each part after the results of
// the part before are durable. A later session with the same client ID is independent of these queues.

import type { QueuedRecord, SessionRecord, StoredRecord } from '../../records/index.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import type { Parts, RedeliverParts } from '../state/parts.ts'
import type { EndedSessionQueue } from '../state/sessions/shared-redelivery-state.ts'
import { reserveInternalName } from '../namespaces/internal-session-names.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import type { Session, PersistentQueue } from '../state/sessions/session.ts'
import type { SharedGroup } from '../topics/index.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { findSharedGroup, reassignToPeer, reassignToMember } from './reassign-shared.ts'
import {
  createQueuedMessage,
  putRecord,
  toSessionRecord,
  releasePayload,
  deleteRecord,
} from '../queues/persistent-queue.ts'

const maxInPart = 128

/**
 * Redelivery is as fast as the disk, and the queue of a member in memory is limited. New messages must not be dropped because of
 * redelivery. So redelivery fills at most half of the queue of each member. It pauses `fullQueuePauseMs` for a slow member, for
 * `maxFullQueueMs` in total. Queues of members on other shards are unknown, so it pauses `peerPauseMs` after messages for them.
 */
const fullQueuePauseMs = 100
const maxFullQueueMs = 60_000
const peerPauseMs = 20

/**
 * Keeps the queue of a session that ends, for redelivery to other members. Returns false if the queue has no messages for other members:
 * then all its records may be deleted at once.
 */
export function storeForMembers(
  state: Parts<'batches' | 'deadlines' | 'ids' | 'nowMs' | 'peers' | 'shared' | 'subscriptions'>,
  session: Session,
  stored: PersistentQueue,
): boolean {
  // Sessions of internal clients have no shared subscriptions.
  if (!stored.canHoldShared || session.onDiskCount === 0 || isInternalClient(session.clientId)) return false
  if (!state.peers.hasAny && state.subscriptions.counts.shared === 0) return false
  const name = reserveInternalName(state.ids, session.clientId)
  state.batches.openBatch.changes.push({ change: 'rename-session', clientId: session.clientId, to: name })
  const expired = { clientId: name, expirySeconds: 0, disconnectedAtMs: state.nowMs, queueHead: stored.diskFrom }
  // The will is already published. If it is pending, it is stored again under another key.
  deleteRecord(state.batches, { kind: 'will', clientId: name })
  putRecord(state.batches, { ...toSessionRecord(session, stored), ...expired })
  addQueue(state, { name, from: stored.diskFrom, afterBatch: state.batches.lastOpenNumber })
  return true
}

/** Restores the queue of an ended session from its session record, which has the name of an internal session. */
export function restoreEndedSessionQueue(
  state: Parts<'deadlines' | 'nowMs' | 'shared'>,
  { clientId, queueHead }: SessionRecord,
): void {
  addQueue(state, { name: clientId, from: queueHead, afterBatch: 0 })
}

function addQueue(
  state: Parts<'deadlines' | 'nowMs' | 'shared'>,
  from: Pick<EndedSessionQueue, 'name' | 'from' | 'afterBatch'>,
): void {
  const queue = { ...from, partsRead: 0, notBeforeMs: 0, fullQueuesSinceMs: undefined, isBeingRead: false }
  state.shared.endedSessionQueues.set(queue.name, queue)
  pauseQueue(state, queue, 0)
}

function pauseQueue(state: Parts<'deadlines' | 'nowMs'>, queue: EndedSessionQueue, ms: number): void {
  queue.notBeforeMs = state.nowMs + ms
  state.deadlines.set('ended-session-queue', queue.name, queue.notBeforeMs)
}

/** Reads the next part of the first queue, unless a part is being read or the queue pauses. */
export function continueEndedSessionQueues(
  state: Parts<'nowMs' | 'outputs' | 'requests' | 'settings' | 'shared'>,
): void {
  const [queue] = state.shared.endedSessionQueues.values()
  if (queue === undefined || queue.isBeingRead || queue.notBeforeMs > state.nowMs) return
  queue.isBeingRead = true
  state.outputs.requests.push({
    kind: 'load-queue',
    requestId: state.requests.add({ for: 'ended-session-queue', queue }),
    clientId: queue.name,
    fromSequence: queue.from,
    limit: Math.min(maxInPart, Math.max(1, Math.floor(state.settings.maxQueuedMessages / 2))),
    part: queue.partsRead,
    afterBatch: queue.afterBatch,
  })
}

/** Handles the response to `load-queue`. */
export function handleEndedSessionQueueRead(
  state: RedeliverParts,
  queue: EndedSessionQueue,
  result: { readonly records: readonly StoredRecord[]; readonly isEnd: boolean },
): void {
  if (hasMemberWithLongQueue(state, queue, result.records)) return waitForMembers(state, queue)
  const committed = new CommitBarrier()
  let isOnPeer = false
  for (const record of result.records) {
    if (record.kind !== 'queued') continue
    queue.from = record.sequence + 1
    const barrier = reassignToOthers(state, queue, record)
    if (barrier === undefined) continue
    isOnPeer = true
    committed.expect()
    barrier.runWhenComplete(() => committed.arrive())
  }
  queue.partsRead++
  if (result.isEnd) {
    state.shared.endedSessionQueues.delete(queue.name)
    state.batches.openBatch.changes.push({ change: 'delete-session', clientId: queue.name })
  }
  committed.runWhenComplete(() => {
    queue.isBeingRead = false
    queue.afterBatch = state.batches.lastOpenNumber
    if (isOnPeer && !result.isEnd) pauseQueue(state, queue, peerPauseMs)
    continueEndedSessionQueues(state)
  })
  committed.arrive()
}

/** Returns whether a member on this shard already has as many queued messages in memory as redelivery may use. */
function hasMemberWithLongQueue(
  state: Parts<'nowMs' | 'router' | 'settings'>,
  queue: EndedSessionQueue,
  records: readonly StoredRecord[],
): boolean {
  const filters = new Set(records.map((record) => (record.kind === 'queued' ? record.sharedFilter : undefined)))
  const hasLongQueue = ({ connection, stored, outgoing }: Session): boolean =>
    connection !== undefined && stored === undefined && outgoing.pendingCount * 2 > state.settings.maxQueuedMessages
  for (const filter of filters) {
    const group = filter === undefined ? undefined : findSharedGroup(state.router, filter)
    for (const { subscriber } of group?.iterateMembers() ?? []) {
      if (!hasLongQueue(subscriber)) continue
      queue.fullQueuesSinceMs ??= state.nowMs
      return state.nowMs - queue.fullQueuesSinceMs < maxFullQueueMs
    }
  }
  queue.fullQueuesSinceMs = undefined
  return false
}

/** Postpones the queue, so that its members can receive their messages. Other queues continue. */
function waitForMembers(
  state: Parts<'deadlines' | 'nowMs' | 'outputs' | 'requests' | 'settings' | 'shared'>,
  queue: EndedSessionQueue,
): void {
  queue.isBeingRead = false
  queue.partsRead = 0
  state.shared.endedSessionQueues.delete(queue.name)
  state.shared.endedSessionQueues.set(queue.name, queue)
  pauseQueue(state, queue, fullQueuePauseMs)
  continueEndedSessionQueues(state)
}

/**
 * Gives the message to another member. Returns the barrier of a message that went to another shard; the barrier completes when that shard
 * has stored or refused the message.
 */
function reassignToOthers(
  state: RedeliverParts,
  queue: EndedSessionQueue,
  record: QueuedRecord,
): CommitBarrier | undefined {
  const message = createQueuedMessage(state.topics, record)
  const group = record.sharedFilter === undefined ? undefined : findSharedGroup(state.router, record.sharedFilter)
  if (message === undefined || group === undefined) return undefined
  if (message.expiresAtMs <= state.nowMs) {
    state.counts.countDrop(undefined, message, 'expired')
    return undefined
  }
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group })
  delivery.sequence = record.sequence
  const isHere = reassignToMember(state, undefined, delivery)
  const barrier = isHere ? undefined : reassignToPeer(state, delivery, true)
  if (!isHere && barrier === undefined) return undefined
  deleteRecord(state.batches, { kind: 'queued', clientId: queue.name, sequence: record.sequence })
  if (record.payloadId !== undefined) releasePayload(state, record.payloadId)
  return barrier
}
