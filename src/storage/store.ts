// What the rest of the broker may ask of a store, whichever it is.

import type { RecordKind, StoredChange, StoredRecord } from '../records/index.ts'

/** The kinds of which each record belongs to one session and goes with it. */
export type SessionRecordKind = Extract<StoredRecord, { clientId: string }>['kind']

/**
 * What to read. Records come in the order of their keys: queued by sequence, outgoing and incoming by packet id, bodies
 * by id; sessions and topics in an order that means nothing.
 */
export type RecordRange =
  /** All of one kind. */
  | { readonly kind: RecordKind; readonly clientId?: undefined; readonly topic?: undefined }
  /** The retained message of one topic, whichever shard the topic belongs to. */
  | { readonly kind: 'retained'; readonly clientId?: undefined; readonly topic: string }
  /** All of one kind that belong to one session. */
  | { readonly kind: Exclude<SessionRecordKind, 'queued'>; readonly clientId: string }
  /** A part of the queue of one session. */
  | QueueRange

/**
 * A part of the queue of one session, by sequence. Reading begins at its first key, without a step over what was
 * deleted before.
 */
export interface QueueRange {
  readonly kind: 'queued'
  readonly clientId: string
  /** Inclusive; 0 if left out. */
  readonly fromSequence?: number
  /** Records at most; all if left out. */
  readonly limit?: number
  /** From the last to the first. */
  readonly reverse?: boolean
  /** If left out the store has its own number of records for each. */
  readonly slices?: GrowingSlices
  /**
   * Put shared bodies in the place of their ids, as of the same moment. A record whose body is lost is left out and
   * told by an alarm.
   */
  readonly withPayloads?: boolean
}

/** The first slice of a reading has so many records at most, each further one twice as many until `most`. */
export interface GrowingSlices {
  readonly first: number
  readonly most: number
}

/**
 * The disk did not do what it was asked to. To be tried again after `reopen`; anything else that a store throws is a
 * mistake of ours.
 */
export class StorageFailure extends Error {}

/** The store was reopened during a reading: what came before is true, the rest is to be read anew. */
export class ReadingInterrupted extends StorageFailure {}

/** A queued record without its message: what counting needs. */
export interface QueueEntry {
  readonly clientId: string
  readonly sequence: number
}

/**
 * Keeps records. A store of one shard of several finds only what is that shard's where all records of a kind are read:
 * sessions by client id, retained messages by topic, bodies by number.
 *
 * What one `commit` carries is seen by later reads whole or not at all, also after a crash.
 */
export interface Store {
  /**
   * Applies the changes in their order, all or none; holes are skipped. When it resolves they are on disk, as far as
   * the sync mode promises. When it rejects with StorageFailure, they may be there or not: the same changes are to be
   * committed again, before any others, after `reopen`. Changes may be committed twice without harm. The records may be
   * altered by the caller as soon as the promise has settled, not before.
   */
  commit(changes: readonly (StoredChange | undefined)[]): Promise<void>
  /**
   * The records of a range as of the moment when the iteration begins. What is damaged is left out and told by an
   * alarm. Throws StorageFailure, ReadingInterrupted.
   */
  read(range: RecordRange): AsyncIterable<StoredRecord>
  /** The same of a part of a queue, in slices: what is read by the thousand is not to cost a promise for each record. */
  readQueue(range: QueueRange): AsyncIterable<readonly StoredRecord[]>
  /**
   * Every queued record, session after session, each session's by sequence; in slices, as of the moment of the call.
   */
  scanQueues(): AsyncIterable<readonly QueueEntry[]>
  /**
   * How many queued records refer to each body, 0 for one that nobody needs; in slices, as of the moment of the call. Of
   * those that several shards may need only the last is told, with one reference that nobody gives back.
   */
  countPayloadReferences(): AsyncIterable<readonly PayloadReferences[]>
  /**
   * Until what it returns is called, client ids are read from disk once for all readings, and records of one session share
   * one string. For a restore: a commit ends it.
   */
  shareClientIds(): () => void
  /** Makes the store usable again after a commit failed. Rejects with StorageFailure if it still is not. */
  reopen(): Promise<void>
  close(): Promise<void>
}

/** A body's id and how many queued records refer to it. */
export type PayloadReferences = readonly [bodyId: number, references: number]

/** Something was lost or is at risk. `text` is a whole sentence for the operator and names the place. */
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
  readonly text: string
}
