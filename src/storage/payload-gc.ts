// Takes away what ended sessions have left behind (see record-keys.ts), a slice at a time, so that a million messages
// neither block the event loop nor fill the memory. A sweep that was interrupted goes on at the next start: the graves
// are on disk.

import { DamagedRecord, RecordTooNew } from './byte-reader.ts'
import type { LevelDatabase, LevelEntry } from './level-database.ts'
import { OperationList } from './operation-list.ts'
import { kindOfKey, generationOfKey, rangeOfShard, sessionKinds, sessionPrefix } from './record-keys.ts'
import { readPayloadId } from './record-values.ts'
import type { Generation } from './record-keys.ts'

/** Who counts the references to shared bodies hears which ones went with an ended session. */
export interface PayloadReleases {
  /** False for lives that had ended before those references were counted: they never were in the count. */
  isCounted(generation: Generation): boolean
  released(payloadIds: readonly number[]): void
  /** Nothing of the life is left. */
  swept(generation: Generation): void
}

/** Sweeps graves, one after the other, in the background. */
export class PayloadGc {
  readonly #database: LevelDatabase
  readonly #onFailure: (error: unknown) => void
  readonly #releases: PayloadReleases
  readonly #waiting: Generation[] = []
  #running: Promise<void> = Promise.resolve()
  #isRunning = false
  #isStopped = false

  /** @param onFailure hears once what ended the sweep before its time; it goes on at the next opening */
  constructor(database: LevelDatabase, releases: PayloadReleases, onFailure: (error: unknown) => void) {
    this.#database = database
    this.#releases = releases
    this.#onFailure = onFailure
  }

  /** Begins with the graves on disk of lives that these shards gave out. */
  start(shards: readonly number[]): void {
    this.#run(async () => {
      for (const shard of shards) await this.#findTombstones(shard)
    })
  }

  /** A life has ended and its grave is on disk. */
  add(generation: Generation): void {
    this.#waiting.push(generation)
    this.#run(async () => {})
  }

  /** Resolves when the sweep has ended or paused for good: nothing is written any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #findTombstones(shard: number): Promise<void> {
    for await (const slice of this.#database.slices({ ...rangeOfShard('grave', shard), keysOnly: true })) {
      for (const [key] of slice) this.#waiting.push(generationOfKey(key))
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
      // Not in a later step of the promise: a life that is added between the last look and that would wait for another one.
      this.#isRunning = false
    }
  }

  async #sweep(generation: Generation): Promise<void> {
    const operations = new OperationList()
    const isCounted = this.#releases.isCounted(generation)
    for (const kind of sessionKinds) {
      const keysOnly = kind !== 'queued' || !isCounted
      const range = { gte: sessionPrefix(kind, generation), lt: sessionPrefix(kind, generation + 1), keysOnly }
      for await (const slice of this.#database.slices(range)) {
        if (this.#isStopped) return
        operations.clear()
        for (const [key] of slice) operations.delete(key)
        await this.#database.write(operations, false)
        if (!keysOnly) this.#release(slice)
      }
    }
    operations.clear()
    operations.delete(sessionPrefix('grave', generation))
    await this.#database.write(operations, false)
    this.#releases.swept(generation)
  }

  #release(slice: readonly LevelEntry[]): void {
    const payloadIds: number[] = []
    for (const [key, value] of slice) {
      const payloadId = kindOfKey(key) === 'queued' ? payloadIdOf(key, value) : undefined
      if (payloadId !== undefined) payloadIds.push(payloadId)
    }
    if (payloadIds.length > 0) this.#releases.released(payloadIds)
  }
}

/** A record that cannot be read names no body; what it referred to is found by the count at the next start. */
function payloadIdOf(key: Buffer, value: Buffer): number | undefined {
  try {
    return readPayloadId(key, value)
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return undefined
    throw error
  }
}
