// Failures of one plugin on one shard. After `maxFailures` in a row its hooks are not called; after `retryAfterMs`, one call decides.
//
//   closed --max_failures--> open --retry_after--> trying --success--> closed
//                             ^----------failure------'

export interface BreakerLimits {
  readonly maxFailures: number
  readonly retryAfterMs: number
}

export class FailureBreaker {
  #state: 'closed' | 'open' | 'trying' = 'closed'
  #failuresInARow = 0
  #openUntilMs = 0

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  /** Returns whether a call may be made now. A call that is allowed while the breaker is not closed decides alone. */
  allowsCall(nowMs: number): boolean {
    if (this.#state === 'closed') return true
    if (this.#state === 'trying' || nowMs < this.#openUntilMs) return false
    this.#state = 'trying'
    return true
  }

  /** Returns true if the breaker was not closed and is now. */
  recordSuccess(): boolean {
    this.#failuresInARow = 0
    const wasClosed = this.#state === 'closed'
    // A late success of a call from before does not decide.
    if (this.#state === 'trying') this.#state = 'closed'
    return !wasClosed && this.#state === 'closed'
  }

  /** Returns true if the breaker was closed and is open now. */
  recordFailure({ maxFailures, retryAfterMs }: BreakerLimits, nowMs: number): boolean {
    this.#failuresInARow++
    if (this.#state === 'closed' && this.#failuresInARow < maxFailures) return false
    const wasClosed = this.#state === 'closed'
    this.#state = 'open'
    this.#openUntilMs = nowMs + retryAfterMs
    return wasClosed
  }
}
