// Opens the database of a store, and opens it again after a failure: alone, or together with the other shards of the process.
//
//   closed ──open()──► open ──recordFailedWrite()──► open, no writes ──open()──► open
//                       ▲                                   ▲
//                       └──────── recall by the owner ──────┘   (a write of another shard has failed)

import assert from 'node:assert/strict'
import { PayloadCache } from '../payloads/payload-cache.ts'
import { BatchSequence } from '../database/batch-sequence.ts'
import { BadRecords } from '../damage/bad-records.ts'
import { FileQuarantine } from '../damage/file-quarantine.ts'
import { probeDisk } from '../database/database-files.ts'
import { markClosed, requireFullCheck } from '../damage/clean-close-marker.ts'
import { type OpenedDatabase, openWithRepair } from '../damage/open-with-repair.ts'
import { isDamage, LevelDatabase } from '../database/level-database.ts'
import { type PayloadReleases, PayloadGc } from '../payloads/payload-gc.ts'
import { type Generation, shardNumbers } from '../encoding/record-keys.ts'
import { SessionGenerations } from '../database/session-generations.ts'
import { findNextGeneration } from '../database/find-next-generation.ts'
import { StorageFailure } from '../store.ts'
import type { OpenDatabase } from './database-store.ts'
import type { ExclusiveTasks } from './exclusive-tasks.ts'
import { getShardNumber, type LevelStoreOptions, startTimer } from './level-store-options.ts'
import { isDatabaseError, toStorageFailure } from './storage-failures.ts'
import type { StoreClient } from './store-client.ts'

/** Time between two attempts to open a shared database. */
const rejoinPauseMs = 1_000

/** State of one opening of LevelDB. */
export interface Opening extends OpenDatabase {
  readonly database: LevelDatabase
  readonly batchSequence: BatchSequence
  readonly payloadGc: PayloadGc
}

export class DatabaseOpenings {
  readonly #options: LevelStoreOptions
  readonly #shard: number
  readonly #tasks: ExclusiveTasks
  #opening: Opening | undefined
  #isClosed = false
  #wasOpen = false
  #mustReopen = false
  /** Unreadable parts of the database: it is repaired before it is opened again. */
  #suspectedDamage: string | undefined
  /**
   * Generations that ended since the store was first opened and are not deleted yet: the user of the store has counted
   * their references.
   */
  readonly #countedGenerations = new Set<Generation>()
  /** Reads that wait for the database to be open. */
  readonly #waiting: (() => void)[] = []

  constructor(options: LevelStoreOptions, tasks: ExclusiveTasks) {
    this.#options = options
    this.#shard = getShardNumber(options)
    this.#tasks = tasks
    const { client } = options
    if (client !== undefined) client.onRecall = () => this.#rejoinAfterRecall(client)
  }

  /** Undefined while the database is not open. */
  get opening(): Opening | undefined {
    return this.#opening
  }

  /** Returns whether a write or a sync has failed: nothing is written until the database is opened again. */
  get mustReopen(): boolean {
    return this.#mustReopen
  }

  /** Throws StorageFailure while the database is being opened again. */
  getOpening(): Opening {
    assert(!this.#isClosed, 'the store is closed')
    if (this.#opening === undefined) throw new StorageFailure('the database is being opened again')
    return this.#opening
  }

  /** Returns whether the database is being opened again. */
  get isReopening(): boolean {
    return this.#opening === undefined && !this.#isClosed
  }

  /** Resolves when the database is open or the store is closed. */
  waitUntilOpen(): Promise<void> {
    return new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  recordFailedWrite(error: Error): void {
    this.recordFailedSync()
    if (isDamage(error)) this.#suspectDamage(error)
  }

  /** Commits within the interval may be lost, so the next commit fails to report this. */
  recordFailedSync(): void {
    this.#mustReopen = true
  }

  /** Deletes what is left of an ended session, in the background. */
  sweep({ payloadGc }: Opening, generation: Generation): void {
    this.#countedGenerations.add(generation)
    payloadGc.add(generation)
  }

  /** Opens the database, again if it is open already. Runs as an exclusive task. */
  async open(): Promise<void> {
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
  }

  /** Closes the database for good. `sync` is called first if all writes succeeded. Runs as an exclusive task. */
  async close(sync: (opening: Opening) => Promise<void>): Promise<void> {
    this.#isClosed = true
    this.#resumeWaiting()
    const opening = this.#opening
    if (opening === undefined) return
    const { directory, client } = this.#options
    if (!this.#mustReopen) await sync(opening)
    await this.#endOpening()
    if (client !== undefined) client.leave(this.#isIntact)
    // The marker is written only if the files are known to be intact.
    else if (this.#isIntact) await markClosed(directory)
  }

  /** Returns whether the last write succeeded and nothing was unreadable. */
  get #isIntact(): boolean {
    return !this.#mustReopen && this.#suspectedDamage === undefined
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
    const turn = this.#tasks.run(async () => {
      if (this.#opening !== undefined) {
        await this.#endOpening()
        client.leave(this.#isIntact)
      }
      if (!this.#isClosed) await this.#join(client)
    })
    turn.catch((error: unknown) => {
      if (!isDatabaseError(error) && !(error instanceof StorageFailure)) throw error
      startTimer(this.#options, rejoinPauseMs, () => {
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
      quarantine: new FileQuarantine(`${directory}.damaged-records`),
      onAlarm,
      runExclusively: (act) => this.#tasks.run(act),
      onUnreadable: (error) => this.#reportUnreadable(error),
    })
    const payloadGc = new PayloadGc(database, this.#createPayloadReleases(), (error) => this.#handleGcFailure(error))
    const generations = new SessionGenerations(await findNextGeneration(database, shard))
    const batchSequence = batchSequences.get(shard) ?? new BatchSequence(shard, 0)
    this.#opening = {
      database,
      batchSequence,
      generations,
      badRecords,
      payloadGc,
      sharedPayloadsUpTo,
      payloads: new PayloadCache(),
      cachesGenerations: false,
    }
    this.#mustReopen = false
    this.#wasOpen = true
    payloadGc.start(this.#listSweptShards())
    this.#resumeWaiting()
  }

  /** Returns the shards whose tombstones this store handles, including shards that no longer exist. */
  #listSweptShards(): number[] {
    const { partition, client } = this.#options
    const { own, count } = partition ?? { own: 0, count: client === undefined ? 1 : Infinity }
    return Array.from({ length: shardNumbers }, (_, shard) => shard).filter((shard) => shard % count === own)
  }

  #createPayloadReleases(): PayloadReleases {
    return {
      isCounted: (generation) => this.#countedGenerations.has(generation),
      onSwept: (generation) => void this.#countedGenerations.delete(generation),
      onReleased: (payloadIds) => this.#options.onReleased?.(payloadIds),
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
}
