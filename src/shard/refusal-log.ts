// Clients that were turned away at the door, in the log: the first at once, then one line for all of ten seconds, so that
// whoever knocks by the thousand does not fill the log. A counter tells every one.

import type { Log } from '../telemetry/index.ts'

export interface Refusal {
  readonly listener: string
  readonly reason: string
  /** What more there is to say; the client's address. */
  readonly why: string | undefined
}

const lineIntervalMs = 10_000

export class RefusalLog {
  readonly #log: Log
  #toldAtMs = -Infinity
  #untold = 0

  constructor(log: Log) {
    this.#log = log
  }

  note(refusal: Refusal): void {
    this.#untold += 1
    const nowMs = performance.now()
    if (nowMs - this.#toldAtMs < lineIntervalMs) return
    this.#toldAtMs = nowMs
    this.#log.warn('connections refused', { count: this.#untold, ...refusal })
    this.#untold = 0
  }
}
