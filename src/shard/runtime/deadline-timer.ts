// The only timer of a shard, set to the next deadline of its core.
//
// Timers run before received data: after a pause of the whole process, every client would seem silent. So the timer
// only requests a turn, at whose end deadlines are checked.

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

  /** The time has come since the last `begin`. */
  get isDue(): boolean {
    return this.#isDue
  }

  /** `atMs` Infinity: no deadline. If it is later than the set time, the timer fires early and is set again then. */
  setFor(atMs: number, nowMs: () => number): void {
    if (atMs >= this.#atMs || atMs === Infinity) return
    clearTimeout(this.#timer)
    this.#atMs = atMs
    this.#timer = setTimeout(() => this.#ring(), Math.min(maxTimerMs, Math.max(1, atMs - nowMs())))
  }

  /** The deadlines are being checked. */
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
