// Decides when a bridge connects again, and to which server of its list. The first server is the preferred one, the others
// are fallback servers.

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
  #serverIndex = 0
  #failures = 0
  #preferredPauseMs = firstPreferredRetryMs

  constructor(servers: readonly string[], maxPauseMs: number, random: () => number) {
    this.#servers = servers
    this.#maxPauseMs = maxPauseMs
    this.#random = random
  }

  get server(): string {
    return this.#servers[this.#serverIndex]
  }

  /** Consecutive failures. */
  get failures(): number {
    return this.#failures
  }

  /** The current server has failed. Returns the pause before the next attempt, half of it random. */
  recordFailure(): number {
    this.#failures++
    const wasPreferred = this.#serverIndex === 0
    this.#serverIndex = (this.#serverIndex + 1) % this.#servers.length
    const round = Math.floor((this.#failures - 1) / this.#servers.length)
    // The first change from the preferred server to a fallback server is immediate.
    if (this.#serverIndex !== 0 && wasPreferred && this.#failures === 1) return 0
    const pauseMs = Math.min(this.#maxPauseMs, firstPauseMs * 2 ** Math.min(round, 16))
    return pauseMs * (0.5 + this.#random() / 2)
  }

  /** The current connection is stable: the next failure counts as the first one. */
  recordStable(): void {
    this.#failures = 0
  }

  /**
   * Returns the delay until the preferred server is tried while the current connection stays open. Undefined if the preferred
   * server is the current one, or does not use QUIC.
   */
  nextPreferredRetryMs(): number | undefined {
    if (this.#serverIndex === 0 || !this.#servers[0].startsWith('mqtt-quic')) return undefined
    const pauseMs = this.#preferredPauseMs
    this.#preferredPauseMs = Math.min(maxPreferredRetryMs, pauseMs * 2)
    return pauseMs
  }

  get preferred(): string {
    return this.#servers[0]
  }

  /** Uses the preferred server from now on. */
  switchToPreferred(): void {
    this.#serverIndex = 0
    this.#preferredPauseMs = firstPreferredRetryMs
  }
}
