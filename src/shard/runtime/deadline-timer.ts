// The only timer of a shard, set to the next deadline of its core.
//
// Node.js runs timers before it delivers received data. So after a pause of the whole process, every client would seem silent. For
// that reason the timer only requests a turn; deadlines are checked at the end of the turn.

const maxTimerMs = 2_147_483_647

export class DeadlineTimer {
  #timer: NodeJS.Timeout | undefined
  #atMs = Infinity
  #isDue = false
  readonly #onDue: () => void

  /** `onDue` must start a turn soon. */
  constructor(onDue: () => void) {
    this.#onDue = onDue
  }

  /** True if the timer has fired since the last `begin`. */
  get isDue(): boolean {
    return this.#isDue
  }

  /** Sets the timer for `atMs`; Infinity: there is no deadline. If `atMs` is later than the set time, the timer fires early and is set again then. */
  schedule(atMs: number, nowMs: () => number): void {
    if (atMs >= this.#atMs || atMs === Infinity) return
    clearTimeout(this.#timer)
    this.#atMs = atMs
    this.#timer = setTimeout(() => this.#fire(), Math.min(maxTimerMs, Math.max(1, atMs - nowMs())))
  }

  /** Called before the deadlines are checked. */
  begin(): void {
    if (this.#isDue) this.#atMs = Infinity
    this.#isDue = false
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #fire(): void {
    this.#isDue = true
    this.#onDue()
  }
}
