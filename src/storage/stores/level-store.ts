// The store on disk: commits in order, reads from snapshots, and deletion in the background.

import type { StoredChange, StoredRecord } from '../../records/index.ts'
import {
  type PayloadReferences,
  type QueueEntry,
  type QueueRange,
  ReadingInterrupted,
  type RecordRange,
  type Store,
} from '../store.ts'
import { BatchWriter } from './batch-writer.ts'
import { DatabaseOpenings } from './database-openings.ts'
import { ExclusiveTasks } from './exclusive-tasks.ts'
import type { LevelStoreOptions } from './level-store-options.ts'
import { SnapshotReader, type SharedClientIds } from './snapshot-reader.ts'
import { isDatabaseError, toStorageFailure } from './storage-failures.ts'

/**
 * Opens or creates the database in a directory. Rejects with StorageFailure if another process has it open or it is not
 * writable.
 */
export async function openLevelStore(options: LevelStoreOptions): Promise<Store> {
  const store = new LevelStore(options)
  await store.reopen()
  return store
}

class LevelStore implements Store {
  readonly #options: LevelStoreOptions
  /** Commits, openings and other exclusive tasks. */
  readonly #tasks = new ExclusiveTasks()
  readonly #openings: DatabaseOpenings
  readonly #writer: BatchWriter
  #clientIds: SharedClientIds | undefined

  constructor(options: LevelStoreOptions) {
    this.#options = options
    this.#openings = new DatabaseOpenings(options, this.#tasks)
    this.#writer = new BatchWriter(options, this.#openings)
  }

  commit(changes: readonly (StoredChange | undefined)[]): Promise<void> {
    return this.#tasks.run(() => {
      // Sessions may start or end.
      this.#clientIds = undefined
      return this.#writer.write(changes)
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
    return this.#tasks.run(() => this.#openings.open())
  }

  async close(): Promise<void> {
    await this.#openings.opening?.badRecords.finish()
    await this.#tasks.run(() => this.#openings.close((opening) => this.#writer.finish(opening)))
    await this.#writer.closeMark()
  }

  /** The snapshot is taken in this call, even if the iteration starts later. */
  #readSnapshot<Slice>(read: (reader: SnapshotReader) => AsyncIterable<Slice>): AsyncIterable<Slice> {
    const opening = this.#openings.getOpening()
    const { database, badRecords, sharedPayloadsUpTo, payloads } = opening
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
    })
    return readAndClose(reader, read(reader), (error) =>
      this.#openings.opening === opening
        ? toStorageFailure(`Reading from the database in ${this.#options.directory} failed`, error)
        : new ReadingInterrupted('the database was opened again during a reading', { cause: error }),
    )
  }

  async *#readSlices(range: RecordRange): AsyncIterable<readonly StoredRecord[]> {
    if (this.#openings.isReopening) await this.#openings.waitUntilOpen()
    yield* this.#readSnapshot((reading) => reading.readRecords(range))
  }
}

async function* readAndClose<Slice>(
  reader: SnapshotReader,
  slices: AsyncIterable<Slice>,
  failureFor: (error: Error) => unknown,
): AsyncIterable<Slice> {
  try {
    yield* slices
  } catch (error) {
    if (!isDatabaseError(error)) throw error
    throw failureFor(error)
  } finally {
    await reader.close()
  }
}
