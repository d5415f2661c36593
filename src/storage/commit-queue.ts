// Batches on their way to a store that may fail for a while. A batch that was promised is never given up: memory is ahead of
// the disk already, so it stays at the head and nothing passes it.
//
//   submit -> [ head | next | ... ] --one at a time--> store.commit --> resolved
//                 ^                                       |
//                 '--- wait, store.reopen, again <--- StorageFailure

import { StorageFailure, type Store } from './store.ts'
import type { StoredChange } from '../core/index.ts'

/** Calls back once, after so many milliseconds. */
export type After = (delayMs: number, callback: () => void) => void

export interface CommitQueueOptions {
  readonly store: Store
  readonly after: After
  /** Said when commits begin to fail, with the reason, and when they succeed again. */
  readonly onHealth: (isHealthy: boolean, reason: string) => void
  /** The wait before the first repetition; it doubles up to `longestRetryMs`. */
  readonly firstRetryMs: number
  readonly longestRetryMs: number
}

type Changes = readonly (StoredChange | undefined)[]

interface Waiting {
  readonly changes: Changes
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Writes batches in the order of their submission, each again and again until the store has it. */
export class CommitQueue {
  readonly #options: CommitQueueOptions
  readonly #waiting: Waiting[] = []
  #isRunning = false
  #isHealthy = true
  #isStopped = false
  #retryMs: number

  constructor(options: CommitQueueOptions) {
    this.#options = options
    this.#retryMs = options.firstRetryMs
  }

  /** False from a failed commit until the next that succeeds. */
  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** How many batches are not on disk yet. */
  get length(): number {
    return this.#waiting.length
  }

  /**
   * Resolves when the changes, and all that were submitted before, are on disk. Rejects if the queue was stopped before, or with
   * what the store threw if that was not the disk's fault. The changes must stay as they are until then.
   */
  submit(changes: Changes): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isStopped) return reject(new StorageFailure('the broker stops: nothing is stored any more'))
      this.#waiting.push({ changes, resolve, reject })
      void this.#run()
    })
  }

  /** Gives up what is not on disk, except what is being written now: for a stop that cannot wait for a failing disk. */
  stop(): void {
    this.#isStopped = true
    if (!this.#isRunning || !this.#isHealthy) this.#abandon()
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    for (let head = this.#waiting[0]; head !== undefined; head = this.#waiting[0]) {
      const isWritten = await this.#write(head)
      if (this.#isStopped) this.#abandon()
      else if (!isWritten) await this.#pause()
    }
    this.#isRunning = false
  }

  async #write(head: Waiting): Promise<boolean> {
    const { store } = this.#options
    try {
      if (!this.#isHealthy) await store.reopen()
      await store.commit(head.changes)
    } catch (error) {
      if (error instanceof StorageFailure) {
        this.#turn(false, error.message)
        return false
      }
      // Not the disk's fault, so trying again would not help. Its owner stops the shard.
      this.#remove(head)
      head.reject(error)
      return true
    }
    this.#turn(true, '')
    this.#remove(head)
    head.resolve()
    return true
  }

  #remove(head: Waiting): void {
    if (this.#waiting[0] === head) this.#waiting.shift()
  }

  #turn(isHealthy: boolean, reason: string): void {
    if (isHealthy) this.#retryMs = this.#options.firstRetryMs
    if (isHealthy === this.#isHealthy) return
    this.#isHealthy = isHealthy
    this.#options.onHealth(isHealthy, reason)
  }

  async #pause(): Promise<void> {
    const delayMs = this.#retryMs
    this.#retryMs = Math.min(delayMs * 2, this.#options.longestRetryMs)
    await new Promise<void>((resolve) => this.#options.after(delayMs, resolve))
  }

  #abandon(): void {
    for (const { reject } of this.#waiting.splice(0))
      reject(new StorageFailure('the broker stops before this was stored'))
  }
}
