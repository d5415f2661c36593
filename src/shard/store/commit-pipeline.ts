// Writes batches in order, one at a time. While one is being written, later turns add to the next one.
//
// A failed commit is never undone, because the state in memory already contains its changes. The same batch is written again, with
// increasing pauses. Packets that wait for it are sent only after it is durable.

import { StorageFailure, type Store } from '../../storage/index.ts'
import type { Batch } from '../../core/index.ts'

const firstPauseMs = 100
const maxPauseMs = 5_000
const worksAgain = 'the disk works again'

export interface CommitPipelineCallbacks {
  onCommitted(batch: Batch): void
  /** Called when the disk fails or works again. */
  onHealthChange(isHealthy: boolean, why: string): void
  /** Reports an internal error, or a store that broke its contract: the shard cannot continue. */
  fail(error: unknown): void
}

export class CommitPipeline {
  readonly #store: Store
  readonly #callbacks: CommitPipelineCallbacks
  #isBusy = false
  #isHealthy = true
  /** The last commit of this shard succeeded. */
  #isWriting = true
  /** The failure of the disk that the store owner reported. Undefined: the disk works. */
  #trouble: string | undefined = undefined
  #idle: (() => void)[] = []

  constructor(store: Store, callbacks: CommitPipelineCallbacks) {
    this.#store = store
    this.#callbacks = callbacks
  }

  get isBusy(): boolean {
    return this.#isBusy
  }

  get isHealthy(): boolean {
    return this.#isHealthy
  }

  /** Sets the failure that the store owner reported. Undefined: the disk works. */
  setTrouble(trouble: string | undefined): void {
    this.#trouble = trouble
    this.#reportHealth(trouble ?? worksAgain)
  }

  /** Starts to write a batch. Must not be called while a write is in progress. */
  start(batch: Batch): void {
    this.#isBusy = true
    this.#write(batch).then(
      () => {
        this.#isBusy = false
        this.#callbacks.onCommitted(batch)
        if (!this.#isBusy) for (const wake of this.#idle.splice(0)) wake()
      },
      (error: unknown) => this.#callbacks.fail(error),
    )
  }

  /** Resolves when nothing is being written. */
  waitUntilIdle(): Promise<void> {
    return this.#isBusy ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve()
  }

  async #write(batch: Batch): Promise<void> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
      try {
        await this.#store.commit(batch.changes)
        this.#isWriting = true
        this.#reportHealth(worksAgain)
        return
      } catch (error) {
        if (!(error instanceof StorageFailure)) throw error
        this.#isWriting = false
        this.#reportHealth(error.message)
      }
      await pause(pauseMs)
      await this.#reopen()
    }
  }

  async #reopen(): Promise<void> {
    try {
      await this.#store.reopen()
    } catch (error) {
      // The disk still fails: the next commit reports it again, after a longer pause.
      if (!(error instanceof StorageFailure)) throw error
    }
  }

  #reportHealth(why: string): void {
    const isHealthy = this.#isWriting && this.#trouble === undefined
    if (this.#isHealthy === isHealthy) return
    this.#isHealthy = isHealthy
    this.#callbacks.onHealthChange(isHealthy, why)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
