// How fast a counter grows.

const secondsInFiveMinutes = 300

export interface Rates {
  /** In the last second. */
  readonly rate: number
  /** In the fastest second. */
  readonly rateMax: number
  /** Average of five minutes, in which older seconds weigh less. */
  readonly rateLast5m: number
}

export class RateMeter {
  #rate = 0
  #rateMax = 0
  #rateLast5m = 0
  #before = 0

  /** A second has passed, and the counter is at `count`. */
  noteSecond(count: number): void {
    this.#rate = Math.max(0, count - this.#before)
    this.#before = count
    this.#rateMax = Math.max(this.#rateMax, this.#rate)
    this.#rateLast5m += (this.#rate - this.#rateLast5m) / secondsInFiveMinutes
  }

  /** The counter is zero again. */
  reset(): void {
    this.#rate = this.#rateMax = this.#rateLast5m = this.#before = 0
  }

  rates(): Rates {
    return { rate: this.#rate, rateMax: this.#rateMax, rateLast5m: this.#rateLast5m }
  }
}
