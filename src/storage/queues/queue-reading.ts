// Reads of queues, for any kind of store.

import type { StoredRecord } from '../../records/index.ts'
import { type QueueEntry, ReadingInterrupted, StorageFailure, type Store } from '../store.ts'

/** First and last sequence number, and number of records, of a session's queue on disk. */
export interface QueueBounds {
  readonly clientId: string
  readonly firstSequence: number
  readonly lastSequence: number
  readonly count: number
}

/** A part of a session's queue by sequence number, with its messages. */
export interface QueuePart {
  readonly records: readonly StoredRecord[]
  /** No queued record follows. */
  readonly isEnd: boolean
}

/** A part ends after this number of payload bytes, even with few messages, because it must fit into memory. */
export const maxPartBytes = 4_194_304

/**
 * Response to the core's request `load-queue`: at most `limit` queued records from `fromSequence` (inclusive) on,
 * limited by bytes.
 */
export async function readQueue(
  store: Store,
  clientId: string,
  fromSequence: number,
  limit: number,
): Promise<QueuePart> {
  for (;;) {
    try {
      return await readPart(store, clientId, fromSequence, limit)
    } catch (error) {
      // No record of the part has been used yet, and the next read waits until the store is open.
      if (!(error instanceof ReadingInterrupted)) throw error
    }
  }
}

async function readPart(store: Store, clientId: string, fromSequence: number, limit: number): Promise<QueuePart> {
  // One more than requested shows whether more follow.
  for (let limitWithNext = limit + 1; ; limitWithNext *= 2) {
    const records: StoredRecord[] = []
    let bytes = 0
    let omitted = 0
    const onOmitted = (count: number): void => {
      omitted += count
    }
    const range = {
      kind: 'queued',
      clientId,
      fromSequence,
      limit: limitWithNext,
      withPayloads: true,
      onOmitted,
    } as const
    for await (const slice of store.readQueue(range)) {
      for (const record of slice) {
        if (records.length === limit || bytes >= maxPartBytes) return { records, isEnd: false }
        bytes += countPayloadBytes(record)
        records.push(record)
      }
    }
    // Damaged records count for the limit of the store. If it was reached, others may follow.
    if (records.length + omitted < limitWithNext) return { records, isEnd: true }
  }
}

export function countPayloadBytes(record: StoredRecord): number {
  return record.kind === 'queued' && typeof record.message !== 'number' ? record.message.payload.byteLength : 0
}

/**
 * Returns when the first message of a queue from `fromSequence` on was published, in milliseconds; undefined if there
 * is none, or if it cannot be read now.
 */
export async function readOldest(store: Store, clientId: string, fromSequence: number): Promise<number | undefined> {
  try {
    for await (const record of store.read({ kind: 'queued', clientId, fromSequence, limit: 1, withPayloads: true })) {
      if (record.kind === 'queued' && typeof record.message !== 'number') return record.message.publishedAtMs
    }
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error
  }
  return undefined
}

/** Returns the first and the last queued record of a session and their number; undefined if there are none. */
export async function readQueueBounds(store: Store, clientId: string): Promise<QueueBounds | undefined> {
  let firstSequence: number | undefined
  let lastSequence = 0
  let count = 0
  for await (const record of store.read({ kind: 'queued', clientId })) {
    if (record.kind !== 'queued') continue
    firstSequence ??= record.sequence
    lastSequence = record.sequence
    count += 1
  }
  return firstSequence === undefined ? undefined : { clientId, firstSequence, lastSequence, count }
}

/** Returns the bounds of every queue that is not empty. */
export async function* readAllQueueBounds(store: Store): AsyncIterable<QueueBounds> {
  let first: QueueEntry | undefined
  let last: QueueEntry | undefined
  let count = 0
  for await (const slice of store.scanQueues()) {
    for (const entry of slice) {
      if (first !== undefined && last !== undefined && first.clientId !== entry.clientId) {
        yield toQueueBounds(first, last, count)
        first = undefined
        count = 0
      }
      first ??= entry
      last = entry
      count += 1
    }
  }
  if (first !== undefined && last !== undefined) yield toQueueBounds(first, last, count)
}

function toQueueBounds(first: QueueEntry, last: QueueEntry, count: number): QueueBounds {
  return { clientId: first.clientId, firstSequence: first.sequence, lastSequence: last.sequence, count }
}
