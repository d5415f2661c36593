// Takes away what ended sessions have left behind (see record-keys.ts), a slice at a time, so that a million messages
// neither block the event loop nor fill the memory. A sweep that was interrupted goes on at the next start: the graves
// are on disk.

import { DamagedRecord, RecordTooNew } from './byte-reader.ts'
import type { LevelDatabase, LevelEntry } from './level-database.ts'
import { OperationList } from './operation-list.ts'
import { kindOfKey, lifeOfKey, rangeOfShard, sessionKinds, sessionPrefix } from './record-keys.ts'
import { readBodyId } from './record-values.ts'
import type { Life } from './record-keys.ts'

/** Who counts the references to shared bodies hears which ones went with an ended session. */
export interface BodyReleases {
  /** False for lives that had ended before those references were counted: they never were in the count. */
  isCounted(life: Life): boolean
  released(bodyIds: readonly number[]): void
  /** Nothing of the life is left. */
  swept(life: Life): void
}

/** Sweeps graves, one after the other, in the background. */
export class OrphanSweep {
  readonly #database: LevelDatabase
  readonly #onFailure: (error: unknown) => void
  readonly #releases: BodyReleases
  readonly #waiting: Life[] = []
  #running: Promise<void> = Promise.resolve()
  #isRunning = false
  #isStopped = false

  /** @param onFailure hears once what ended the sweep before its time; it goes on at the next opening */
  constructor(database: LevelDatabase, releases: BodyReleases, onFailure: (error: unknown) => void) {
    this.#database = database
    this.#releases = releases
    this.#onFailure = onFailure
  }

  /** Begins with the graves on disk of lives that these shards gave out. */
  start(shards: readonly number[]): void {
    this.#run(async () => {
      for (const shard of shards) await this.#findGraves(shard)
    })
  }

  /** A life has ended and its grave is on disk. */
  add(life: Life): void {
    this.#waiting.push(life)
    this.#run(async () => {})
  }

  /** Resolves when the sweep has ended or paused for good: nothing is written any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #findGraves(shard: number): Promise<void> {
    for await (const slice of this.#database.slices({ ...rangeOfShard('grave', shard), keysOnly: true })) {
      for (const [key] of slice) this.#waiting.push(lifeOfKey(key))
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
      for (let life = this.#waiting.shift(); life !== undefined && !this.#isStopped; life = this.#waiting.shift()) {
        await this.#sweep(life)
      }
    } catch (error) {
      this.#isStopped = true
      this.#onFailure(error)
    } finally {
      // Not in a later step of the promise: a life that is added between the last look and that would wait for another one.
      this.#isRunning = false
    }
  }

  async #sweep(life: Life): Promise<void> {
    const operations = new OperationList()
    const isCounted = this.#releases.isCounted(life)
    for (const kind of sessionKinds) {
      const keysOnly = kind !== 'queued' || !isCounted
      const range = { gte: sessionPrefix(kind, life), lt: sessionPrefix(kind, life + 1), keysOnly }
      for await (const slice of this.#database.slices(range)) {
        if (this.#isStopped) return
        operations.clear()
        for (const [key] of slice) operations.delete(key)
        await this.#database.write(operations, false)
        if (!keysOnly) this.#release(slice)
      }
    }
    operations.clear()
    operations.delete(sessionPrefix('grave', life))
    await this.#database.write(operations, false)
    this.#releases.swept(life)
  }

  #release(slice: readonly LevelEntry[]): void {
    const bodyIds: number[] = []
    for (const [key, value] of slice) {
      const bodyId = kindOfKey(key) === 'queued' ? bodyIdOf(key, value) : undefined
      if (bodyId !== undefined) bodyIds.push(bodyId)
    }
    if (bodyIds.length > 0) this.#releases.released(bodyIds)
  }
}

/** A record that cannot be read names no body; what it referred to is found by the count at the next start. */
function bodyIdOf(key: Buffer, value: Buffer): number | undefined {
  try {
    return readBodyId(key, value)
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return undefined
    throw error
  }
}
