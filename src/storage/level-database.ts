// LevelDB as the store needs it. The only file that knows the library.
//
// What LevelDB does not do by itself and this file mends: an iterator that meets an unreadable block goes on after it
// and says so only at the end of its range, where it throws away what it had read since the last call. Here the rest is
// fetched entry by entry first.

import { ClassicLevel, type Iterator } from 'classic-level'
import type { OperationList } from './operation-list.ts'
import type { KeyRange } from './record-keys.ts'
import type { GrowingSlices } from './store.ts'

type Level = ClassicLevel<Buffer, Buffer>

/** One moment of the database. To be closed. */
export type Snapshot = ReturnType<Level['snapshot']>

/** A key and its value; an empty value where only keys were asked for. */
export type LevelEntry = readonly [key: Buffer, value: Buffer]

/** What to iterate over. */
export interface EntryRange extends KeyRange {
  readonly snapshot?: Snapshot | undefined
  readonly reverse?: boolean | undefined
  readonly limit?: number | undefined
  readonly keysOnly?: boolean | undefined
  readonly slices?: GrowingSlices | undefined
}

/** Twice this is held in memory at most. Half of it costs 10 % of the commit rate, twice as much gains nothing. */
const writeBufferBytes = 8 * 1_024 * 1_024
const maxOpenFiles = 500
/**
 * The library takes 64 bytes for each entry that is asked for, found or not, and keeps them until V8 has collected the iterator: with 500 from the start
 * sixteen thousand sessions that ended at once, with nothing to sweep, took half a gigabyte that no statistics of V8 tell of.
 */
const defaultSlices = { first: 8, most: 500 }
const sliceBytes = 256 * 1_024

/** A LevelDB database that is open. */
export class LevelDatabase {
  readonly #level: Level

  private constructor(level: Level) {
    this.#level = level
  }

  /**
   * Opens or makes the database. Rejects with a code: LEVEL_LOCKED, LEVEL_CORRUPTION, LEVEL_IO_ERROR, or that of the
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
      // The library wraps what happened; the cause says it.
      throw causeOf(error)
    }
    return new LevelDatabase(level)
  }

  /**
   * Makes the best of the files in a directory that cannot be opened. What it cannot use it moves to `lost/` in there.
   */
  static async repair(directory: string): Promise<void> {
    await ClassicLevel.repair(directory)
  }

  /** Writes all operations or none. With `isSynced` they are on disk when it resolves. */
  async write(operations: OperationList, isSynced: boolean): Promise<void> {
    const batch = this.#level.batch()
    operations.replay(
      (key, value) => batch.put(key, value),
      (key) => batch.del(key),
    )
    await batch.write({ sync: isSynced })
  }

  async get(key: Buffer, moment?: Snapshot): Promise<Buffer | undefined> {
    return await this.#level.get(key, { snapshot: moment })
  }

  async getMany(keys: Buffer[], moment?: Snapshot): Promise<(Buffer | undefined)[]> {
    return await this.#level.getMany(keys, { snapshot: moment })
  }

  moment(): Snapshot {
    return this.#level.snapshot()
  }

  /** The first key that is not below `gte` and below `lt`. */
  async firstKey({ gte, lt }: KeyRange, snapshot?: Snapshot): Promise<Buffer | undefined> {
    for await (const slice of this.slices({ gte, lt, snapshot, limit: 1, keysOnly: true })) return slice[0]?.[0]
    return undefined
  }

  /** The last key below `lt` and not below `gte`. */
  async lastKey({ gte, lt }: KeyRange, snapshot?: Snapshot): Promise<Buffer | undefined> {
    const range = { gte, lt, snapshot, reverse: true, limit: 1, keysOnly: true }
    for await (const slice of this.slices(range)) return slice[0]?.[0]
    return undefined
  }

  /**
   * The entries of a range in slices, so that the event loop gets its turn. `onDamage` hears of what could not be read.
   */
  async *slices(range: EntryRange, onDamage?: (error: Error) => void): AsyncIterable<LevelEntry[]> {
    let last: Buffer | undefined
    let left = range.limit ?? Infinity
    const { first, most } = range.slices ?? defaultSlices
    let sliceEntries = first
    const iterator = this.#iterator(range, undefined)
    try {
      for (;;) {
        const slice = await iterator.nextv(sliceEntries)
        sliceEntries = Math.min(sliceEntries * 2, most)
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

  /** The rest of a range behind `last`, in which something is unreadable. */
  async *#readEntryByEntry(range: EntryRange, last: Buffer | undefined): AsyncIterable<LevelEntry[]> {
    const iterator = this.#iterator(range, last)
    try {
      for (;;) {
        const slice = await iterator.nextv(1)
        if (slice.length === 0) return
        yield slice
      }
    } catch (error) {
      // Every readable entry has come by now; the damage itself has been told.
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

  #iterator(range: EntryRange, after: Buffer | undefined): Iterator<Level, Buffer, Buffer> {
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

/**
 * What the system says of a file that is not what it was. Others are about space, permissions, limits: nothing is
 * damaged.
 */
const damagedFile = /No such file|Invalid argument|Input\/output error|Is a directory/

/** Does the error say that what is on disk cannot be read? */
export function isDamage(error: unknown): error is Error {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'LEVEL_CORRUPTION' || (error.code === 'LEVEL_IO_ERROR' && damagedFile.test(error.message))
}

function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error
}
