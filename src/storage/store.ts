// The interface of all stores.

import type { RecordKind, StoredChange, StoredRecord } from '../records/index.ts'

/** Kinds whose records belong to one session and are deleted with it. */
export type SessionRecordKind = Extract<StoredRecord, { clientId: string }>['kind']

/**
 * The records to read. They come in key order: queued by sequence number, outgoing and incoming by packet identifier,
 * payloads by ID; sessions and topics in no meaningful order.
 */
export type RecordRange =
  /** All records of a kind. */
  | { readonly kind: RecordKind; readonly clientId?: undefined; readonly topic?: undefined }
  /** The retained message of one topic, whichever shard owns it. */
  | { readonly kind: 'retained'; readonly clientId?: undefined; readonly topic: string }
  /** All records of a kind of one session. */
  | { readonly kind: Exclude<SessionRecordKind, 'queued'>; readonly clientId: string }
  /** A part of the queue of one session. */
  | QueueRange

/**
 * A part of the queue of one session, by sequence number. The read starts at its first key, without visiting earlier
 * deletions.
 */
export interface QueueRange {
  readonly kind: 'queued'
  readonly clientId: string
  /** Inclusive; default 0. */
  readonly fromSequence?: number
  /** Maximum number of records; default: all. */
  readonly limit?: number
  /** From the last to the first. */
  readonly reverse?: boolean
  /** Default: the store's own slice sizes. */
  readonly slices?: GrowingSlices
  /**
   * Replaces IDs of shared payloads by the payloads of the same snapshot. A record whose payload is lost is omitted,
   * with an alarm.
   */
  readonly withPayloads?: boolean
  /** Called with the number of records that count for `limit` but are omitted, because they or their payloads are damaged. */
  readonly onOmitted?: (count: number) => void
}

/** Maximum sizes of slices: `first` for the first, twice as many for each further one, up to `max`. */
export interface GrowingSlices {
  readonly first: number
  readonly max: number
}

/**
 * The disk failed. The operation may be tried again after `reopen`. Any other error of a store is an internal error.
 */
export class StorageFailure extends Error {}

/** The store was reopened during a read: earlier results are valid; the rest must be read again. */
export class ReadingInterrupted extends StorageFailure {}

/** A queued record without its message, for counting. */
export interface QueueEntry {
  readonly clientId: string
  readonly sequence: number
}

/**
 * Stores records. The store of one shard of several returns only records of that shard when all records of a kind are
 * read: sessions by client ID, retained messages by topic, payloads by number.
 *
 * Later reads see the changes of one `commit` completely or not at all, also after a crash.
 */
export interface Store {
  /** Whether a read may stay open while its records are used. If not, each part of a queue is a read of its own. */
  readonly keepsSnapshots: boolean
  /**
   * Applies the changes in their order, all or none; undefined entries are skipped. When it resolves they are durable,
   * as far as the sync mode promises. When it rejects with StorageFailure, they may be stored or not: the same changes
   * must be committed again after `reopen`, before any others. Committing changes twice does no harm. The caller may
   * change the records only after the promise has settled.
   */
  commit(changes: readonly (StoredChange | undefined)[]): Promise<void>
  /**
   * Returns the records of a range from a snapshot taken when the iteration starts. Damaged records are omitted, with
   * an alarm. Throws StorageFailure, ReadingInterrupted.
   */
  read(range: RecordRange): AsyncIterable<StoredRecord>
  /** Does the same for a part of a queue, in slices: reads of thousands of records must not cost a promise for each. */
  readQueue(range: QueueRange): AsyncIterable<readonly StoredRecord[]>
  /** Returns every queued record, by session and sequence number, in slices, from a snapshot taken in this call. */
  scanQueues(): AsyncIterable<readonly QueueEntry[]>
  /**
   * Returns the number of queued records for each payload, 0 for unused ones, in slices, from a snapshot taken in this
   * call. Of payloads that several shards may use, only the last is returned, with one reference that is never
   * released.
   */
  countPayloadReferences(): AsyncIterable<readonly PayloadReferences[]>
  /**
   * Until the returned function is called, client IDs are read from disk once for all reads, and records of one session
   * share one string. For a restore: a commit ends it.
   */
  shareClientIds(): () => void
  /** Makes the store usable again after a failed commit. Rejects with StorageFailure if it still fails. */
  reopen(): Promise<void>
  close(): Promise<void>
}

/** The ID of a payload and the number of queued records that refer to it. */
export type PayloadReferences = readonly [payloadId: number, references: number]

/** Something was lost or is at risk. `text` is a complete sentence for administrators and names the place. */
export interface StorageAlarm {
  readonly alarm:
    | 'database-damaged'
    | 'records-damaged'
    | 'records-too-new'
    | 'batches-missing'
    | 'body-missing'
    | 'sessions-recovered'
    | 'messages-exported'
    | 'maintenance-failed'
    | `store-${'unreplicated' | 'went-back' | 'snapshot'}:${number}`
  readonly text: string
}
