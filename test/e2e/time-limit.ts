// Limits of waits that count the processor time that a process could get, so that other work on the machine fails no test. With ten running
// threads on two processors, a limit of one minute ends after five.

import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Without samples in between, the share at the end of an interval would stand for all of it. */
const maxSampleMs = 1_000

/** Share of a processor that one more running thread gets, from 0 up to 1. The reading thread is not counted. */
export function shareOf(loadavg: string, processors: number): number {
  const running = Number(/^(?:\S+ ){3}(\d+)\//.exec(loadavg)?.[1] ?? 1) - 1
  return Math.min(1, processors / (running + 1))
}

function readShare(): number {
  try {
    return shareOf(readFileSync('/proc/loadavg', 'utf8'), availableParallelism())
  } catch {
    // Only Linux has the file.
    return 1
  }
}

interface Clock {
  nowMs(): number
  share(): number
}

const machine: Clock = { nowMs: () => performance.now(), share: readShare }

export class TimeLimit {
  readonly #clock: Clock
  #leftMs: number
  #sampledAtMs: number

  constructor(limitMs: number, clock = machine) {
    this.#clock = clock
    this.#leftMs = limitMs
    this.#sampledAtMs = clock.nowMs()
  }

  /** Called at short intervals while the test waits. A longer interval counts as one second. */
  get isOver(): boolean {
    const nowMs = this.#clock.nowMs()
    this.#leftMs -= Math.min(nowMs - this.#sampledAtMs, maxSampleMs) * this.#clock.share()
    this.#sampledAtMs = nowMs
    return this.#leftMs <= 0
  }
}

const pollMs = 50

/** Returns the result of `work`. Rejects if `work` takes longer. */
export async function settleWithin<Result>(limitMs: number, what: string, work: Promise<Result>): Promise<Result> {
  const limit = new TimeLimit(limitMs)
  const { promise: over, reject } = Promise.withResolvers<never>()
  const timer = setInterval(() => {
    if (limit.isOver) reject(new Error(`${what}: no result within ${limitMs} ms of processor time`))
  }, pollMs)
  try {
    return await Promise.race([work, over])
  } finally {
    clearInterval(timer)
  }
}
