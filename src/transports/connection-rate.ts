// How many may come in a second. Up to a second's worth may come at once; those behind them are spread over the time that
// follows.
//
//   now          |<---- burst: 1 s ---->|<------ line: maxWaitMs ------>|
//   nextFreeAtMs   at once                 later, at a moment of its own   too fast
//
// There are no counts and windows: `nextFreeAtMs` is the time at which all waiting clients will be accepted
// at the rate that is allowed.

const burstMs = 1_000

/** Maximum wait of a client: after it, clients close the connection and reconnect. */
const maxWaitMs = 5_000

export class ConnectionRate {
  #intervalMs: number
  #nextFreeAtMs: number

  /** undefined: no client waits. */
  constructor(perSecond: number | undefined) {
    this.#intervalMs = intervalMsOf(perSecond)
    this.#nextFreeAtMs = 0
  }

  /** Changes the rate. Earlier connections do not delay new ones; waiting clients keep their time. */
  change(perSecond: number | undefined): void {
    const intervalMs = intervalMsOf(perSecond)
    if (intervalMs === this.#intervalMs) return
    this.#intervalMs = intervalMs
    this.#nextFreeAtMs = 0
  }

  /** Returns the wait of a new client in milliseconds; undefined: longer than the maximum. */
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
