// Whether the remote broker has stopped answering messages, though it is there. Slow is not stalled: an answer to any message,
// and bytes of ours that have not left yet, begin the time anew.

/** Of the time after which nothing is waited for any longer: how often it is looked. */
const looksInWait = 4

export interface AnswerPatience {
  /** A message waits so long for its answer while none comes at all. */
  readonly waitMs: number
  /** Between two times that the connection is renewed for it. */
  readonly intervalMs: number
}

/** How far the connection has come. */
export interface AnswersSoFar {
  /** Messages without their answer. */
  readonly inFlight: number
  readonly answers: number
  readonly unsentBytes: number
}

export class StallWatch {
  #patience: AnswerPatience | undefined = undefined
  /** The connection may not be renewed before. */
  #notBeforeMs = -Infinity
  #sinceMs = 0
  #answers = 0
  /** When `isStalled` is to be asked next; Infinity: never. */
  dueAtMs = Infinity

  /** A connection begins. `patience`: undefined for any. */
  begin(patience: AnswerPatience | undefined, nowMs: number): void {
    this.#patience = patience
    this.#sinceMs = nowMs
    this.#answers = 0
    this.#planNext(nowMs)
  }

  end(): void {
    this.dueAtMs = Infinity
  }

  /** When it is due. True: the connection is to be renewed. */
  isStalled({ inFlight, answers, unsentBytes }: AnswersSoFar, nowMs: number): boolean {
    const patience = this.#patience
    if (patience === undefined) return false
    if (inFlight === 0 || answers !== this.#answers || unsentBytes > 0) this.#sinceMs = nowMs
    this.#answers = answers
    this.#planNext(nowMs)
    if (nowMs - this.#sinceMs < patience.waitMs || nowMs < this.#notBeforeMs) return false
    this.#notBeforeMs = nowMs + patience.intervalMs
    return true
  }

  #planNext(nowMs: number): void {
    if (this.#patience !== undefined) this.dueAtMs = nowMs + Math.ceil(this.#patience.waitMs / looksInWait)
  }
}
