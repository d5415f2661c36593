// LevelDB as the store needs it. Only this file uses the library.
//
// It corrects one property of LevelDB: an iterator that meets an unreadable block continues after it, reports this only
// at the end of its range, and discards the entries since the last call. Here the rest is read entry by entry first.

import { ClassicLevel, type Iterator } from 'classic-level'
import type { KeyRange } from '../encoding/record-keys.ts'
import type { Database, DatabaseEntry, EntryRange, Snapshot } from './entry-database.ts'
import { DirectoryIdentity } from './directory-identity.ts'
import type { OperationList } from './operation-list.ts'

type Level = ClassicLevel<Buffer, Buffer>
type LevelSnapshot = ReturnType<Level['snapshot']>

interface SnapshotRange extends EntryRange {
  readonly snapshot?: LevelSnapshot | undefined
}

/** Up to twice this is in memory. Half of it reduces the commit rate by 10 %; twice as much gains nothing. */
const writeBufferBytes = 8 * 1_024 * 1_024
const maxOpenFiles = 500
/**
 * The library allocates 64 bytes for each requested entry, found or not, until V8 collects the iterator. With slices of
 * 500 from the start, 16,000 sessions that ended at once without queues used half a gigabyte outside of V8's
 * statistics.
 */
const defaultSlices = { first: 8, max: 500 }
const sliceBytes = 256 * 1_024

/** An open LevelDB database. */
export class LevelDatabase implements Database {
  readonly identity: DirectoryIdentity
  readonly #level: Level

  private constructor(level: Level, identity: DirectoryIdentity) {
    this.identity = identity
    this.#level = level
  }

  /**
   * Opens or creates the database. Rejects with a code: LEVEL_LOCKED, LEVEL_CORRUPTION, LEVEL_IO_ERROR, or that of the
   * file system.
   */
  static async open(directory: string): Promise<LevelDatabase> {
    const level: Level = new ClassicLevel(directory, {
      keyEncoding: 'buffer',
      valueEncoding: 'buffer',
      multithreading: true,
      maxOpenFiles,
      writeBufferSize: writeBufferBytes,
    })
    try {
      await level.open({ passive: false })
    } catch (error) {
      // The library wraps the error; the cause has the details.
      throw unwrapCause(error)
    }
    return new LevelDatabase(level, new DirectoryIdentity(directory))
  }

  /** Repairs the files in a directory as far as possible. It moves unusable files to `lost/` in that directory. */
  static async repair(directory: string): Promise<void> {
    await ClassicLevel.repair(directory)
  }

  /**
   * Writes all operations or none. With `isSynced` they are durable when it resolves. Rejects with the code DIRECTORY_GONE if they are
   * written to a directory that is not at its path any more.
   */
  async write(operations: OperationList, isSynced: boolean): Promise<void> {
    const batch = this.#level.batch()
    operations.replay(
      (key, value) => batch.put(key, value),
      (key) => batch.del(key),
    )
    await batch.write({ sync: isSynced })
    this.identity.check()
  }

  async get(key: Buffer, snapshot?: LevelSnapshot): Promise<Buffer | undefined> {
    return await this.#level.get(key, { snapshot })
  }

  async getMany(keys: Buffer[], snapshot?: LevelSnapshot): Promise<(Buffer | undefined)[]> {
    return await this.#level.getMany(keys, { snapshot })
  }

  takeSnapshot(): Snapshot {
    const snapshot = this.#level.snapshot()
    return {
      get: (key) => this.get(key, snapshot),
      getMany: (keys) => this.getMany(keys, snapshot),
      findLastKey: (range) => this.findLastKey(range, snapshot),
      readSlices: (range, onDamage) => this.readSlices({ ...range, snapshot }, onDamage),
      close: () => snapshot.close(),
    }
  }

  /** Returns the first key from `gte` (inclusive) to `lt` (exclusive). */
  async findFirstKey({ gte, lt }: KeyRange): Promise<Buffer | undefined> {
    for await (const slice of this.readSlices({ gte, lt, limit: 1, keysOnly: true })) return slice[0]?.[0]
    return undefined
  }

  /** Returns the last key from `gte` (inclusive) to `lt` (exclusive). */
  async findLastKey({ gte, lt }: KeyRange, snapshot?: LevelSnapshot): Promise<Buffer | undefined> {
    const range = { gte, lt, snapshot, reverse: true, limit: 1, keysOnly: true }
    for await (const slice of this.readSlices(range)) return slice[0]?.[0]
    return undefined
  }

  /**
   * Returns the entries of a range in slices, so that the event loop continues. `onDamage` is called for unreadable
   * parts.
   */
  async *readSlices(range: SnapshotRange, onDamage?: (error: Error) => void): AsyncIterable<DatabaseEntry[]> {
    let last: Buffer | undefined
    let left = range.limit ?? Infinity
    const { first, max } = range.slices ?? defaultSlices
    let sliceEntries = first
    const iterator = this.#createIterator(range, undefined)
    try {
      for (;;) {
        const slice = await iterator.nextv(sliceEntries)
        sliceEntries = Math.min(sliceEntries * 2, max)
        if (slice.length === 0) return
        last = slice.at(-1)?.[0]
        left -= slice.length
        yield slice
      }
    } catch (error) {
      if (!isDamage(error)) throw error
      onDamage?.(error)
    } finally {
      await iterator.close()
    }
    if (left > 0) yield* this.#readEntryByEntry({ ...range, limit: left }, last)
  }

  /** Reads the rest of a range after `last`, part of which is unreadable. */
  async *#readEntryByEntry(range: SnapshotRange, last: Buffer | undefined): AsyncIterable<DatabaseEntry[]> {
    const iterator = this.#createIterator(range, last)
    try {
      for (;;) {
        const slice = await iterator.nextv(1)
        if (slice.length === 0) return
        yield slice
      }
    } catch (error) {
      // All readable entries were returned; the damage was reported before.
      if (!isDamage(error)) throw error
    } finally {
      await iterator.close()
    }
  }

  /** Rewrites the whole database in order. */
  async compact(): Promise<void> {
    await this.#level.compactRange(Buffer.alloc(0), Buffer.alloc(1, 0xff))
  }

  async close(): Promise<void> {
    await this.#level.close()
  }

  #createIterator(range: SnapshotRange, after: Buffer | undefined): Iterator<Level, Buffer, Buffer> {
    const { gte, lt, reverse = false } = range
    const forward = after === undefined ? { gte, lt } : { gt: after, lt }
    const backward = after === undefined ? { gte, lt } : { gte, lt: after }
    return this.#level.iterator({
      ...(reverse ? backward : forward),
      reverse,
      limit: range.limit ?? -1,
      values: range.keysOnly !== true,
      snapshot: range.snapshot,
      highWaterMarkBytes: sliceBytes,
    })
  }
}

/** Errors of the system for a damaged file. Other errors concern space, permissions or limits, not damage. */
const damagedFile = /No such file|Invalid argument|Input\/output error|Is a directory/

/** Returns whether the error says that data on disk is unreadable. */
export function isDamage(error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'LEVEL_CORRUPTION' || (error.code === 'LEVEL_IO_ERROR' && damagedFile.test(error.message))
}

function unwrapCause(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error
}
