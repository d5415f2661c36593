// Counts delays in buckets of one microsecond: exact enough for percentiles, and no garbage while measuring.

const longestUs = 10_000_000

export class Latencies {
  readonly #buckets: Uint32Array
  #count: number
  #longestMs: number

  constructor() {
    this.#buckets = new Uint32Array(longestUs + 1)
    this.#count = 0
    this.#longestMs = 0
  }

  add(delayMs: number): void {
    const bucket = Math.min(longestUs, Math.max(0, Math.round(delayMs * 1_000)))
    this.#buckets[bucket]++
    this.#count++
    if (delayMs > this.#longestMs) this.#longestMs = delayMs
  }

  clear(): void {
    this.#buckets.fill(0)
    this.#count = 0
    this.#longestMs = 0
  }

  get longestMs(): number {
    return this.#longestMs
  }

  /** `share` of 0.99 is the delay that 99 of 100 messages did not exceed. 0 when nothing was counted. */
  percentileMs(share: number): number {
    let left = this.#count * share
    for (let bucket = 0; bucket <= longestUs; bucket++) {
      left -= this.#buckets[bucket]
      if (left < 0) return bucket / 1_000
    }
    return this.#longestMs
  }
}
