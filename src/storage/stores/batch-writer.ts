// Writes batches of changes to the open database, and syncs them.

import type { StoredChange } from '../../records/index.ts'
import { BatchMark } from '../database/batch-marks.ts'
import { encodeLastGeneration, encodeChange } from '../database/change-encoder.ts'
import { OperationList } from '../database/operation-list.ts'
import { type Generation, encodeGenerationKey } from '../encoding/record-keys.ts'
import { readGeneration } from '../encoding/record-values.ts'
import { StorageFailure } from '../store.ts'
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
      const ended = this.#encode(opening, changes)
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

  /** Encodes the changes as operations. Returns the generations that they end. */
  #encode({ batchSequence, generations, sharedPayloadsUpTo }: Opening, changes: Changes): Generation[] {
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

async function loadGenerations({ database, generations, badRecords }: Opening, changes: Changes): Promise<void> {
  const clientIds = generations.findUnknown(changes)
  if (clientIds.length === 0) return
  const keys = clientIds.map(encodeGenerationKey)
  const values = await database.getMany(keys)
  for (const [index, key] of keys.entries()) {
    const value = values[index]
    const generation =
      value === undefined ? undefined : badRecords.tryRead([key, value], () => readGeneration(key, value))
    generations.recordGeneration(clientIds[index] ?? '', generation)
  }
}

/** The shard does not know whether other shards need a payload from before the last redistribution. */
function isSharedPayload(change: StoredChange, sharedPayloadsUpTo: number): boolean {
  return change.change === 'delete' && change.key.kind === 'payload' && change.key.id <= sharedPayloadsUpTo
}
