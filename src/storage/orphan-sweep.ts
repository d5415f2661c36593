// Takes away what ended sessions have left behind (see record-keys.ts), a slice at a time, so that a million messages neither
// block the event loop nor fill the memory. A sweep that was interrupted goes on at the next start: the graves are on disk.

import type { LevelDatabase } from './level-database.ts'
import { OperationList } from './operation-list.ts'
import { lifeOfKey, rangeOfShard, sessionKinds, sessionPrefix } from './record-keys.ts'
import type { Life } from './record-keys.ts'

/** Sweeps graves, one after the other, in the background. */
export class OrphanSweep {
  readonly #database: LevelDatabase
  readonly #onFailure: (error: unknown) => void
  readonly #waiting: Life[] = []
  #running: Promise<void> = Promise.resolve()
  #isRunning = false
  #isStopped = false

  /** @param onFailure hears once what ended the sweep before its time; it goes on at the next opening */
  constructor(database: LevelDatabase, onFailure: (error: unknown) => void) {
    this.#database = database
    this.#onFailure = onFailure
  }

  /** Begins with the graves on disk of lives that the shard gave out. */
  start(shard: number): void {
    this.#run(async () => {
      for await (const slice of this.#database.slices({ ...rangeOfShard('grave', shard), keysOnly: true })) {
        for (const [key] of slice) this.#waiting.push(lifeOfKey(key))
      }
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

  #run(prepare: () => Promise<void>): void {
    if (this.#isRunning || this.#isStopped) return
    this.#isRunning = true
    this.#running = this.#sweepAll(prepare)
      .catch((error: unknown) => {
        this.#isStopped = true
        this.#onFailure(error)
      })
      .finally(() => {
        this.#isRunning = false
      })
  }

  async #sweepAll(prepare: () => Promise<void>): Promise<void> {
    await prepare()
    for (let life = this.#waiting.shift(); life !== undefined && !this.#isStopped; life = this.#waiting.shift()) {
      await this.#sweep(life)
    }
  }

  async #sweep(life: Life): Promise<void> {
    const operations = new OperationList()
    for (const kind of sessionKinds) {
      const range = { gte: sessionPrefix(kind, life), lt: sessionPrefix(kind, life + 1), keysOnly: true }
      for await (const slice of this.#database.slices(range)) {
        if (this.#isStopped) return
        operations.clear()
        for (const [key] of slice) operations.delete(key)
        await this.#database.write(operations, false)
      }
    }
    operations.clear()
    operations.delete(sessionPrefix('grave', life))
    await this.#database.write(operations, false)
  }
}
