// Clients that were turned away at the door, in the log: the first at once, then one line for all of ten seconds as long
// as there are more, so that whoever knocks by the thousand does not fill the log. A counter tells every one.

import type { Log } from '../../telemetry/index.ts'

export interface Refusal {
  readonly listener: string
  readonly reason: string
  /** What more there is to say; the client's address. */
  readonly why: string | undefined
}

const lineIntervalMs = 10_000

export class RefusalLog {
  readonly #log: Log
  #untold = 0
  #last: Refusal | undefined = undefined
  /** Until it comes nothing is said. */
  #pause: NodeJS.Timeout | undefined = undefined

  constructor(log: Log) {
    this.#log = log
  }

  note(refusal: Refusal): void {
    this.#untold += 1
    this.#last = refusal
    if (this.#pause === undefined) this.#say()
  }

  #say(): void {
    this.#log.warn('connections refused', { count: this.#untold, ...this.#last })
    this.#untold = 0
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      if (this.#untold > 0) this.#say()
    }, lineIntervalMs).unref()
  }
}
