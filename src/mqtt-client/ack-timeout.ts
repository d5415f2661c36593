// Detects a remote broker that is connected but does not acknowledge. A slow one is not affected: each acknowledgement,
// and unsent bytes, restart the time.

/** Number of checks during the timeout. */
const checksPerWait = 4

/** Timeout of a remote broker that is connected but does not acknowledge. */
export interface AckTimeout {
  /** Maximum time for an acknowledgement while none arrives at all. */
  readonly waitMs: number
  /** Minimum time between two reconnects for this reason. */
  readonly intervalMs: number
}

/** Progress of the connection. */
export interface AckProgress {
  /** Unacknowledged messages. */
  readonly inFlight: number
  readonly receivedAcks: number
  readonly unsentBytes: number
}

export class AckMonitor {
  #timeout: AckTimeout | undefined = undefined
  /** Earliest time of the next reconnect. */
  #notBeforeMs = -Infinity
  #sinceMs = 0
  #receivedAcks = 0
  /** Next check; Infinity: never. */
  dueAtMs = Infinity

  /** A connection starts. `timeout` undefined: no timeout. */
  begin(timeout: AckTimeout | undefined, nowMs: number): void {
    this.#timeout = timeout
    this.#sinceMs = nowMs
    this.#receivedAcks = 0
    this.#scheduleNext(nowMs)
  }

  end(): void {
    this.dueAtMs = Infinity
  }

  /** Called when due. Returns true if the connection must be closed. */
  isStalled({ inFlight, receivedAcks, unsentBytes }: AckProgress, nowMs: number): boolean {
    const timeout = this.#timeout
    if (timeout === undefined) return false
    if (inFlight === 0 || receivedAcks !== this.#receivedAcks || unsentBytes > 0) this.#sinceMs = nowMs
    this.#receivedAcks = receivedAcks
    this.#scheduleNext(nowMs)
    if (nowMs - this.#sinceMs < timeout.waitMs || nowMs < this.#notBeforeMs) return false
    this.#notBeforeMs = nowMs + timeout.intervalMs
    return true
  }

  #scheduleNext(nowMs: number): void {
    if (this.#timeout !== undefined) this.dueAtMs = nowMs + Math.ceil(this.#timeout.waitMs / checksPerWait)
  }
}
