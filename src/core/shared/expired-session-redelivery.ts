// The queue of a session that has ended, where messages of shared subscriptions may wait in it on disk alone. Their publishers
// have been answered, and there may be other members: so it is read to its end before it goes (MQTT 5.0, 4.8.2).
//
//   session "lamp" ends ──► what it has on disk goes on under a name that no client can have
//                             ├─ from a shared subscription ──► queue of another member, or moving record to another shard
//                             └─ anything else goes with the session
//
// A message leaves the queue with the batch that stores it elsewhere, so that it is in one place after a crash, and the reading
// goes on with the rest. Queues are read one after the other and in parts, each when what came of the part before is there: there
// may be very many, and clients wait for theirs. A session that begins under the same client id has nothing to do with it.

import type { QueuedRecord, SessionRecord, StoredRecord } from '../../records/index.ts'
import { isBridgeClient } from '../model/bridge-client-id.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { EndedSessionQueue } from '../state/sessions/shared-redelivery-state.ts'
import { reserveInternalName } from '../namespaces/internal-session-names.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import type { Session, PersistentQueue } from '../state/sessions/session.ts'
import type { SharedGroup } from '../topics/index.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { groupOf, reassignToPeer, reassignToMember } from './reassign-shared.ts'
import { messageOfRecord, putRecord, recordOf, releasePayload, deleteRecord } from '../queues/persistent-queue.ts'

const mostInPart = 128

/**
 * What waits in memory for a member is limited, and this comes as quickly as the disk gives it: it must not push out what is published
 * meanwhile. Half of the room is for that, and who is slow is waited for; of members on other shards it is not known.
 */
const crowdedPauseMs = 100
const longestCrowdedMs = 60_000
const elsewherePauseMs = 20

/** False: nothing on its disk is for anybody else, and all of it may go at once. */
export function keepForMembers(state: BrokerState, session: Session, stored: PersistentQueue): boolean {
  // What waits for a bridge is no other's: its sessions do not take part in shared subscriptions.
  if (!stored.mayHoldShared || session.onDiskCount === 0 || isBridgeClient(session.clientId)) return false
  if (state.peerTable === undefined && state.subscriptionCounts.shared === 0) return false
  const name = reserveInternalName(state, session.clientId)
  state.openBatch.changes.push({ change: 'rename-session', clientId: session.clientId, to: name })
  const nobodys = { clientId: name, expirySeconds: 0, disconnectedAtMs: state.nowMs, queueHead: stored.diskFrom }
  // It is published by now; where it is still owed it is put again, and not with these records.
  deleteRecord(state, { kind: 'will', clientId: name })
  putRecord(state, { ...recordOf(session, stored), ...nobodys })
  add(state, { name, from: stored.diskFrom, afterBatch: state.batches.lastOpenNumber })
  return true
}

/** A session record with a reserved name. */
export function restoreEndedQueue(state: BrokerState, { clientId, queueHead }: SessionRecord): void {
  add(state, { name: clientId, from: queueHead, afterBatch: 0 })
}

function add(state: BrokerState, from: Pick<EndedSessionQueue, 'name' | 'from' | 'afterBatch'>): void {
  const queue = { ...from, partsRead: 0, notBeforeMs: 0, crowdedSinceMs: undefined, isAsked: false }
  state.endedQueues.set(queue.name, queue)
  pause(state, queue, 0)
}

function pause(state: BrokerState, queue: EndedSessionQueue, ms: number): void {
  queue.notBeforeMs = state.nowMs + ms
  state.deadlines.set('ended-queue', queue.name, queue.notBeforeMs)
}

/** The first one, if it is not being read, and it is time. */
export function continueEndedQueues(state: BrokerState): void {
  const [queue] = state.endedQueues.values()
  if (queue === undefined || queue.isAsked || queue.notBeforeMs > state.nowMs) return
  queue.isAsked = true
  state.requests.push({
    kind: 'load-queue',
    question: state.request({ for: 'ended', queue }),
    clientId: queue.name,
    fromSequence: queue.from,
    limit: Math.min(mostInPart, Math.max(1, Math.floor(state.settings.maxQueuedMessages / 2))),
    part: queue.partsRead,
    afterBatch: queue.afterBatch,
  })
}

/** The answer to `load-queue`. */
export function handleEndedQueueRead(
  state: BrokerState,
  queue: EndedSessionQueue,
  answer: { readonly records: readonly StoredRecord[]; readonly isEnd: boolean },
): void {
  if (isCrowded(state, queue, answer.records)) return waitForMembers(state, queue)
  const taken = new CommitBarrier()
  let isElsewhere = false
  for (const record of answer.records) {
    if (record.kind !== 'queued') continue
    queue.from = record.sequence + 1
    const kept = giveToOthers(state, queue, record)
    if (kept === undefined) continue
    isElsewhere = true
    taken.expect()
    kept.whenComplete(() => taken.arrive())
  }
  queue.partsRead++
  if (answer.isEnd) {
    state.endedQueues.delete(queue.name)
    state.openBatch.changes.push({ change: 'delete-session', clientId: queue.name })
  }
  taken.whenComplete(() => {
    queue.isAsked = false
    queue.afterBatch = state.batches.lastOpenNumber
    if (isElsewhere && !answer.isEnd) pause(state, queue, elsewherePauseMs)
    continueEndedQueues(state)
  })
  taken.arrive()
}

/** Members here whose sessions are not stored have more before them than they should get from this. */
function isCrowded(state: BrokerState, queue: EndedSessionQueue, records: readonly StoredRecord[]): boolean {
  const filters = new Set(records.map((record) => (record.kind === 'queued' ? record.sharedFilter : undefined)))
  const isMuch = ({ connection, stored, pendingCount }: Session): boolean =>
    connection !== undefined && stored === undefined && pendingCount * 2 > state.settings.maxQueuedMessages
  for (const filter of filters) {
    const group = filter === undefined ? undefined : groupOf(state, filter)
    for (const { subscriber } of group?.members() ?? []) {
      if (!isMuch(subscriber)) continue
      queue.crowdedSinceMs ??= state.nowMs
      return state.nowMs - queue.crowdedSinceMs < longestCrowdedMs
    }
  }
  queue.crowdedSinceMs = undefined
  return false
}

/** Meanwhile it is the turn of others. */
function waitForMembers(state: BrokerState, queue: EndedSessionQueue): void {
  queue.isAsked = false
  queue.partsRead = 0
  state.endedQueues.delete(queue.name)
  state.endedQueues.set(queue.name, queue)
  pause(state, queue, crowdedPauseMs)
  continueEndedQueues(state)
}

/** Where it goes to another shard: what is kept when that has it. */
function giveToOthers(state: BrokerState, queue: EndedSessionQueue, record: QueuedRecord): CommitBarrier | undefined {
  const message = messageOfRecord(state, record)
  const group = record.sharedFilter === undefined ? undefined : groupOf(state, record.sharedFilter)
  if (message === undefined || group === undefined) return undefined
  if (message.expiresAtMs <= state.nowMs) {
    state.countDrop(undefined, message, 'expired')
    return undefined
  }
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group })
  delivery.sequence = record.sequence
  const isHere = reassignToMember(state, undefined, delivery)
  const kept = isHere ? undefined : reassignToPeer(state, delivery, true)
  if (!isHere && kept === undefined) return undefined
  deleteRecord(state, { kind: 'queued', clientId: queue.name, sequence: record.sequence })
  if (record.bodyId !== undefined) releasePayload(state, record.bodyId)
  return kept
}
