// The store on disk: commits in order, reads from snapshots, and deletion in the background.

import assert from 'node:assert/strict'
import type { ShardPlace } from '../../core/index.ts'
import type { StoredChange, StoredRecord } from '../../records/index.ts'
import { PayloadCache } from '../payloads/payload-cache.ts'
import { BatchSequence } from '../database/batch-sequence.ts'
import { BatchMark } from '../database/batch-marks.ts'
import { encodeLastGeneration, encodeChange } from '../database/change-encoder.ts'
import { BadRecords } from '../damage/bad-records.ts'
import { probeDisk } from '../database/database-files.ts'
import { markClosed, requireFullCheck } from '../damage/clean-close-marker.ts'
import { type OpenedDatabase, openWithRepair } from '../damage/open-with-repair.ts'
import { isDamage, LevelDatabase } from '../database/level-database.ts'
import { SnapshotReader, type SharedClientIds } from './snapshot-reader.ts'
import { OperationList } from '../database/operation-list.ts'
import { type PayloadReleases, PayloadGc } from '../payloads/payload-gc.ts'
import { generationKey, shardNumbers } from '../encoding/record-keys.ts'
import { readGeneration } from '../encoding/record-values.ts'
import { SessionGenerations } from '../database/session-generations.ts'
import type { Generation } from '../encoding/record-keys.ts'
import { nextGeneration } from '../database/next-generation.ts'
import { isDatabaseError, toStorageFailure } from './storage-failures.ts'
import type { StoreClient } from './store-client.ts'
import {
  type PayloadReferences,
  type QueueEntry,
  type QueueRange,
  ReadingInterrupted,
  type RecordRange,
  type StorageAlarm,
  StorageFailure,
  type Store,
} from '../store.ts'

/**
 * When committed changes are synced: before `commit` resolves, at an interval, or when the operating system does it.
 */
export type SyncMode = 'commit' | 'interval' | 'never'

export interface LevelStoreOptions {
  /** Directory of the database only. Created if missing. Quarantine files are next to it. */
  readonly directory: string
  readonly sync: SyncMode
  /** For `sync: 'interval'`: maximum time from a commit until it is durable. */
  readonly syncIntervalMs: number
  readonly onAlarm: (alarm: StorageAlarm) => void
  /** Without `client`: session expiry of recreated sessions; none is recreated if absent. */
  readonly recoveredExpirySeconds?: number
  /**
   * Called with each reference to a shared payload that was deleted with a session, some time after the commit that
   * ended it.
   */
  readonly onReleased?: (payloadIds: readonly number[]) => void
  /** Number for batches and generations, 0 to 255. Default: that of `partition`, or 0. */
  readonly shard?: number
  /** The shard, and the number of shards: only its records are read. All records if absent. */
  readonly partition?: ShardPlace | undefined
  /** Several stores of the process share the database, and the store owner opens it. If absent, this store opens it. */
  readonly client?: StoreClient
  /** Calls back once after the delay. Default: the timers of the process. */
  readonly setTimer?: (delayMs: number, callback: () => void) => void
}

/** Time between two attempts to open a shared database. */
const rejoinPauseMs = 1_000

/**
 * Opens or creates the database in a directory. Rejects with StorageFailure if another process has it open or it is not
 * writable.
 */
export async function openLevelStore(options: LevelStoreOptions): Promise<Store> {
  const store = new LevelStore(options)
  await store.reopen()
  return store
}

/** State of one opening of the database. */
interface Opening {
  readonly database: LevelDatabase
  readonly batchSequence: BatchSequence
  readonly generations: SessionGenerations
  readonly badRecords: BadRecords
  readonly payloadGc: PayloadGc
  /** Payloads up to this ID may be needed by sessions of other shards: they are not deleted. */
  readonly sharedPayloadsUpTo: number
  readonly payloads: PayloadCache
}

class LevelStore implements Store {
  readonly #options: LevelStoreOptions
  readonly #shard: number
  readonly #operations = new OperationList()
  readonly #mark: BatchMark
  #opening: Opening | undefined
  #isClosed = false
  #wasOpen = false
  /** Commits and other exclusive tasks run one after the other. */
  #lastTask: Promise<void> = Promise.resolve()
  #mustReopen = false
  /** Unreadable parts of the database: it is repaired before it is opened again. */
  #suspectedDamage: string | undefined
  #isSyncDue = false
  /**
   * Generations that ended since the store was first opened and are not deleted yet: the user of the store has counted
   * their references.
   */
  readonly #countedGenerations = new Set<Generation>()
  #clientIds: SharedClientIds | undefined
  /** Reads that wait for the database to be open. */
  readonly #waiting: (() => void)[] = []

  constructor(options: LevelStoreOptions) {
    this.#options = options
    this.#shard = options.shard ?? options.partition?.own ?? 0
    this.#mark = new BatchMark(options.directory, this.#shard)
    const { client } = options
    if (client !== undefined) client.onRecall = () => this.#rejoinAfterRecall(client)
  }

  commit(changes: readonly (StoredChange | undefined)[]): Promise<void> {
    return this.#runExclusively(() => this.#write(changes))
  }

  async *read(range: RecordRange): AsyncIterable<StoredRecord> {
    for await (const slice of this.#slices(range)) yield* slice
  }

  readQueue(range: QueueRange): AsyncIterable<readonly StoredRecord[]> {
    return this.#slices(range)
  }

  scanQueues(): AsyncIterable<readonly QueueEntry[]> {
    return this.#readSnapshot((reading) => reading.queueEntries())
  }

  countPayloadReferences(): AsyncIterable<readonly PayloadReferences[]> {
    return this.#readSnapshot((reading) => reading.payloadReferences())
  }

  shareClientIds(): () => void {
    const shared: SharedClientIds = { byGeneration: undefined }
    this.#clientIds = shared
    return () => {
      if (this.#clientIds === shared) this.#clientIds = undefined
    }
  }

  reopen(): Promise<void> {
    return this.#runExclusively(async () => {
      assert(!this.#isClosed, 'the store is closed')
      const { directory, client } = this.#options
      try {
        if (client !== undefined) return await this.#rejoin(client)
        // While the disk accepts no writes, reads use the old opening.
        this.#opening?.database.identity.check()
        if (this.#opening !== undefined) await probeDisk(directory)
        await this.#endOpening()
        const { onAlarm } = this.#options
        const recoveredExpirySeconds = this.#wasOpen ? undefined : this.#options.recoveredExpirySeconds
        const opened = await openWithRepair({
          directory,
          suspectedDamage: this.#suspectedDamage,
          recoveredExpirySeconds,
          onAlarm,
        })
        await this.#startOpening({ ...opened, sharedPayloadsUpTo: 0 })
      } catch (error) {
        throw toStorageFailure(`The database in ${directory} cannot be opened`, error)
      }
    })
  }

  async close(): Promise<void> {
    await this.#opening?.badRecords.finish()
    await this.#runExclusively(() => this.#close())
    await this.#mark.close()
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#resumeWaiting()
    const opening = this.#opening
    if (opening === undefined) return
    const { directory, client, sync } = this.#options
    if (sync !== 'never' && !this.#mustReopen) await this.#syncNow(opening)
    await this.#endOpening()
    if (client !== undefined) client.leave(this.#isIntact)
    // The marker is written only if the files are known to be intact.
    else if (this.#isIntact) await markClosed(directory)
  }

  /** Returns whether the last write succeeded and nothing was unreadable. */
  get #isIntact(): boolean {
    return !this.#mustReopen && this.#suspectedDamage === undefined
  }

  #runExclusively(act: () => Promise<void>): Promise<void> {
    const turn = this.#lastTask.then(act)
    // The next task waits for this one; its failure is reported to its own caller.
    this.#lastTask = turn.catch(() => {})
    return turn
  }

  /** After a failed write all shards close the database and open it again. */
  async #rejoin(client: StoreClient): Promise<void> {
    if (this.#opening !== undefined) {
      // A request to close that came since the failure has led to a new opening already.
      if (this.#isIntact) return
      await client.requestReopen(this.#suspectedDamage)
      await this.#endOpening()
      client.leave(this.#isIntact)
    }
    await this.#join(client)
  }

  /** A write of another shard has failed. Commits and reads wait until the database is open again. */
  #rejoinAfterRecall(client: StoreClient): void {
    const turn = this.#runExclusively(async () => {
      if (this.#opening !== undefined) {
        await this.#endOpening()
        client.leave(this.#isIntact)
      }
      if (!this.#isClosed) await this.#join(client)
    })
    turn.catch((error: unknown) => {
      if (!isDatabaseError(error) && !(error instanceof StorageFailure)) throw error
      this.#after(rejoinPauseMs, () => {
        if (this.#opening === undefined) this.#rejoinAfterRecall(client)
      })
    })
  }

  async #join(client: StoreClient): Promise<void> {
    const { sharedPayloadsUpTo } = await client.join(this.#suspectedDamage)
    let database: LevelDatabase | undefined
    try {
      database = await LevelDatabase.open(this.#options.directory)
      const { batchSequence } = await BatchSequence.read(database, this.#shard)
      await this.#startOpening({
        database,
        batchSequences: new Map([[this.#shard, batchSequence]]),
        sharedPayloadsUpTo,
      })
    } catch (error) {
      this.#opening = undefined
      await database?.close()
      if (isDamage(error)) this.#suspectDamage(error)
      client.leave(false)
      throw error
    }
  }

  async #startOpening(opened: OpenedDatabase & { readonly sharedPayloadsUpTo: number }): Promise<void> {
    const { directory, onAlarm } = this.#options
    const shard = this.#shard
    const { database, batchSequences, sharedPayloadsUpTo } = opened
    this.#suspectedDamage = undefined
    const badRecords = new BadRecords({
      database,
      file: `${directory}.damaged-records`,
      onAlarm,
      runExclusively: (act) => this.#runExclusively(act),
      onUnreadable: (error) => this.#reportUnreadable(error),
    })
    const payloadGc = new PayloadGc(database, this.#releases(), (error) => this.#handleGcFailure(error))
    const generations = new SessionGenerations(await nextGeneration(database, shard))
    const batchSequence = batchSequences.get(shard) ?? new BatchSequence(shard, 0)
    this.#opening = {
      database,
      batchSequence,
      generations,
      badRecords,
      payloadGc,
      sharedPayloadsUpTo,
      payloads: new PayloadCache(),
    }
    this.#mustReopen = false
    this.#wasOpen = true
    payloadGc.start(this.#sweptShards())
    this.#resumeWaiting()
  }

  /** Returns the shards whose tombstones this store handles, including shards that no longer exist. */
  #sweptShards(): number[] {
    const { partition, client } = this.#options
    const { own, count } = partition ?? { own: 0, count: client === undefined ? 1 : Infinity }
    return Array.from({ length: shardNumbers }, (_, shard) => shard).filter((shard) => shard % count === own)
  }

  #releases(): PayloadReleases {
    return {
      isCounted: (generation) => this.#countedGenerations.has(generation),
      swept: (generation) => void this.#countedGenerations.delete(generation),
      released: (payloadIds) => this.#options.onReleased?.(payloadIds),
    }
  }

  #resumeWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  async #endOpening(): Promise<void> {
    const opening = this.#opening
    if (opening === undefined) return
    this.#opening = undefined
    opening.badRecords.stop()
    await opening.payloadGc.stop()
    await opening.database.close()
  }

  async #write(changes: readonly (StoredChange | undefined)[]): Promise<void> {
    const opening = this.#open()
    if (this.#mustReopen) throw new StorageFailure('a commit failed before: the store is to be reopened first')
    const { database, batchSequence, generations, payloadGc } = opening
    // Sessions may start or end.
    this.#clientIds = undefined
    try {
      await loadGenerations(opening, changes)
      const ended = this.#encode(opening, changes)
      await database.write(this.#operations, this.#options.sync === 'commit')
      batchSequence.confirm()
      if (this.#options.sync === 'commit') this.#mark.note(batchSequence.last)
      for (const generation of ended) {
        this.#countedGenerations.add(generation)
        payloadGc.add(generation)
      }
    } catch (error) {
      generations.clear()
      if (!isDatabaseError(error)) throw error
      this.#mustReopen = true
      if (isDamage(error)) this.#suspectDamage(error)
      throw toStorageFailure(`Writing to the database in ${this.#options.directory} failed`, error)
    }
    if (this.#options.sync === 'interval') this.#syncLater()
  }

  /** Encodes the changes as operations. Returns the generations that they end. */
  #encode(
    { batchSequence, generations, sharedPayloadsUpTo }: Opening,
    changes: readonly (StoredChange | undefined)[],
  ): Generation[] {
    const operations = this.#operations
    operations.clear()
    const ended: Generation[] = []
    const lastGeneration = generations.last
    for (const change of changes) {
      if (change === undefined || isSharedPayload(change, sharedPayloadsUpTo)) continue
      const generation = encodeChange(operations, change, generations)
      if (generation !== undefined) ended.push(generation)
    }
    if (generations.last !== lastGeneration) encodeLastGeneration(operations, this.#shard, generations.last)
    batchSequence.encodeNext(operations)
    return ended
  }

  /** The snapshot is taken in this call, even if the iteration starts later. */
  #readSnapshot<Slice>(read: (reader: SnapshotReader) => AsyncIterable<Slice>): AsyncIterable<Slice> {
    const opening = this.#open()
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
    return closeAfter(reader, read(reader), (error) =>
      this.#opening === opening
        ? toStorageFailure(`Reading from the database in ${this.#options.directory} failed`, error)
        : new ReadingInterrupted('the database was opened again during a reading', { cause: error }),
    )
  }

  async *#slices(range: RecordRange): AsyncIterable<readonly StoredRecord[]> {
    if (this.#opening === undefined && !this.#isClosed)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    yield* this.#readSnapshot((reading) => reading.records(range))
  }

  #syncLater(): void {
    if (this.#isSyncDue) return
    this.#isSyncDue = true
    this.#after(this.#options.syncIntervalMs, () => {
      this.#isSyncDue = false
      const opening = this.#opening
      if (opening === undefined || this.#mustReopen) return
      this.#syncNow(opening).catch((error: unknown) => {
        // Commits within the interval may be lost, so the next commit fails to report this.
        this.#mustReopen = true
        const text = `Syncing the database in ${this.#options.directory} failed: ${String(error)}.`
        this.#options.onAlarm({ alarm: 'maintenance-failed', text })
      })
    })
  }

  #after(delayMs: number, callback: () => void): void {
    const { setTimer } = this.#options
    if (setTimer === undefined) setTimeout(callback, delayMs).unref()
    else setTimer(delayMs, callback)
  }

  /** A synced write also makes all earlier writes durable. */
  async #syncNow({ database, batchSequence }: Opening): Promise<void> {
    const operations = new OperationList()
    const { last } = batchSequence
    batchSequence.encodeLast(operations)
    await database.write(operations, true)
    if (last > 0) this.#mark.note(last)
  }

  #suspectDamage(error: Error): void {
    this.#suspectedDamage ??= error.message
  }

  /** A read skips unreadable parts. */
  #reportUnreadable(error: Error): void {
    if (this.#suspectedDamage !== undefined) return
    this.#suspectDamage(error)
    const { directory, onAlarm } = this.#options
    const text = `A part of the database in ${directory} cannot be read: ${error.message}. What is in it is not served. Restart the broker: the database is repaired at the start.`
    onAlarm({ alarm: 'database-damaged', text })
    void requireFullCheck(directory)
  }

  #handleGcFailure(error: unknown): void {
    if (!isDatabaseError(error)) throw error
    const text = `Removing ended sessions from ${this.#options.directory} failed, and continues when the database is opened again: ${error.message}.`
    this.#options.onAlarm({ alarm: 'maintenance-failed', text })
  }

  #open(): Opening {
    assert(!this.#isClosed, 'the store is closed')
    if (this.#opening === undefined) throw new StorageFailure('the database is being opened again')
    return this.#opening
  }
}

async function loadGenerations(
  { database, generations, badRecords }: Opening,
  changes: readonly (StoredChange | undefined)[],
): Promise<void> {
  const clientIds = generations.findUnknown(changes)
  if (clientIds.length === 0) return
  const keys = clientIds.map(generationKey)
  const values = await database.getMany(keys)
  for (const [index, key] of keys.entries()) {
    const value = values[index]
    const generation =
      value === undefined ? undefined : badRecords.tryRead([key, value], () => readGeneration(key, value))
    generations.recordGeneration(clientIds[index] ?? '', generation)
  }
}

async function* closeAfter<Slice>(
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

/** The shard does not know whether other shards need a payload from before the last redistribution. */
function isSharedPayload(change: StoredChange, sharedPayloadsUpTo: number): boolean {
  return change.change === 'delete' && change.key.kind === 'payload' && change.key.id <= sharedPayloadsUpTo
}
