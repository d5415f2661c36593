// Measures how fast a client acknowledges. A fast client acknowledges about as quickly as the disk commits.
//
// Only the fastest acknowledgement of the last seconds counts: others waited for earlier messages or for a processor.

/** A client with this latency is fast, regardless of the disk. */
const nearAckMs = 2
/** Maximum time for which the write of a message for a fast client is delayed. */
export const maxAckDelayMs = 20
/** The fastest acknowledgement is remembered for one to two such intervals. */
const rememberedMs = 5_000

export class AckLatency {
  #quickestMs = Infinity
  #quickestBeforeMs = Infinity
  #sinceMs = -Infinity

  /** The client acknowledged a message after this time. */
  record(latencyMs: number, nowMs: number): void {
    if (nowMs - this.#sinceMs >= rememberedMs) {
      this.#quickestBeforeMs = this.#quickestMs
      this.#quickestMs = latencyMs
      this.#sinceMs = nowMs
    } else if (latencyMs < this.#quickestMs) this.#quickestMs = latencyMs
  }

  /** `commitMs` is the current commit time. Returns false if the client is slower, or if nothing is known. */
  isNear(commitMs: number): boolean {
    const quickestMs = Math.min(this.#quickestMs, this.#quickestBeforeMs)
    return quickestMs <= Math.min(maxAckDelayMs, Math.max(nearAckMs, commitMs))
  }
}
