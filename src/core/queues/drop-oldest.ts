// A full spool whose policy is to go without the oldest. What waits in memory goes at once. What waits on disk has to be
// read before it can go, for a body that it may share with others: until then a few more than the limit are kept.
//
//   | under way | on disk: oldest ......... newest |  <- one message more
//                         read, dropped, counted

import type { QueuedRecord, StoredRecord } from '../../records/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { RequestId } from '../model/inputs.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import type { Session, SessionDelivery, PersistentQueue } from '../state/sessions/session.ts'
import type { SharedGroup } from '../topics/index.ts'
import { deleteDelivery, maxStoredOf, messageOfRecord } from './persistent-queue.ts'
import { noteGapsBelow } from './queue-gaps.ts'

/** So many beyond the limit are taken while the oldest are read. */
const maxBeyondLimit = 1_000

/** The session holds as many as it may. True: one more may be taken all the same. */
export function dropToMakeRoom(state: BrokerState, session: Session, stored: PersistentQueue): boolean {
  if (session.spool?.dropsOldest !== true) return false
  if (dropWaiting(state, session)) return true
  if (session.onDiskCount === 0) return false
  if (stored.oldestRequest === undefined) requestOldest(state, session, stored)
  return stored.count < maxStoredOf(state, session) + maxBeyondLimit
}

/** What may have been sent is owed to the broker behind the bridge, which knows its packet id: it stays. */
function dropWaiting(state: BrokerState, session: Session): boolean {
  const oldest = session.pending?.peek()
  if (oldest === undefined || oldest.packetId !== 0) return false
  session.pending?.shift()
  drop(state, session, oldest)
  return true
}

function drop(state: BrokerState, session: Session, delivery: SessionDelivery): void {
  if (delivery.message !== undefined) state.countDrop(session, delivery.message, 'storage-full')
  deleteDelivery(state, session, delivery)
}

function requestOldest(state: BrokerState, session: Session, stored: PersistentQueue): void {
  const question = state.request({ for: 'oldest', session })
  stored.oldestRequest = question
  const { openBatch } = state
  state.requests.push({
    kind: 'load-queue',
    question,
    clientId: session.clientId,
    fromSequence: Math.max(stored.diskFrom, firstUnsentSequence(stored), stored.trimmedTo),
    limit: Math.max(0, stored.count - maxStoredOf(state, session)) + 1,
    part: undefined,
    // An empty batch is never written, so nobody may wait for it.
    afterBatch: openBatch.changes.length > 0 ? openBatch.number : openBatch.number - 1,
  })
}

/** After a restart: what is under way has its packet id, and its record is not read yet. */
function firstUnsentSequence({ packetIds, receivedIds }: PersistentQueue): number {
  let end = 0
  for (const sequence of packetIds?.keys() ?? []) end = Math.max(end, sequence + 1)
  for (const sequence of receivedIds?.keys() ?? []) end = Math.max(end, sequence + 1)
  return end
}

/** The answer to the question for the oldest on disk. */
export function handleOldestLoaded(
  state: BrokerState,
  session: Session,
  answer: { readonly question: RequestId; readonly records: readonly StoredRecord[] },
): void {
  const { stored } = session
  if (stored === undefined || stored.oldestRequest !== answer.question) return
  stored.oldestRequest = undefined
  const limit = maxStoredOf(state, session)
  let dropped = 0
  for (const record of answer.records) {
    if (stored.count <= limit) return
    // Read into memory meanwhile: it goes from there, or is under way.
    if (record.kind !== 'queued' || record.sequence < stored.diskFrom) continue
    dropStored(state, session, stored, record)
    dropped++
  }
  if (dropped > 0 && stored.count > limit && session.onDiskCount > 0) requestOldest(state, session, stored)
}

function dropStored(state: BrokerState, session: Session, stored: PersistentQueue, record: QueuedRecord): void {
  stored.trimmedTo = record.sequence + 1
  stored.partNumber = 0
  if (firstUnsentSequence(stored) <= stored.diskFrom) stored.diskFrom = stored.trimmedTo
  else noteGapsBelow(stored, stored.trimmedTo)
  const message = messageOfRecord(state, record)
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group: undefined })
  delivery.sequence = record.sequence
  drop(state, session, delivery)
}
