// Counts durations in buckets of exponentially growing size: percentiles are exact within 3 %, in constant memory.

const bucketsPerDoubling = 32
const bucketCount = 64 * bucketsPerDoubling

export class LatencyHistogram {
  readonly #counts = new Float64Array(bucketCount)
  #count = 0
  #maxMs = 0

  get count(): number {
    return this.#count
  }

  get maxMs(): number {
    return this.#maxMs
  }

  recordLatency(ms: number): void {
    const us = Math.max(1, ms * 1_000)
    const bucket = Math.min(bucketCount - 1, Math.floor(Math.log2(us) * bucketsPerDoubling))
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#count += 1
    if (ms > this.#maxMs) this.#maxMs = ms
  }

  /** Returns a percentile in milliseconds, such as 0.99 for `share`; 0 if nothing was measured. */
  computePercentileMs(share: number): number {
    let remaining = this.#count * share
    if (this.#count === 0) return 0
    for (const [bucket, count] of this.#counts.entries()) {
      remaining -= count
      if (remaining <= 0) return Math.min(this.#maxMs, 2 ** ((bucket + 1) / bucketsPerDoubling) / 1_000)
    }
    return this.#maxMs
  }
}
