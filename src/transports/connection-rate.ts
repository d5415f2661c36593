// How many may come in a second. Up to a second's worth may come at once; those behind them are spread over the time that
// follows.
//
//   now          |<---- burst: 1 s ---->|<------ line: maxWaitMs ------>|
//   nextFreeAtMs   at once                 later, at a moment of its own   too fast
//
// Nothing is counted and no window begins anew: `nextFreeAtMs` is the moment at which everybody so far will be through
// at the rate that is allowed.

const burstMs = 1_000

/** Longer than this nobody is kept waiting: clients give up by then, and come again. */
const maxWaitMs = 5_000

export class ConnectionRate {
  #intervalMs: number
  #nextFreeAtMs: number

  /** undefined: nobody waits. */
  constructor(perSecond: number | undefined) {
    this.#intervalMs = intervalMsOf(perSecond)
    this.#nextFreeAtMs = 0
  }

  /** From now on. Nobody waits longer for what was too fast by another measure; who waits already keeps the moment it was given. */
  change(perSecond: number | undefined): void {
    const intervalMs = intervalMsOf(perSecond)
    if (intervalMs === this.#intervalMs) return
    this.#intervalMs = intervalMs
    this.#nextFreeAtMs = 0
  }

  /** How long somebody who comes now has to wait, in milliseconds; undefined: longer than anybody should. */
  waitMsAt(nowMs: number): number | undefined {
    const atMs = Math.max(nowMs, this.#nextFreeAtMs)
    const waitMs = Math.max(0, atMs + this.#intervalMs - nowMs - Math.max(burstMs, this.#intervalMs))
    if (waitMs > maxWaitMs) return undefined
    this.#nextFreeAtMs = atMs + this.#intervalMs
    return waitMs
  }
}

function intervalMsOf(perSecond: number | undefined): number {
  return perSecond === undefined ? 0 : 1_000 / perSecond
}
