// Sign-ins that failed, in the log: a few lines a minute, and then how many more there were, so that whoever guesses by the
// thousand does not fill the disk. What was shown to come in is in no line, and no token is: it may be good elsewhere.

import type { Log } from '../telemetry/index.ts'

export interface FailedSignIn {
  /** undefined: a token was shown. */
  readonly name: string | undefined
  readonly address: string
}

const linesInARow = 5
const lineIntervalMs = 10_000
/** Of a name that was typed. */
const longestName = 64

export class FailedSignIns {
  readonly #log: Log
  readonly #nowMs: () => number
  /** As many as may be written now; another one comes with each interval. */
  #lines: number
  #countedAtMs: number
  #untold: number

  /** `nowMs` is a clock that never goes back. */
  constructor(log: Log, nowMs: () => number) {
    this.#log = log
    this.#nowMs = nowMs
    this.#lines = linesInARow
    this.#countedAtMs = nowMs()
    this.#untold = 0
  }

  note({ name, address }: FailedSignIn): void {
    const intervals = Math.floor((this.#nowMs() - this.#countedAtMs) / lineIntervalMs)
    this.#countedAtMs += intervals * lineIntervalMs
    this.#lines = Math.min(linesInARow, this.#lines + intervals)
    if (this.#lines === 0) {
      this.#untold += 1
      return
    }
    this.#lines -= 1
    const who = name === undefined ? { by: 'token' } : { by: 'password', name: name.slice(0, longestName) }
    this.#log.warn('a sign-in to the API failed', { ...who, address, untoldBefore: this.#untold })
    this.#untold = 0
  }
}
