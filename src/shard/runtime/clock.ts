// The time of the shards: the wall clock at the start of the node plus the monotonic time since, so that a clock that is
// set back or forward moves no deadline; never below what was stored of it before. One base for all shards, also for one
// that is started again later: what they say to each other of times is comparable.

import { performance } from 'node:perf_hooks'

/** What a shard asks for the time: milliseconds since 1970, whole, never going back. */
export interface Time {
  nowMs(): number
}

/** For the clocks of all shards. `notBeforeMs`: the last time that is known from before a restart. */
export function clockBaseMs(notBeforeMs: number): number {
  return Math.max(Date.now(), notBeforeMs) - monotonicMs()
}

export class Clock implements Time {
  readonly #offsetMs: number

  constructor(baseMs: number) {
    // Each thread counts from its own beginning here; it is the cheaper of the two to ask.
    this.#offsetMs = baseMs + monotonicMs() - performance.now()
  }

  /** Milliseconds since 1970, whole. */
  nowMs(): number {
    return Math.floor(this.#offsetMs + performance.now())
  }
}

/** The same in all threads of this process. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
