// When the next attempt is made, and to which server.

const firstPauseMs = 500
/** A connection that lasted so long was a good one: what comes after it begins anew. */
export const stableAfterMs = 10_000
/** QUIC is tried again after so long, and then after ever longer. */
const firstPreferredRetryMs = 60_000
const maxPreferredRetryMs = 600_000

export class ReconnectBackoff {
  readonly #servers: readonly string[]
  readonly #maxPauseMs: number
  readonly #random: () => number
  #at = 0
  #failures = 0
  #preferredPauseMs = firstPreferredRetryMs

  constructor(servers: readonly string[], maxPauseMs: number, random: () => number) {
    this.#servers = servers
    this.#maxPauseMs = maxPauseMs
    this.#random = random
  }

  get server(): string {
    return this.#servers[this.#at]
  }

  get attempts(): number {
    return this.#failures
  }

  /** The present server has failed. Gives the pause before the next is tried: half of it is a matter of chance. */
  fail(): number {
    this.#failures++
    const wasPreferred = this.#at === 0
    this.#at = (this.#at + 1) % this.#servers.length
    const round = Math.floor((this.#failures - 1) / this.#servers.length)
    // From server to server at once: that is what they are for.
    if (this.#at !== 0 && wasPreferred && this.#failures === 1) return 0
    const pauseMs = Math.min(this.#maxPauseMs, firstPauseMs * 2 ** Math.min(round, 16))
    return pauseMs * (0.5 + this.#random() / 2)
  }

  /** The present connection has lasted. */
  recordStable(): void {
    this.#failures = 0
  }

  /** When the preferred server is to be tried beside the present one; undefined: it is the present one, or is not QUIC. */
  preferredAfterMs(): number | undefined {
    if (this.#at === 0 || !this.#servers[0].startsWith('mqtt-quic')) return undefined
    const pauseMs = this.#preferredPauseMs
    this.#preferredPauseMs = Math.min(maxPreferredRetryMs, pauseMs * 2)
    return pauseMs
  }

  get preferred(): string {
    return this.#servers[0]
  }

  /** The preferred server answers again. */
  takePreferred(): void {
    this.#at = 0
    this.#preferredPauseMs = firstPreferredRetryMs
  }
}
