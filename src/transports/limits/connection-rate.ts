// Limits new connections per second. The connections of one second may come at once; later ones are distributed over the time that
// follows.
//
//   now          |<---- burst: 1 s ---->|<------ queue: maxWaitMs ----->|
//   nextFreeAtMs   at once                 later, each at its own time    too fast
//
// There are no counters and windows: `nextFreeAtMs` is the time at which all waiting clients will be accepted
// at the allowed rate.

const burstMs = 1_000

/** Maximum wait of a client: after it, clients close the connection and reconnect. */
const maxWaitMs = 5_000

export class ConnectionRate {
  #intervalMs: number
  #nextFreeAtMs: number

  /** undefined: no client waits. */
  constructor(perSecond: number | undefined) {
    this.#intervalMs = toIntervalMs(perSecond)
    this.#nextFreeAtMs = 0
  }

  /** Changes the rate. Earlier connections do not delay new ones; waiting clients keep their time. */
  change(perSecond: number | undefined): void {
    const intervalMs = toIntervalMs(perSecond)
    if (intervalMs === this.#intervalMs) return
    this.#intervalMs = intervalMs
    this.#nextFreeAtMs = 0
  }

  /** Returns the wait of a new client in milliseconds; undefined: longer than the maximum. */
  reserveWaitMs(nowMs: number): number | undefined {
    const atMs = Math.max(nowMs, this.#nextFreeAtMs)
    const waitMs = Math.max(0, atMs + this.#intervalMs - nowMs - Math.max(burstMs, this.#intervalMs))
    if (waitMs > maxWaitMs) return undefined
    this.#nextFreeAtMs = atMs + this.#intervalMs
    return waitMs
  }
}

function toIntervalMs(perSecond: number | undefined): number {
  return perSecond === undefined ? 0 : 1_000 / perSecond
}
