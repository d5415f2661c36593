// Logs refused connections: the first at once, then one line per ten seconds while there are more, so that a flood does
// not fill the log. A counter counts all of them.

import type { Log } from '../../telemetry/index.ts'

export interface Refusal {
  readonly listener: string
  readonly reason: string
  /** Further details; the client's address. */
  readonly why: string | undefined
}

const lineIntervalMs = 10_000

export class RefusalLog {
  readonly #log: Log
  #suppressed = 0
  #last: Refusal | undefined = undefined
  /** While this timer runs, nothing is logged. */
  #pause: NodeJS.Timeout | undefined = undefined

  constructor(log: Log) {
    this.#log = log
  }

  record(refusal: Refusal): void {
    this.#suppressed += 1
    this.#last = refusal
    if (this.#pause === undefined) this.#report()
  }

  #report(): void {
    this.#log.warn('connections refused', { count: this.#suppressed, ...this.#last })
    this.#suppressed = 0
    this.#pause = setTimeout(() => {
      this.#pause = undefined
      if (this.#suppressed > 0) this.#report()
    }, lineIntervalMs).unref()
  }
}
