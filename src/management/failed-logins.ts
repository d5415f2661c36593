// Sign-ins that failed, in the log: a few lines a minute, and then how many more there were, so that whoever guesses by the
// thousand does not fill the disk. What was shown to come in is in no line, and no token is: it may be good elsewhere.

import type { Log } from '../telemetry/index.ts'

/** By password, or by a token and what is wrong with that. */
export type FailedLogin =
  | { readonly name: string; readonly address: string }
  | { readonly reason: string; readonly address: string }

const maxLineBurst = 5
const lineIntervalMs = 10_000
/** Of a name that was typed. */
const maxNameLength = 64

export class FailedLogins {
  readonly #log: Log
  readonly #nowMs: () => number
  /** As many as may be written now; another one comes with each interval. */
  #lines: number
  #countedAtMs: number
  #suppressed: number

  /** `nowMs` is a clock that never goes back. */
  constructor(log: Log, nowMs: () => number) {
    this.#log = log
    this.#nowMs = nowMs
    this.#lines = maxLineBurst
    this.#countedAtMs = nowMs()
    this.#suppressed = 0
  }

  note(failed: FailedLogin): void {
    const intervals = Math.floor((this.#nowMs() - this.#countedAtMs) / lineIntervalMs)
    this.#countedAtMs += intervals * lineIntervalMs
    this.#lines = Math.min(maxLineBurst, this.#lines + intervals)
    if (this.#lines === 0) {
      this.#suppressed += 1
      return
    }
    this.#lines -= 1
    const { address } = failed
    const who =
      'reason' in failed
        ? { by: 'token', reason: failed.reason }
        : { by: 'password', name: failed.name.slice(0, maxNameLength) }
    this.#log.warn('API login failed', { ...who, address, untoldBefore: this.#suppressed })
    this.#suppressed = 0
  }
}
