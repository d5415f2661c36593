// Deletes the records of ended sessions (see record-keys.ts) in slices, so that a million messages neither block the
// event loop nor fill the memory. An interrupted deletion continues at the next start, because the tombstones are on
// disk.

import { DamagedRecord, RecordTooNew } from '../encoding/record-byte-reader.ts'
import type { Database, DatabaseEntry } from '../database/entry-database.ts'
import { OperationList } from '../database/operation-list.ts'
import {
  readKeyKind,
  readKeyGeneration,
  createKindRange,
  sessionKinds,
  encodeSessionPrefix,
  computeGenerationShard,
} from '../encoding/record-keys.ts'
import { readPayloadId } from '../encoding/record-values.ts'
import type { Generation } from '../encoding/record-keys.ts'

/** Receives the references to shared payloads that were deleted with a session. */
export interface PayloadReleases {
  /** False for generations that ended before references were counted: they were never included. */
  isCounted(generation: Generation): boolean
  onReleased(payloadIds: readonly number[]): void
  /** All records of the generation are deleted. */
  onSwept(generation: Generation): void
}

/** Handles tombstones one after the other, in the background. */
export class PayloadGc {
  readonly #database: Database
  readonly #onFailure: (error: unknown) => void
  readonly #releases: PayloadReleases
  readonly #waiting: Generation[] = []
  #running: Promise<void> = Promise.resolve()
  #isRunning = false
  #isStopped = false

  /** @param onFailure called once with the error that stopped the deletion; it continues at the next opening */
  constructor(database: Database, releases: PayloadReleases, onFailure: (error: unknown) => void) {
    this.#database = database
    this.#releases = releases
    this.#onFailure = onFailure
  }

  /** Starts with stored tombstones of generations of these shards. */
  start(shards: readonly number[]): void {
    this.#run(() => this.#findTombstones(new Set(shards)))
  }

  /** A generation has ended and its tombstone is durable. */
  add(generation: Generation): void {
    this.#waiting.push(generation)
    this.#run(async () => {})
  }

  /** Resolves when the deletion has ended or paused: nothing is written any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  /** Reads all tombstones: there are few, and 256 iterators, one for each shard, would take longer. */
  async #findTombstones(shards: ReadonlySet<number>): Promise<void> {
    for await (const slice of this.#database.readSlices({ ...createKindRange('tombstone'), keysOnly: true })) {
      for (const [key] of slice) {
        const generation = readKeyGeneration(key)
        if (shards.has(computeGenerationShard(generation))) this.#waiting.push(generation)
      }
    }
  }

  #run(prepare: () => Promise<void>): void {
    if (this.#isRunning || this.#isStopped) return
    this.#isRunning = true
    this.#running = this.#sweepAll(prepare)
  }

  async #sweepAll(prepare: () => Promise<void>): Promise<void> {
    try {
      await prepare()
      for (
        let generation = this.#waiting.shift();
        generation !== undefined && !this.#isStopped;
        generation = this.#waiting.shift()
      ) {
        await this.#sweep(generation)
      }
    } catch (error) {
      this.#isStopped = true
      this.#onFailure(error)
    } finally {
      // Not in a later step of the promise: a generation that is added in between would wait for another one.
      this.#isRunning = false
    }
  }

  async #sweep(generation: Generation): Promise<void> {
    const operations = new OperationList()
    const isCounted = this.#releases.isCounted(generation)
    for (const kind of sessionKinds) {
      const keysOnly = kind !== 'queued' || !isCounted
      const range = {
        gte: encodeSessionPrefix(kind, generation),
        lt: encodeSessionPrefix(kind, generation + 1),
        keysOnly,
      }
      for await (const slice of this.#database.readSlices(range)) {
        if (this.#isStopped) return
        operations.clear()
        for (const [key] of slice) operations.delete(key)
        await this.#database.write(operations, false)
        if (!keysOnly) this.#release(slice)
      }
    }
    operations.clear()
    operations.delete(encodeSessionPrefix('tombstone', generation))
    await this.#database.write(operations, false)
    this.#releases.onSwept(generation)
  }

  #release(slice: readonly DatabaseEntry[]): void {
    const payloadIds: number[] = []
    for (const [key, value] of slice) {
      const payloadId = readKeyKind(key) === 'queued' ? tryReadPayloadId(key, value) : undefined
      if (payloadId !== undefined) payloadIds.push(payloadId)
    }
    if (payloadIds.length > 0) this.#releases.onReleased(payloadIds)
  }
}

/** An unreadable record names no payload; the scan at the next start finds what it referred to. */
function tryReadPayloadId(key: Buffer, value: Buffer): number | undefined {
  try {
    return readPayloadId(key, value)
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return undefined
    throw error
  }
}
