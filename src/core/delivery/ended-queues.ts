// The queue of a session that has ended, where messages of shared subscriptions may wait in it on disk alone. Their publishers
// have been answered, and there may be other members: so it is read to its end before it goes [MQTT5-4.8.2-5].
//
//   session "lamp" ends ──► what it has on disk goes on under a name that no client can have
//                             ├─ from a shared subscription ──► queue of another member, or moving record to another shard
//                             └─ anything else goes with the session
//
// A message leaves the queue with the batch that stores it elsewhere, so that it is in one place after a crash, and the reading
// goes on with the rest. Queues are read one after the other and in parts, each when what came of the part before is there: there
// may be very many, and clients wait for theirs. A session that begins under the same client id has nothing to do with it.

import { isBridgeClient } from '../bridge-client.ts'
import type { BrokerState } from '../broker-state.ts'
import type { EndedQueue } from '../moved-messages.ts'
import type { QueuedRecord, SessionRecord, StoredRecord } from '../records.ts'
import { reserveName } from '../reserved-names.ts'
import { Delivery } from '../sessions/delivery.ts'
import type { Session, StoredQueue } from '../sessions/session.ts'
import type { SharedGroup } from '../topics/index.ts'
import { Vow } from '../vow.ts'
import { groupOf, moveElsewhere, moveToAnother } from './move-shared.ts'
import { messageIn, put, recordOf, releaseBody, remove } from './stored-queue.ts'

const mostInPart = 128

/** False: nothing on its disk is for anybody else, and all of it may go at once. */
export function keepForOthers(state: BrokerState, session: Session, stored: StoredQueue): boolean {
  // What waits for a bridge is no other's: its sessions do not take part in shared subscriptions.
  if (!stored.mayHoldShared || session.onDiskCount === 0 || isBridgeClient(session.clientId)) return false
  if (state.neighbours === undefined && state.held.shared === 0) return false
  const name = reserveName(state, session.clientId)
  state.gathering.changes.push({ change: 'rename-session', clientId: session.clientId, to: name })
  const nobodys = { clientId: name, expirySeconds: 0, disconnectedAtMs: state.nowMs, queueHead: stored.diskFrom }
  // Its will is published, or owed under a name of its own.
  remove(state, { kind: 'will', clientId: name })
  put(state, { ...recordOf(session, stored), ...nobodys })
  add(state, { name, from: stored.diskFrom, partsRead: 0, afterBatch: state.batches.lastBegun, isAsked: false })
  return true
}

/** A session record with a reserved name. */
export function restoreEnded(state: BrokerState, { clientId, queueHead }: SessionRecord): void {
  add(state, { name: clientId, from: queueHead, partsRead: 0, afterBatch: 0, isAsked: false })
}

function add(state: BrokerState, queue: EndedQueue): void {
  state.endedQueues.set(queue.name, queue)
  state.deadlines.set('ended-queue', queue.name, state.nowMs)
}

/** The one that has ended first, if it is not being read. */
export function continueEnded(state: BrokerState): void {
  const [queue] = state.endedQueues.values()
  if (queue === undefined || queue.isAsked) return
  queue.isAsked = true
  state.questions.push({
    kind: 'load-queue',
    question: state.ask({ for: 'ended', queue }),
    clientId: queue.name,
    fromSequence: queue.from,
    limit: mostInPart,
    part: queue.partsRead,
    afterBatch: queue.afterBatch,
  })
}

/** The answer to `load-queue`. */
export function handleEndedLoaded(
  state: BrokerState,
  queue: EndedQueue,
  answer: { readonly records: readonly StoredRecord[]; readonly isEnd: boolean },
): void {
  const taken = new Vow()
  for (const record of answer.records) {
    if (record.kind !== 'queued') continue
    queue.from = record.sequence + 1
    giveToOthers(state, queue, record, taken)
  }
  queue.partsRead++
  if (answer.isEnd) {
    state.endedQueues.delete(queue.name)
    state.gathering.changes.push({ change: 'delete-session', clientId: queue.name })
  }
  taken.whenKept(() => {
    queue.isAsked = false
    queue.afterBatch = state.batches.lastBegun
    continueEnded(state)
  })
  taken.mark()
}

/** `taken` waits until another shard has it, if it goes to one. */
function giveToOthers(state: BrokerState, queue: EndedQueue, record: QueuedRecord, taken: Vow): void {
  const message = messageIn(state, record)
  const group = record.sharedFilter === undefined ? undefined : groupOf(state, record.sharedFilter)
  if (message === undefined || group === undefined) return
  if (message.expiresAtMs <= state.nowMs) return state.countDrop(undefined, message, 'expired')
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group })
  delivery.sequence = record.sequence
  if (!moveToAnother(state, undefined, delivery)) {
    const kept = moveElsewhere(state, delivery, true)
    if (kept === undefined) return
    taken.await()
    kept.whenKept(() => taken.mark())
  }
  remove(state, { kind: 'queued', clientId: queue.name, sequence: record.sequence })
  if (record.bodyId !== undefined) releaseBody(state, record.bodyId)
}
