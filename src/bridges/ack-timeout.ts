// Whether the remote broker has stopped answering messages, though it is there. Slow is not stalled: an answer to any message,
// and bytes of ours that have not left yet, begin the time anew.

/** Of the time after which nothing is waited for any longer: how often it is looked. */
const checksPerWait = 4

export interface AckTimeout {
  /** A message waits so long for its answer while none comes at all. */
  readonly waitMs: number
  /** Between two times that the connection is renewed for it. */
  readonly intervalMs: number
}

/** How far the connection has come. */
export interface AckProgress {
  /** Messages without their answer. */
  readonly inFlight: number
  readonly answers: number
  readonly unsentBytes: number
}

export class AckMonitor {
  #timeout: AckTimeout | undefined = undefined
  /** The connection may not be renewed before. */
  #notBeforeMs = -Infinity
  #sinceMs = 0
  #answers = 0
  /** When `isStalled` is to be asked next; Infinity: never. */
  dueAtMs = Infinity

  /** A connection begins. `patience`: undefined for any. */
  begin(timeout: AckTimeout | undefined, nowMs: number): void {
    this.#timeout = timeout
    this.#sinceMs = nowMs
    this.#answers = 0
    this.#scheduleNext(nowMs)
  }

  end(): void {
    this.dueAtMs = Infinity
  }

  /** When it is due. True: the connection is to be renewed. */
  isStalled({ inFlight, answers, unsentBytes }: AckProgress, nowMs: number): boolean {
    const timeout = this.#timeout
    if (timeout === undefined) return false
    if (inFlight === 0 || answers !== this.#answers || unsentBytes > 0) this.#sinceMs = nowMs
    this.#answers = answers
    this.#scheduleNext(nowMs)
    if (nowMs - this.#sinceMs < timeout.waitMs || nowMs < this.#notBeforeMs) return false
    this.#notBeforeMs = nowMs + timeout.intervalMs
    return true
  }

  #scheduleNext(nowMs: number): void {
    if (this.#timeout !== undefined) this.dueAtMs = nowMs + Math.ceil(this.#timeout.waitMs / checksPerWait)
  }
}
