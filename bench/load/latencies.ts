// Counts delays in buckets of one microsecond: exact enough for percentiles, and no garbage while measuring.

const maxUs = 10_000_000

export class Latencies {
  readonly #buckets: Uint32Array
  #count: number
  #maxMs: number

  constructor() {
    this.#buckets = new Uint32Array(maxUs + 1)
    this.#count = 0
    this.#maxMs = 0
  }

  add(delayMs: number): void {
    const bucket = Math.min(maxUs, Math.max(0, Math.round(delayMs * 1_000)))
    this.#buckets[bucket]++
    this.#count++
    if (delayMs > this.#maxMs) this.#maxMs = delayMs
  }

  clear(): void {
    this.#buckets.fill(0)
    this.#count = 0
    this.#maxMs = 0
  }

  get maxMs(): number {
    return this.#maxMs
  }

  /** `share` of 0.99 is the delay that 99 of 100 messages did not exceed. 0 when nothing was counted. */
  percentileMs(share: number): number {
    let left = this.#count * share
    for (let bucket = 0; bucket <= maxUs; bucket++) {
      left -= this.#buckets[bucket]
      if (left < 0) return bucket / 1_000
    }
    return this.#maxMs
  }
}
