// Logs failed logins: a few lines per minute, and then the number of others, so that password guesses do not fill the
// disk. Lines contain no password and no token, which may be valid elsewhere.

import type { Log } from '../../telemetry/index.ts'

/** By password, or by token with the problem. */
export type FailedLogin =
  | { readonly name: string; readonly address: string }
  | { readonly reason: string; readonly address: string }

const maxLineBurst = 5
const lineIntervalMs = 10_000
/** Maximum length of a name. */
const maxNameLength = 64

export class FailedLogins {
  readonly #log: Log
  readonly #nowMs: () => number
  /** Lines that may be written now; one more per interval. */
  #lines: number
  #countedAtMs: number
  #suppressed: number

  /** `nowMs` never decreases. */
  constructor(log: Log, nowMs: () => number) {
    this.#log = log
    this.#nowMs = nowMs
    this.#lines = maxLineBurst
    this.#countedAtMs = nowMs()
    this.#suppressed = 0
  }

  record(failed: FailedLogin): void {
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
    this.#log.warn('API login failed', { ...who, address, suppressedBefore: this.#suppressed })
    this.#suppressed = 0
  }
}
