// How far away the client of a session is: who is near will have acknowledged about as soon as the disk would.
//
// Only the quickest answer of the last seconds tells: the others have waited, for those before them or for a processor.

/** Who answers within this is near, however quick the disk is. */
const nearAckMs = 2
/** So long what a near client is about to acknowledge may wait for that, instead of going to the disk at once. */
export const maxAckDelayMs = 20
/** What was quickest is known for so long, and as long again. */
const rememberedMs = 5_000

export class AckLatency {
  #quickestMs = Infinity
  #quickestBeforeMs = Infinity
  #sinceMs = -Infinity

  /** It has acknowledged what was sent so long ago. */
  note(answerMs: number, nowMs: number): void {
    if (nowMs - this.#sinceMs >= rememberedMs) {
      this.#quickestBeforeMs = this.#quickestMs
      this.#quickestMs = answerMs
      this.#sinceMs = nowMs
    } else if (answerMs < this.#quickestMs) this.#quickestMs = answerMs
  }

  /** `commitMs`: how long the disk takes now. False: it is farther away than that, or nobody knows yet. */
  isNear(commitMs: number): boolean {
    const quickestMs = Math.min(this.#quickestMs, this.#quickestBeforeMs)
    return quickestMs <= Math.min(maxAckDelayMs, Math.max(nearAckMs, commitMs))
  }
}
