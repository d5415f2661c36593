// The store on disk: commits in a row, reads as of one moment, a sweep behind them.

import assert from 'node:assert/strict'
import type { ShardPlace } from '../core/index.ts'
import type { StoredChange, StoredRecord } from '../records/index.ts'
import { BodyCache } from './payload-cache.ts'
import { BatchJournal } from './batch-sequence.ts'
import { BatchMark } from './batch-marks.ts'
import { encodeBegun, encodeChange } from './change-encoder.ts'
import { BadRecords } from './damage/bad-records.ts'
import { probeDisk } from './damage/database-files.ts'
import { closeSeal, distrust } from './damage/clean-close-marker.ts'
import { type OpenedDatabase, openSoundly } from './damage/open-with-repair.ts'
import { isDamage, LevelDatabase } from './level-database.ts'
import { LevelReading } from './level-reading.ts'
import { OperationList } from './operation-list.ts'
import { type BodyReleases, OrphanSweep } from './payload-gc.ts'
import { lifeKey, shardNumbers } from './record-keys.ts'
import { readLife } from './record-values.ts'
import { SessionLives } from './session-generations.ts'
import type { Life } from './record-keys.ts'
import { firstFreeLife } from './next-generation.ts'
import { isOfDatabase, storageFailureOf } from './storage-failures.ts'
import type { StoreSeat } from './store-client.ts'
import {
  type BodyReferences,
  type QueueEntry,
  type QueueRange,
  ReadingInterrupted,
  type RecordRange,
  type StorageAlarm,
  StorageFailure,
  type Store,
} from './store.ts'

/** When what was committed must be on disk: before `commit` resolves, every so often, or when the system likes. */
export type SyncMode = 'commit' | 'interval' | 'never'

export interface LevelStoreOptions {
  /** The directory of the database alone. Made if missing. What is damaged is set aside beside it. */
  readonly directory: string
  readonly sync: SyncMode
  /** For `sync: 'interval'`: so long at most after its commit a batch is on disk. */
  readonly syncIntervalMs: number
  readonly onAlarm: (alarm: StorageAlarm) => void
  /** Without `seat`: how long a session is kept whose record was lost and made anew; none is if left out. */
  readonly recoveredExpirySeconds?: number
  /**
   * Hears of each reference to a shared body that went with a session ended through this store, some time after the
   * commit that ended it.
   */
  readonly onReleased?: (bodyIds: readonly number[]) => void
  /** Numbers batches and lives by itself, 0 to 255. That of `place` if left out, or 0. */
  readonly shard?: number
  /** Which shard of how many this is: then what is read is only what belongs to it. Everything if left out. */
  readonly place?: ShardPlace | undefined
  /** The database is shared by several stores of the process; their keeper opens it. Without it this store does. */
  readonly seat?: StoreSeat
  /** Calls back once after so long; the timers of the process if left out. */
  readonly after?: (delayMs: number, callback: () => void) => void
}

/** Between two tries to open what others use too. */
const comeBackPauseMs = 1_000

/**
 * Opens the database in a directory, or makes it. Rejects with StorageFailure if another process has it or it cannot be
 * written.
 */
export async function openLevelStore(options: LevelStoreOptions): Promise<Store> {
  const store = new LevelStore(options)
  await store.reopen()
  return store
}

/** What belongs to one opening of the database. */
interface Opening {
  readonly database: LevelDatabase
  readonly journal: BatchJournal
  readonly lives: SessionLives
  readonly badRecords: BadRecords
  readonly sweep: OrphanSweep
  /** Bodies up to here may be needed by sessions of other shards: they are not deleted. */
  readonly sharedBodiesUpTo: number
  readonly bodies: BodyCache
}

class LevelStore implements Store {
  readonly #options: LevelStoreOptions
  readonly #shard: number
  readonly #operations = new OperationList()
  readonly #mark: BatchMark
  #opening: Opening | undefined
  #isClosed = false
  #wasOpen = false
  /** Commits, and whatever must not happen during one, one after the other. */
  #lastTurn: Promise<void> = Promise.resolve()
  #mustReopen = false
  /** What in the database cannot be read: it is repaired before it is opened again. */
  #suspicion: string | undefined
  #isSyncDue = false
  /**
   * Lives that ended since the store was opened first and are not swept: their references were counted by whoever uses
   * the store.
   */
  readonly #countedLives = new Set<Life>()
  /** Readers that came while the database was not open. */
  readonly #waiting: (() => void)[] = []

  constructor(options: LevelStoreOptions) {
    this.#options = options
    this.#shard = options.shard ?? options.place?.own ?? 0
    this.#mark = new BatchMark(options.directory, this.#shard)
    const { seat } = options
    if (seat !== undefined) seat.onRecall = () => this.#comeBack(seat)
  }

  commit(changes: readonly (StoredChange | undefined)[]): Promise<void> {
    return this.#inTurn(() => this.#write(changes))
  }

  async *read(range: RecordRange): AsyncIterable<StoredRecord> {
    for await (const slice of this.#slices(range)) yield* slice
  }

  readQueue(range: QueueRange): AsyncIterable<readonly StoredRecord[]> {
    return this.#slices(range)
  }

  scanQueues(): AsyncIterable<readonly QueueEntry[]> {
    return this.#during((reading) => reading.queueEntries())
  }

  countBodyReferences(): AsyncIterable<readonly BodyReferences[]> {
    return this.#during((reading) => reading.bodyReferences())
  }

  reopen(): Promise<void> {
    return this.#inTurn(async () => {
      assert(!this.#isClosed, 'the store is closed')
      const { directory, seat } = this.#options
      try {
        if (seat !== undefined) return await this.#enterAgain(seat)
        // As long as the disk takes nothing the old opening still serves readers.
        if (this.#opening !== undefined) await probeDisk(directory)
        await this.#end()
        const { onAlarm } = this.#options
        const recoveredExpirySeconds = this.#wasOpen ? undefined : this.#options.recoveredExpirySeconds
        const opened = await openSoundly({ directory, suspicion: this.#suspicion, recoveredExpirySeconds, onAlarm })
        await this.#begin({ ...opened, sharedBodiesUpTo: 0 })
      } catch (error) {
        throw storageFailureOf(`The database in ${directory} cannot be opened`, error)
      }
    })
  }

  async close(): Promise<void> {
    await this.#opening?.badRecords.finish()
    await this.#inTurn(() => this.#close())
    await this.#mark.close()
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#tellWaiting()
    const opening = this.#opening
    if (opening === undefined) return
    const { directory, seat, sync } = this.#options
    if (sync !== 'never' && !this.#mustReopen) await this.#syncNow(opening)
    await this.#end()
    if (seat !== undefined) seat.left(this.#isSound)
    // Only files that are known to be as they should be are vouched for.
    else if (this.#isSound) await closeSeal(directory)
  }

  /** What was written last is there, and nothing was unreadable. */
  get #isSound(): boolean {
    return !this.#mustReopen && this.#suspicion === undefined
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const turn = this.#lastTurn.then(act)
    // The next turn waits for this one; that this one failed is told to its own caller.
    this.#lastTurn = turn.catch(() => {})
    return turn
  }

  /** Leaves with all others where a write failed, and joins anew. */
  async #enterAgain(seat: StoreSeat): Promise<void> {
    if (this.#opening !== undefined) {
      // A recall that came between the failure and now has brought a new opening already.
      if (this.#isSound) return
      await seat.renew(this.#suspicion)
      await this.#end()
      seat.left(this.#isSound)
    }
    await this.#join(seat)
  }

  /** Somebody else's write has failed. Commits and readers wait until the database is open again. */
  #comeBack(seat: StoreSeat): void {
    const turn = this.#inTurn(async () => {
      if (this.#opening !== undefined) {
        await this.#end()
        seat.left(this.#isSound)
      }
      if (!this.#isClosed) await this.#join(seat)
    })
    turn.catch((error: unknown) => {
      if (!isOfDatabase(error) && !(error instanceof StorageFailure)) throw error
      this.#after(comeBackPauseMs, () => {
        if (this.#opening === undefined) this.#comeBack(seat)
      })
    })
  }

  async #join(seat: StoreSeat): Promise<void> {
    const { sharedBodiesUpTo } = await seat.enter(this.#suspicion)
    let database: LevelDatabase | undefined
    try {
      database = await LevelDatabase.open(this.#options.directory)
      const { journal } = await BatchJournal.read(database, this.#shard)
      await this.#begin({ database, journals: new Map([[this.#shard, journal]]), sharedBodiesUpTo })
    } catch (error) {
      this.#opening = undefined
      await database?.close()
      if (isDamage(error)) this.#suspect(error)
      seat.left(false)
      throw error
    }
  }

  async #begin(opened: OpenedDatabase & { readonly sharedBodiesUpTo: number }): Promise<void> {
    const { directory, onAlarm } = this.#options
    const shard = this.#shard
    const { database, journals, sharedBodiesUpTo } = opened
    this.#suspicion = undefined
    const badRecords = new BadRecords({
      database,
      file: `${directory}.damaged-records`,
      onAlarm,
      inTurn: (act) => this.#inTurn(act),
      onUnreadable: (error) => this.#tellUnreadable(error),
    })
    const sweep = new OrphanSweep(database, this.#releases(), (error) => this.#sweepFailed(error))
    const lives = new SessionLives(await firstFreeLife(database, shard))
    const journal = journals.get(shard) ?? new BatchJournal(shard, 0)
    this.#opening = { database, journal, lives, badRecords, sweep, sharedBodiesUpTo, bodies: new BodyCache() }
    this.#mustReopen = false
    this.#wasOpen = true
    sweep.start(this.#sweptShards())
    this.#tellWaiting()
  }

  /** Whose graves of before this store sweeps: also those of shards that are no more. */
  #sweptShards(): number[] {
    const { place, seat } = this.#options
    const { own, count } = place ?? { own: 0, count: seat === undefined ? 1 : Infinity }
    return Array.from({ length: shardNumbers }, (_, shard) => shard).filter((shard) => shard % count === own)
  }

  #releases(): BodyReleases {
    return {
      isCounted: (life) => this.#countedLives.has(life),
      swept: (life) => void this.#countedLives.delete(life),
      released: (bodyIds) => this.#options.onReleased?.(bodyIds),
    }
  }

  #tellWaiting(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  async #end(): Promise<void> {
    const opening = this.#opening
    if (opening === undefined) return
    this.#opening = undefined
    opening.badRecords.stop()
    await opening.sweep.stop()
    await opening.database.close()
  }

  async #write(changes: readonly (StoredChange | undefined)[]): Promise<void> {
    const opening = this.#open()
    if (this.#mustReopen) throw new StorageFailure('a commit failed before: the store is to be reopened first')
    const { database, journal, lives, sweep } = opening
    try {
      await learnLives(opening, changes)
      const ended = this.#encode(opening, changes)
      await database.write(this.#operations, this.#options.sync === 'commit')
      journal.settle()
      if (this.#options.sync === 'commit') this.#mark.note(journal.last)
      for (const life of ended) {
        this.#countedLives.add(life)
        sweep.add(life)
      }
    } catch (error) {
      lives.forget()
      if (!isOfDatabase(error)) throw error
      this.#mustReopen = true
      if (isDamage(error)) this.#suspect(error)
      throw storageFailureOf(`Writing to the database in ${this.#options.directory} failed`, error)
    }
    if (this.#options.sync === 'interval') this.#syncLater()
  }

  /** Lays the changes out as operations. Returns the lives that they end. */
  #encode({ journal, lives, sharedBodiesUpTo }: Opening, changes: readonly (StoredChange | undefined)[]): Life[] {
    const operations = this.#operations
    operations.clear()
    const ended: Life[] = []
    const lastLife = lives.last
    for (const change of changes) {
      if (change === undefined || isOfSharedBody(change, sharedBodiesUpTo)) continue
      const life = encodeChange(operations, change, lives)
      if (life !== undefined) ended.push(life)
    }
    if (lives.last !== lastLife) encodeBegun(operations, this.#shard, lives.last)
    journal.encodeNext(operations)
    return ended
  }

  /** The moment is that of the call, also if the iteration begins later. */
  #during<Slice>(read: (reading: LevelReading) => AsyncIterable<Slice>): AsyncIterable<Slice> {
    const opening = this.#open()
    const { database, badRecords, sharedBodiesUpTo, bodies } = opening
    const { onAlarm, place } = this.#options
    const reading = new LevelReading({ database, badRecords, onAlarm, place, sharedBodiesUpTo, bodies })
    return closingAfter(reading, read(reading), (error) =>
      this.#opening === opening
        ? storageFailureOf(`Reading from the database in ${this.#options.directory} failed`, error)
        : new ReadingInterrupted('the database was opened again during a reading', { cause: error }),
    )
  }

  async *#slices(range: RecordRange): AsyncIterable<readonly StoredRecord[]> {
    if (this.#opening === undefined && !this.#isClosed)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    yield* this.#during((reading) => reading.records(range))
  }

  #syncLater(): void {
    if (this.#isSyncDue) return
    this.#isSyncDue = true
    this.#after(this.#options.syncIntervalMs, () => {
      this.#isSyncDue = false
      const opening = this.#opening
      if (opening === undefined || this.#mustReopen) return
      this.#syncNow(opening).catch((error: unknown) => {
        // What has been promised less than the interval ago may be lost: the next commit says so, by failing.
        this.#mustReopen = true
        const text = `Syncing the database in ${this.#options.directory} failed: ${String(error)}.`
        this.#options.onAlarm({ alarm: 'maintenance-failed', text })
      })
    })
  }

  #after(delayMs: number, callback: () => void): void {
    const { after } = this.#options
    if (after === undefined) setTimeout(callback, delayMs).unref()
    else after(delayMs, callback)
  }

  /** A synced write brings all writes before it to the disk. */
  async #syncNow({ database, journal }: Opening): Promise<void> {
    const operations = new OperationList()
    const { last } = journal
    journal.encodeLast(operations)
    await database.write(operations, true)
    if (last > 0) this.#mark.note(last)
  }

  #suspect(error: Error): void {
    this.#suspicion ??= error.message
  }

  /** A reading leaves out what it cannot read. */
  #tellUnreadable(error: Error): void {
    if (this.#suspicion !== undefined) return
    this.#suspect(error)
    const { directory, onAlarm } = this.#options
    const text = `A part of the database in ${directory} cannot be read: ${error.message}. What is in it is not served. Restart the broker: the database is repaired at the start.`
    onAlarm({ alarm: 'database-damaged', text })
    void distrust(directory)
  }

  #sweepFailed(error: unknown): void {
    if (!isOfDatabase(error)) throw error
    const text = `Removing ended sessions from ${this.#options.directory} failed and goes on when it is opened again: ${error.message}.`
    this.#options.onAlarm({ alarm: 'maintenance-failed', text })
  }

  #open(): Opening {
    assert(!this.#isClosed, 'the store is closed')
    if (this.#opening === undefined) throw new StorageFailure('the database is being opened again')
    return this.#opening
  }
}

async function learnLives(
  { database, lives, badRecords }: Opening,
  changes: readonly (StoredChange | undefined)[],
): Promise<void> {
  const clientIds = lives.unknownIn(changes)
  if (clientIds.length === 0) return
  const keys = clientIds.map(lifeKey)
  const values = await database.getMany(keys)
  for (const [index, key] of keys.entries()) {
    const value = values[index]
    const life = value === undefined ? undefined : badRecords.attempt([key, value], () => readLife(key, value))
    lives.learn(clientIds[index] ?? '', life)
  }
}

async function* closingAfter<Slice>(
  reading: LevelReading,
  slices: AsyncIterable<Slice>,
  failureFor: (error: Error) => unknown,
): AsyncIterable<Slice> {
  try {
    yield* slices
  } catch (error) {
    if (!isOfDatabase(error)) throw error
    throw failureFor(error)
  } finally {
    await reading.close()
  }
}

/** A shard does not know who else needs a body from before the last dealing. */
function isOfSharedBody(change: StoredChange, sharedBodiesUpTo: number): boolean {
  return change.change === 'delete' && change.key.kind === 'body' && change.key.id <= sharedBodiesUpTo
}
