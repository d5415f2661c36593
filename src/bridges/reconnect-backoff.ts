// Decides when and to which server the next attempt is made.

const firstPauseMs = 500
/** After a connection of this duration the backoff starts again. */
export const stableAfterMs = 10_000
/** While a fallback server is used, the preferred server (if it uses QUIC) is tried after this time, then after increasing times. */
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

  /** Consecutive failures. */
  get failures(): number {
    return this.#failures
  }

  /** The current server has failed. Returns the pause before the next attempt, half of it random. */
  fail(): number {
    this.#failures++
    const wasPreferred = this.#at === 0
    this.#at = (this.#at + 1) % this.#servers.length
    const round = Math.floor((this.#failures - 1) / this.#servers.length)
    // Changes to a fallback server are immediate.
    if (this.#at !== 0 && wasPreferred && this.#failures === 1) return 0
    const pauseMs = Math.min(this.#maxPauseMs, firstPauseMs * 2 ** Math.min(round, 16))
    return pauseMs * (0.5 + this.#random() / 2)
  }

  /** The current connection has lasted. */
  recordStable(): void {
    this.#failures = 0
  }

  /**
   * Returns the delay until the preferred server is tried while the current connection stays open; undefined: it is the current
   * server, or does not use QUIC.
   */
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
