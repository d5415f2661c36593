// A store over a database: commits in order, and reads from snapshots.

import type { ShardPlace } from '../../core/index.ts'
import type { StoredChange, StoredRecord } from '../../records/index.ts'
import type { BadRecords } from '../damage/bad-records.ts'
import type { Database } from '../database/entry-database.ts'
import type { SessionGenerations } from '../database/session-generations.ts'
import type { PayloadCache } from '../payloads/payload-cache.ts'
import type { PayloadReferences, QueueEntry, QueueRange, RecordRange, StorageAlarm, Store } from '../store.ts'
import type { ExclusiveTasks } from './exclusive-tasks.ts'
import { SnapshotReader, type SharedClientIds } from './snapshot-reader.ts'

type Changes = readonly (StoredChange | undefined)[]

/** State of one opening of a database. */
export interface OpenDatabase {
  readonly database: Database
  readonly generations: SessionGenerations
  readonly badRecords: BadRecords
  /** Payloads up to this ID may be needed by sessions of other shards: they are not deleted. */
  readonly sharedPayloadsUpTo: number
  readonly payloads: PayloadCache
  /** A read may use the generations of a batch that is being written: that saves a round trip to the database. */
  readonly cachesGenerations: boolean
}

/** The database of a store. */
export interface StoreBackend {
  /** Undefined while the database is not open. */
  readonly opening: OpenDatabase | undefined
  readonly keepsSnapshots: boolean
  /** Throws StorageFailure while the database is being opened again. */
  getOpening(): OpenDatabase
  /** Resolves when the database is open or the store is closed. */
  waitUntilOpen(): Promise<void>
  /** Writes the changes, all or none. Runs as an exclusive task. */
  write(changes: Changes): Promise<void>
  /** Runs as an exclusive task. */
  reopen(): Promise<void>
  /** Closes the database for good. Runs as an exclusive task. */
  close(): Promise<void>
  /** Returns the error that the caller of a read gets. `opening`: the one that was read. */
  toReadFailure(error: unknown, opening: OpenDatabase): unknown
}

export interface DatabaseStoreOptions {
  readonly onAlarm: (alarm: StorageAlarm) => void
  readonly partition?: ShardPlace | undefined
}

export class DatabaseStore implements Store {
  readonly #options: DatabaseStoreOptions
  readonly #backend: StoreBackend
  /** Commits, openings and other exclusive tasks. */
  readonly #tasks: ExclusiveTasks
  #clientIds: SharedClientIds | undefined

  constructor(options: DatabaseStoreOptions, backend: StoreBackend, tasks: ExclusiveTasks) {
    this.#options = options
    this.#backend = backend
    this.#tasks = tasks
  }

  get keepsSnapshots(): boolean {
    return this.#backend.keepsSnapshots
  }

  commit(changes: Changes): Promise<void> {
    return this.#tasks.run(() => {
      // Sessions may start or end.
      this.#clientIds = undefined
      return this.#backend.write(changes)
    })
  }

  async *read(range: RecordRange): AsyncIterable<StoredRecord> {
    for await (const slice of this.#readSlices(range)) yield* slice
  }

  readQueue(range: QueueRange): AsyncIterable<readonly StoredRecord[]> {
    return this.#readSlices(range)
  }

  scanQueues(): AsyncIterable<readonly QueueEntry[]> {
    return this.#readSnapshot((reading) => reading.readQueueEntries())
  }

  countPayloadReferences(): AsyncIterable<readonly PayloadReferences[]> {
    return this.#readSnapshot((reading) => reading.readPayloadReferences())
  }

  shareClientIds(): () => void {
    const shared: SharedClientIds = { byGeneration: undefined }
    this.#clientIds = shared
    return () => {
      if (this.#clientIds === shared) this.#clientIds = undefined
    }
  }

  reopen(): Promise<void> {
    return this.#tasks.run(() => this.#backend.reopen())
  }

  async close(): Promise<void> {
    await this.#backend.opening?.badRecords.finish()
    await this.#tasks.run(() => this.#backend.close())
  }

  /** The snapshot is taken in this call, even if the iteration starts later. */
  #readSnapshot<Slice>(read: (reader: SnapshotReader) => AsyncIterable<Slice>): AsyncIterable<Slice> {
    const opening = this.#backend.getOpening()
    const { database, badRecords, sharedPayloadsUpTo, payloads, generations, cachesGenerations } = opening
    const { onAlarm, partition } = this.#options
    const clientIds = this.#clientIds
    const reader = new SnapshotReader({
      database,
      badRecords,
      onAlarm,
      partition,
      sharedPayloadsUpTo,
      payloads,
      clientIds,
      findGeneration: cachesGenerations ? (clientId) => generations.find(clientId) : undefined,
    })
    return readAndClose(reader, read(reader), (error) => this.#backend.toReadFailure(error, opening))
  }

  async *#readSlices(range: RecordRange): AsyncIterable<readonly StoredRecord[]> {
    await this.#backend.waitUntilOpen()
    yield* this.#readSnapshot((reading) => reading.readRecords(range))
  }
}

async function* readAndClose<Slice>(
  reader: SnapshotReader,
  slices: AsyncIterable<Slice>,
  toFailure: (error: unknown) => unknown,
): AsyncIterable<Slice> {
  try {
    yield* slices
  } catch (error) {
    throw toFailure(error)
  } finally {
    await reader.close()
  }
}
