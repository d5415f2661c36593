// The time of a shard: the wall clock at the start plus the monotonic time since, so that a clock that is set back or
// forward moves no deadline; never below what was stored of it before a restart.

import { performance } from 'node:perf_hooks'

/** What a shard asks for the time: milliseconds since 1970, whole, never going back. */
export interface Time {
  nowMs(): number
}

export class Clock implements Time {
  readonly #offsetMs: number

  /** `notBeforeMs`: the last time that is known from before a restart. */
  constructor(notBeforeMs: number) {
    this.#offsetMs = Math.max(Date.now(), notBeforeMs) - performance.now()
  }

  /** Milliseconds since 1970, whole. */
  nowMs(): number {
    return Math.floor(this.#offsetMs + performance.now())
  }
}
