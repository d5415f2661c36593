// Writes batches of changes to the open database, and syncs them.

import type { StoredChange } from '../../records/index.ts'
import { BatchMark } from '../database/batch-marks.ts'
import { OperationList } from '../database/operation-list.ts'
import { StorageFailure } from '../store.ts'
import { encodeBatch, loadGenerations } from './batch-encoding.ts'
import type { DatabaseOpenings, Opening } from './database-openings.ts'
import { getShardNumber, type LevelStoreOptions, startTimer } from './level-store-options.ts'
import { isDatabaseError, toStorageFailure } from './storage-failures.ts'

type Changes = readonly (StoredChange | undefined)[]

export class BatchWriter {
  readonly #options: LevelStoreOptions
  readonly #openings: DatabaseOpenings
  readonly #shard: number
  readonly #operations = new OperationList()
  readonly #mark: BatchMark
  #isSyncDue = false

  constructor(options: LevelStoreOptions, openings: DatabaseOpenings) {
    this.#options = options
    this.#openings = openings
    this.#shard = getShardNumber(options)
    this.#mark = new BatchMark(options.directory, this.#shard)
  }

  /** Writes the changes, all or none. Runs as an exclusive task. */
  async write(changes: Changes): Promise<void> {
    const { directory, sync } = this.#options
    const opening = this.#openings.getOpening()
    if (this.#openings.mustReopen) throw new StorageFailure('a commit failed before: the store is to be reopened first')
    const { database, batchSequence, generations } = opening
    try {
      await loadGenerations(opening, changes)
      this.#operations.clear()
      const ended = encodeBatch(this.#operations, opening, this.#shard, changes)
      batchSequence.encodeNext(this.#operations)
      await database.write(this.#operations, sync === 'commit')
      batchSequence.confirm()
      if (sync === 'commit') this.#mark.recordDurable(batchSequence.last)
      for (const generation of ended) this.#openings.sweep(opening, generation)
    } catch (error) {
      generations.clear()
      if (!isDatabaseError(error)) throw error
      this.#openings.recordFailedWrite(error)
      throw toStorageFailure(`Writing to the database in ${directory} failed`, error)
    }
    if (sync === 'interval') this.#syncLater()
  }

  /** Called before the database is closed: makes all writes durable, unless the operating system is to do it. */
  async finish(opening: Opening): Promise<void> {
    if (this.#options.sync !== 'never') await this.#syncNow(opening)
  }

  /** Resolves when the mark of the last batch is written. */
  closeMark(): Promise<void> {
    return this.#mark.close()
  }

  #syncLater(): void {
    if (this.#isSyncDue) return
    this.#isSyncDue = true
    startTimer(this.#options, this.#options.syncIntervalMs, () => {
      this.#isSyncDue = false
      const { opening, mustReopen } = this.#openings
      if (opening === undefined || mustReopen) return
      this.#syncNow(opening).catch((error: unknown) => {
        this.#openings.recordFailedSync()
        const text = `Syncing the database in ${this.#options.directory} failed: ${String(error)}.`
        this.#options.onAlarm({ alarm: 'maintenance-failed', text })
      })
    })
  }

  /** A synced write also makes all earlier writes durable. */
  async #syncNow({ database, batchSequence }: Opening): Promise<void> {
    const operations = new OperationList()
    const { last } = batchSequence
    batchSequence.encodeLast(operations)
    await database.write(operations, true)
    if (last > 0) this.#mark.recordDurable(last)
  }
}
