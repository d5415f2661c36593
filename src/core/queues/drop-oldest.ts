// A full queue whose policy drops the oldest message. A message in memory is dropped at once. A message on disk must be read first,
// because its payload may be shared with other queues. Until then the queue exceeds its limit: the newest message is stored, and as many of
// the oldest are dropped. If all messages are in flight, none can be dropped, so the queue exceeds its limit by at most the in-flight window.
//
//   | in flight | on disk: oldest ......... newest |  <- one more message
//                          read, dropped, counted

import type { QueuedRecord, StoredRecord } from '../../records/index.ts'
import type { Parts, QueueParts } from '../state/parts.ts'
import type { RequestId } from '../model/inputs.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import { parseActionClientId } from '../messages/internal-clients.ts'
import type { Session, PersistentQueue, SessionDelivery } from '../state/sessions/session.ts'
import type { SharedGroup } from '../topics/index.ts'
import { deleteDelivery, selectMaxStored, createQueuedMessage, selectOverflow } from './persistent-queue.ts'
import { recordGapsBelow } from './queue-gaps.ts'

/** Maximum number of the oldest messages that are read at once. */
const maxOldestRead = 10_000

/** Maximum number of messages above the limit while the oldest cannot be read, because the disk fails. The newest are dropped then. */
const maxUnread = 100_000

/**
 * Maximum number of messages of the broker itself, such as wills, above the limit if publishers are refused or wait, but not above twice
 * the limit.
 */
const maxFromBroker = 10_000

/** Called when the queue is full. Returns true if one more message may be stored anyway. */
export function dropToFreeSpace(
  state: QueueParts & Parts<'nowMs' | 'outputs' | 'requests'>,
  session: Session,
  stored: PersistentQueue,
): boolean {
  const max = selectMaxStored(state.settings, session)
  const overflow = selectOverflow(state.settings, session)
  // Whether an action queue accepts a result was decided before: see `storeInActionQueue`.
  if (overflow !== 'drop-oldest' && parseActionClientId(session.clientId) !== undefined) return true
  if (overflow === 'drop-newest') return false
  if (overflow === 'reject') return !isBeyondLimit(state, session)
  if (dropWaiting(state, session)) return true
  // All are in flight, or one more is: the window limits their number.
  if (session.onDiskCount === 0) return true
  if (stored.reads.oldestRequest === undefined) requestOldest(state, session, stored)
  return stored.count < max + maxUnread
}

/**
 * Returns whether a queue whose publishers are refused or wait cannot even store messages that were on the way when it became full. These
 * are at most `mqtt.max_unconfirmed_messages` from each other shard: a shard that sends more has received the notice of the full queue.
 */
export function isBeyondLimit({ settings, peers }: Parts<'peers' | 'settings'>, session: Session): boolean {
  const { stored } = session
  if (stored === undefined) return false
  const max = selectMaxStored(settings, session)
  const fromPeers = peers.all.length * settings.maxUnconfirmedMessages
  return stored.count >= max + Math.max(fromPeers, Math.min(max, maxFromBroker))
}

/** A message that may have been sent stays, because the remote broker may know its packet identifier. */
function dropWaiting(state: QueueParts & Parts<'nowMs'>, session: Session): boolean {
  const oldest = session.outgoing.pending?.peek()
  if (oldest === undefined || oldest.packetId !== 0) return false
  session.outgoing.pending?.shift()
  drop(state, session, oldest)
  return true
}

/** A message that has expired is lost anyway, so it is counted as such. */
function drop(state: QueueParts & Parts<'nowMs'>, session: Session, delivery: SessionDelivery): void {
  const { message } = delivery
  if (message !== undefined)
    state.counts.countDropForNewer(session, message, message.expiresAtMs <= state.nowMs ? 'expired' : 'storage-full')
  deleteDelivery(state, session, delivery)
}

function requestOldest(
  state: Parts<'batches' | 'outputs' | 'requests' | 'settings'>,
  session: Session,
  stored: PersistentQueue,
): void {
  const requestId = state.requests.add({ for: 'oldest', session })
  stored.reads.oldestRequest = requestId
  const { openBatch } = state.batches
  state.outputs.requests.push({
    kind: 'load-queue',
    requestId,
    clientId: session.clientId,
    fromSequence: Math.max(stored.diskFrom, findFirstUnsentSequence(stored), stored.reads.trimmedTo),
    // After a limit was lowered, there may be very many.
    limit: Math.min(maxOldestRead, Math.max(0, stored.count - selectMaxStored(state.settings, session))) + 1,
    part: undefined,
    // An empty batch is never written, so nothing may wait for it.
    afterBatch: openBatch.changes.length > 0 ? openBatch.number : openBatch.number - 1,
  })
}

/** After a restart in-flight messages have packet identifiers, and their records are not read yet. */
function findFirstUnsentSequence({ packetIds, receivedIds }: PersistentQueue): number {
  let end = 0
  for (const sequence of packetIds?.keys() ?? []) end = Math.max(end, sequence + 1)
  for (const sequence of receivedIds?.keys() ?? []) end = Math.max(end, sequence + 1)
  return end
}

/** Handles the response to the request for the oldest messages on disk. */
export function handleOldestLoaded(
  state: QueueParts & Parts<'nowMs' | 'outputs' | 'requests' | 'topics'>,
  session: Session,
  result: { readonly requestId: RequestId; readonly records: readonly StoredRecord[] },
): void {
  const { stored } = session
  if (stored === undefined || stored.reads.oldestRequest !== result.requestId) return
  stored.reads.oldestRequest = undefined
  const limit = selectMaxStored(state.settings, session)
  let dropped = 0
  for (const record of result.records) {
    if (stored.count <= limit) return
    // The message was read into memory meanwhile: it is dropped from there, or is in flight.
    if (record.kind !== 'queued' || record.sequence < stored.diskFrom) continue
    dropStored(state, session, stored, record)
    dropped++
  }
  if (dropped > 0 && stored.count > limit && session.onDiskCount > 0) requestOldest(state, session, stored)
}

function dropStored(
  state: QueueParts & Parts<'nowMs' | 'topics'>,
  session: Session,
  stored: PersistentQueue,
  record: QueuedRecord,
): void {
  stored.reads.trimmedTo = record.sequence + 1
  stored.reads.partNumber = 0
  if (findFirstUnsentSequence(stored) <= stored.diskFrom) stored.diskFrom = stored.reads.trimmedTo
  else recordGapsBelow(stored, stored.reads.trimmedTo)
  const message = createQueuedMessage(state.topics, record)
  const delivery = new Delivery<SharedGroup<Session>>(message, { ...record, group: undefined })
  delivery.sequence = record.sequence
  drop(state, session, delivery)
}
