// Redelivers messages of shared subscriptions that are queued on disk for a session that has ended. Their publishers were
// acknowledged and there may be other members, so the queue is read to its end before it is deleted (MQTT 5.0, 4.8.2).
//
//   session "lamp" ends ──► its records on disk move to a name that no client can have
//                             ├─ of a shared subscription ──► queue of another member, or handoff record to another shard
//                             └─ all others are deleted
//
// A message leaves the queue in the batch that stores it at its new place, so a crash leaves it in one place. Queues are read one
// after the other and in parts, each after the results of the one before are durable: there may be very many, and other clients
// wait. A later session with the same client ID is independent of it.

import type { QueuedRecord, SessionRecord, StoredRecord } from '../../records/index.ts'
import { isBridgeClient } from '../model/bridge-client-id.ts'
import type { Parts, RedeliverParts } from '../state/parts.ts'
import type { EndedSessionQueue } from '../state/sessions/shared-redelivery-state.ts'
import { reserveInternalName } from '../namespaces/internal-session-names.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import type { Session, PersistentQueue } from '../state/sessions/session.ts'
import type { SharedGroup } from '../topics/index.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { groupOf, reassignToPeer, reassignToMember } from './reassign-shared.ts'
import { messageOfRecord, putRecord, recordOf, releasePayload, deleteRecord } from '../queues/persistent-queue.ts'

const maxInPart = 128

/**
 * Redelivery is as fast as the disk, and the queue of a member in memory is limited. New messages must not be dropped because of
 * redelivery. So it uses half of the queue of each member, and waits `fullQueuePauseMs` for slow members, `maxFullQueueMs` in all. The queues of
 * members on other shards are unknown: after messages for them it waits `peerPauseMs`.
 */
const fullQueuePauseMs = 100
const maxFullQueueMs = 60_000
const peerPauseMs = 20

/** Returns false if the session has no messages for other members, so that all records may be deleted at once. */
export function storeForMembers(
  state: Parts<'batches' | 'deadlines' | 'ids' | 'nowMs' | 'peerTable' | 'shared' | 'subscriptions'>,
  session: Session,
  stored: PersistentQueue,
): boolean {
  // Sessions of bridges have no shared subscriptions.
  if (!stored.mayHoldShared || session.onDiskCount === 0 || isBridgeClient(session.clientId)) return false
  if (state.peerTable === undefined && state.subscriptions.counts.shared === 0) return false
  const name = reserveInternalName(state.ids, session.clientId)
  state.batches.openBatch.changes.push({ change: 'rename-session', clientId: session.clientId, to: name })
  const expired = { clientId: name, expirySeconds: 0, disconnectedAtMs: state.nowMs, queueHead: stored.diskFrom }
  // The will is already published. If it is pending, it is stored again under another key.
  deleteRecord(state.batches, { kind: 'will', clientId: name })
  putRecord(state.batches, { ...recordOf(session, stored), ...expired })
  add(state, { name, from: stored.diskFrom, afterBatch: state.batches.lastOpenNumber })
  return true
}

/** Restores the queue of an ended session from its session record, which has a reserved name. */
export function restoreEndedQueue(
  state: Parts<'deadlines' | 'nowMs' | 'shared'>,
  { clientId, queueHead }: SessionRecord,
): void {
  add(state, { name: clientId, from: queueHead, afterBatch: 0 })
}

function add(
  state: Parts<'deadlines' | 'nowMs' | 'shared'>,
  from: Pick<EndedSessionQueue, 'name' | 'from' | 'afterBatch'>,
): void {
  const queue = { ...from, partsRead: 0, notBeforeMs: 0, fullQueuesSinceMs: undefined, isBeingRead: false }
  state.shared.endedQueues.set(queue.name, queue)
  pause(state, queue, 0)
}

function pause(state: Parts<'deadlines' | 'nowMs'>, queue: EndedSessionQueue, ms: number): void {
  queue.notBeforeMs = state.nowMs + ms
  state.deadlines.set('ended-queue', queue.name, queue.notBeforeMs)
}

/** Continues with the first queue, unless it is being read or waits for a time. */
export function continueEndedQueues(state: Parts<'nowMs' | 'outputs' | 'requests' | 'settings' | 'shared'>): void {
  const [queue] = state.shared.endedQueues.values()
  if (queue === undefined || queue.isBeingRead || queue.notBeforeMs > state.nowMs) return
  queue.isBeingRead = true
  state.outputs.requests.push({
    kind: 'load-queue',
    requestId: state.requests.add({ for: 'ended', queue }),
    clientId: queue.name,
    fromSequence: queue.from,
    limit: Math.min(maxInPart, Math.max(1, Math.floor(state.settings.maxQueuedMessages / 2))),
    part: queue.partsRead,
    afterBatch: queue.afterBatch,
  })
}

/** Handles the response to `load-queue`. */
export function handleEndedQueueRead(
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
    const kept = reassignToOthers(state, queue, record)
    if (kept === undefined) continue
    isOnPeer = true
    committed.expect()
    kept.whenComplete(() => committed.arrive())
  }
  queue.partsRead++
  if (result.isEnd) {
    state.shared.endedQueues.delete(queue.name)
    state.batches.openBatch.changes.push({ change: 'delete-session', clientId: queue.name })
  }
  committed.whenComplete(() => {
    queue.isBeingRead = false
    queue.afterBatch = state.batches.lastOpenNumber
    if (isOnPeer && !result.isEnd) pause(state, queue, peerPauseMs)
    continueEndedQueues(state)
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
    const group = filter === undefined ? undefined : groupOf(state.router, filter)
    for (const { subscriber } of group?.members() ?? []) {
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
  state.shared.endedQueues.delete(queue.name)
  state.shared.endedQueues.set(queue.name, queue)
  pause(state, queue, fullQueuePauseMs)
  continueEndedQueues(state)
}

/** Returns the barrier of a message that went to another shard, which completes when that shard has it. */
function reassignToOthers(
  state: RedeliverParts,
  queue: EndedSessionQueue,
  record: QueuedRecord,
): CommitBarrier | undefined {
  const message = messageOfRecord(state.topics, record)
  const group = record.sharedFilter === undefined ? undefined : groupOf(state.router, record.sharedFilter)
  if (message === undefined || group === undefined) return undefined
  if (message.expiresAtMs <= state.nowMs) {
    state.counts.countDrop(undefined, message, 'expired')
    return undefined
  }
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group })
  delivery.sequence = record.sequence
  const isHere = reassignToMember(state, undefined, delivery)
  const kept = isHere ? undefined : reassignToPeer(state, delivery, true)
  if (!isHere && kept === undefined) return undefined
  deleteRecord(state.batches, { kind: 'queued', clientId: queue.name, sequence: record.sequence })
  if (record.payloadId !== undefined) releasePayload(state, record.payloadId)
  return kept
}
