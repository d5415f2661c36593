// Measures the rate of a counter per second.

const secondsInFiveMinutes = 300

export interface Rates {
  /** Increase in the last second. */
  readonly rate: number
  /** Maximum increase in one second. */
  readonly rateMax: number
  /** Average per second over about five minutes; older seconds have less weight. */
  readonly rateLast5m: number
}

export class RateMeter {
  #rate = 0
  #rateMax = 0
  #rateLast5m = 0
  #before = 0

  /** Called once per second with the value of the counter. */
  recordSecond(count: number): void {
    this.#rate = Math.max(0, count - this.#before)
    this.#before = count
    this.#rateMax = Math.max(this.#rateMax, this.#rate)
    this.#rateLast5m += (this.#rate - this.#rateLast5m) / secondsInFiveMinutes
  }

  /** Called when the counter was set to zero. */
  reset(): void {
    this.#rate = this.#rateMax = this.#rateLast5m = this.#before = 0
  }

  readRates(): Rates {
    return { rate: this.#rate, rateMax: this.#rateMax, rateLast5m: this.#rateLast5m }
  }
}
