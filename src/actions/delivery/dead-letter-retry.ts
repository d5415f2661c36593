// Sends all dead letters of an action again, as a job: it lasts longer than a request of the API if there are many. One job at a time; a request
// during a job gets its progress.
//
//   letter ──store──► action queue (durable) ──► letter deleted       killed in between: the letter is sent once more with the next retry
//                └──► not stored: the letter stays, and the reason is reported

import type { DeadLetter, DeadLetters } from './dead-letters.ts'
import type { ActionEntry } from '../../sinks/index.ts'

export interface RetryProgress {
  readonly isRunning: boolean
  /** Number of letters that are sent again. */
  readonly sent: number
  /** Number of letters that could not be sent again, and stay. */
  readonly stayed: number
  /** Number of letters that were not tried yet. */
  readonly pending: number
  /** Why a letter stays; '': none does. */
  readonly why: string
}

/** The dead letters that were delivered. */
export type RetriedLetters = Pick<DeadLetters, 'find' | 'next' | 'delete' | 'size' | 'canReceive' | 'isStopped'>

export interface DeadLetterRetryDependencies {
  after(delayMs: number, work: () => void): { cancel(): void }
  /** Returns the number of stored dead letters, also of those that were not delivered yet. */
  countStored(): number
  /** Stores an entry in the action queue, durably. Returns why it could not be stored; undefined: it is. */
  store(entry: ActionEntry): Promise<string | undefined>
}

const nothing: RetryProgress = { isRunning: false, sent: 0, stayed: 0, pending: 0, why: '' }
/** Pause until the queue of dead letters has delivered further ones. */
const deliveryPauseMs = 10

export class DeadLetterRetry {
  readonly #letters: RetriedLetters
  readonly #dependencies: DeadLetterRetryDependencies
  #job: Promise<void> | undefined
  #progress = nothing
  /** Letters that are being stored. */
  readonly #storing = new Set<number>()

  constructor(letters: RetriedLetters, dependencies: DeadLetterRetryDependencies) {
    this.#letters = letters
    this.#dependencies = dependencies
  }

  /** Of the job, or of the last one. */
  get progress(): RetryProgress {
    return this.#progress
  }

  /** Sends one letter again. */
  async retryOne(id: number): Promise<RetryProgress> {
    const letter = this.#letters.find(id)
    if (letter === undefined || this.#storing.has(id)) return nothing
    const why = await this.#retry(letter)
    return why === undefined ? { ...nothing, sent: 1 } : { ...nothing, stayed: 1, why }
  }

  /** Starts a job unless one runs. Returns its progress when it ends, or after `maxWaitMs`. */
  async retryAll(maxWaitMs: number): Promise<RetryProgress> {
    this.#job ??= this.#run().finally(() => (this.#job = undefined))
    const { promise: waited, resolve } = Promise.withResolvers<void>()
    const timer = this.#dependencies.after(maxWaitMs, resolve)
    await Promise.race([this.#job, waited])
    timer.cancel()
    return this.#progress
  }

  /** Letters that arrive later are not tried: they may be those of this job that the service refuses again. */
  async #run(): Promise<void> {
    let last = 0
    this.#progress = { ...nothing, isRunning: true, pending: this.#dependencies.countStored() }
    while (this.#progress.pending > 0 && !this.#letters.isStopped) {
      const letter = this.#letters.next(last)
      if (letter === undefined) {
        // Letters that stay occupy all places, or the remaining ones were deleted.
        if (!this.#letters.canReceive || this.#dependencies.countStored() <= this.#letters.size) break
        await new Promise<void>((resolve) => void this.#dependencies.after(deliveryPauseMs, resolve))
        continue
      }
      last = letter.id
      const why = this.#storing.has(letter.id) ? undefined : await this.#retry(letter)
      this.#count(why)
    }
    this.#progress = { ...this.#progress, isRunning: false }
  }

  #count(why: string | undefined): void {
    const { sent, stayed, pending } = this.#progress
    const rest = { ...this.#progress, pending: pending - 1 }
    this.#progress = why === undefined ? { ...rest, sent: sent + 1 } : { ...rest, stayed: stayed + 1, why }
  }

  async #retry({ id, entry }: DeadLetter): Promise<string | undefined> {
    this.#storing.add(id)
    const why = await this.#dependencies.store(entry).finally(() => this.#storing.delete(id))
    if (why === undefined) this.#letters.delete(id)
    return why
  }
}
