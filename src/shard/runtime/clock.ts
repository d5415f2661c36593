// The time of the shards: the wall clock at the start of the node plus the monotonic time since, so that changes of the
// system clock affect no deadline; never below the stored time. All shards have the same base, also after a restart, so
// that they can compare times.

import { performance } from 'node:perf_hooks'
import type { Instant } from '../../cluster/index.ts'

/** The clock of a shard: whole milliseconds since 1970, never decreasing. */
export interface Time {
  nowMs(): number
}

/** Base for the clocks of all shards. `notBeforeMs`: the last time known from before a restart. */
export function computeClockBaseMs(notBeforeMs: number): number {
  return Math.max(Date.now(), notBeforeMs) - readMonotonicMs()
}

export class Clock implements Time {
  readonly #offsetMs: number

  constructor(baseMs: number) {
    // The origin of `performance.now()` differs between threads, but it is the cheaper function.
    this.#offsetMs = baseMs + readMonotonicMs() - performance.now()
  }

  /** Whole milliseconds since 1970. */
  nowMs(): number {
    return Math.floor(this.#offsetMs + performance.now())
  }
}

/** Returns the clocks of a lease. */
export function readClocks(): Instant {
  return { monotonicMs: readMonotonicMs(), wallMs: Date.now() }
}

/** The same in all threads of this process. */
function readMonotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
