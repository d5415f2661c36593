// Pauses between attempts: each is twice as long as the one before, up to a maximum, with a random part so that actions
// that failed together do not try again together.

export const maxBackoffMs = 30_000

export class Backoff {
  readonly #firstMs: number
  readonly #random: () => number
  #failures = 0

  constructor(firstMs: number, random: () => number) {
    this.#firstMs = firstMs
    this.#random = random
  }

  get failures(): number {
    return this.#failures
  }

  /** Returns the next pause. */
  computeNextMs(): number {
    const wholeMs = Math.min(maxBackoffMs, this.#firstMs * 2 ** Math.min(this.#failures++, 30))
    return wholeMs * (0.75 + this.#random() / 4)
  }

  reset(): void {
    this.#failures = 0
  }
}
