// What stores need of an ordered set of pairs of bytes: LevelDB, or the partition of a shard in PostgreSQL.

import type { KeyRange } from '../encoding/record-keys.ts'
import type { GrowingSlices } from '../store.ts'
import type { OperationList } from './operation-list.ts'

/** A key and its value; the value is empty if only keys were requested. */
export type DatabaseEntry = readonly [key: Buffer, value: Buffer]

/** The range and options of an iteration. */
export interface EntryRange extends KeyRange {
  readonly reverse?: boolean | undefined
  readonly limit?: number | undefined
  readonly keysOnly?: boolean | undefined
  readonly slices?: GrowingSlices | undefined
}

export interface EntryReader {
  get(key: Buffer): Promise<Buffer | undefined>
  getMany(keys: Buffer[]): Promise<(Buffer | undefined)[]>
  /** Returns the last key from `gte` (inclusive) to `lt` (exclusive). */
  findLastKey(range: KeyRange): Promise<Buffer | undefined>
  /**
   * Returns the entries of a range in slices, so that the event loop continues. `onDamage` is called for unreadable
   * parts.
   */
  readSlices(range: EntryRange, onDamage?: (error: Error) => void): AsyncIterable<DatabaseEntry[]>
}

/** The state at one time. It must be closed. */
export interface Snapshot extends EntryReader {
  close(): Promise<void>
}

export interface Database extends EntryReader {
  /** Writes all operations or none, in their order. With `isSynced` they are durable when it resolves. */
  write(operations: OperationList, isSynced: boolean): Promise<void>
  takeSnapshot(): Snapshot
}
