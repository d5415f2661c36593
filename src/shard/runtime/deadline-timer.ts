// The one timer of a shard, set to the next deadline of its core.
//
// Timers come before what has arrived: after a standstill of the whole process every client would be found silent. So
// all that the timer does is to ask for a turn, at whose end the deadlines are looked at.

const longestTimerMs = 2_147_483_647

export class DeadlineTimer {
  #timer: NodeJS.Timeout | undefined
  #atMs = Infinity
  #isDue = false
  readonly #onDue: () => void

  /** `onDue` is to see to it that a turn ends soon. */
  constructor(onDue: () => void) {
    this.#onDue = onDue
  }

  /** Since the last `begin` the time has come. */
  get isDue(): boolean {
    return this.#isDue
  }

  /** `atMs` Infinity: no deadline. Later than what is set already: the timer comes too early, and is set anew then. */
  setFor(atMs: number, nowMs: () => number): void {
    if (atMs >= this.#atMs || atMs === Infinity) return
    clearTimeout(this.#timer)
    this.#atMs = atMs
    this.#timer = setTimeout(() => this.#ring(), Math.min(longestTimerMs, Math.max(1, atMs - nowMs())))
  }

  /** The deadlines are being looked at. */
  begin(): void {
    if (this.#isDue) this.#atMs = Infinity
    this.#isDue = false
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #ring(): void {
    this.#isDue = true
    this.#onDue()
  }
}
