// Times between attempts.

/** Doubles with each failure, from `minMs` to `maxMs`. */
export class Backoff {
  readonly #minMs: number
  readonly #maxMs: number
  #nextMs: number

  constructor(minMs: number, maxMs: number) {
    this.#minMs = minMs
    this.#maxMs = maxMs
    this.#nextMs = minMs
  }

  /** Returns the time to wait after a failure. */
  recordFailure(): number {
    const waitMs = this.#nextMs
    this.#nextMs = Math.min(this.#maxMs, waitMs * 2)
    return waitMs
  }

  recordSuccess(): void {
    this.#nextMs = this.#minMs
  }
}
