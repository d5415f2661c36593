// How much one client may send: a bucket that fills evenly and holds what may be sent in one second. A message is taken
// as it comes, even where it leaves less than nothing in the bucket; the next one waits until that is made up for.
//
//   tokens:  perSecond ─── full: a burst of one second may come at once
//            0         ─── from here on the client is not read from ...
//            below     ─── ... until the bucket has a little again (`smallestRefillMs`), so that it does not stop and go
//                          for every message

/** A client that was stopped may send for so long when it goes on. */
const smallestRefillMs = 50

export interface RemainingRate {
  readonly perSecond: number
  /** What may come at once. */
  readonly left: number
}

class Bucket {
  readonly #perSecond: number
  #tokens: number
  #atMs: number

  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond
    this.#tokens = perSecond
    this.#atMs = nowMs
  }

  left(nowMs: number): RemainingRate {
    const filled = this.#tokens + ((nowMs - this.#atMs) * this.#perSecond) / 1_000
    return { perSecond: this.#perSecond, left: Math.floor(Math.max(0, Math.min(this.#perSecond, filled))) }
  }

  /** For how long nothing more may come, in milliseconds; 0: it may. */
  take(amount: number, nowMs: number): number {
    const filled = this.#tokens + ((nowMs - this.#atMs) * this.#perSecond) / 1_000
    this.#atMs = nowMs
    this.#tokens = Math.min(this.#perSecond, filled) - amount
    return this.#tokens >= 0 ? 0 : (-this.#tokens * 1_000) / this.#perSecond + smallestRefillMs
  }
}

export class RateLimiter {
  readonly #messages: Bucket | undefined
  readonly #bytes: Bucket | undefined

  constructor(
    limits: { readonly messagesPerSecond: number | undefined; readonly bytesPerSecond: number | undefined },
    nowMs: number,
  ) {
    const { messagesPerSecond, bytesPerSecond } = limits
    this.#messages = messagesPerSecond === undefined ? undefined : new Bucket(messagesPerSecond, nowMs)
    this.#bytes = bytesPerSecond === undefined ? undefined : new Bucket(bytesPerSecond, nowMs)
  }

  /** undefined: no limit. */
  left(nowMs: number): { readonly messages: RemainingRate | undefined; readonly bytes: RemainingRate | undefined } {
    return { messages: this.#messages?.left(nowMs), bytes: this.#bytes?.left(nowMs) }
  }

  /** One message of so many bytes. For how long nothing more may come, in milliseconds; 0: it may. */
  take(bytes: number, nowMs: number): number {
    return Math.max(this.#messages?.take(1, nowMs) ?? 0, this.#bytes?.take(bytes, nowMs) ?? 0)
  }
}

/** Undefined where there is no limit, and nothing is counted. */
export function rateLimiterFor(
  listener: { readonly messagesPerSecond?: number | undefined; readonly bytesPerSecond?: number | undefined },
  nowMs: number,
): RateLimiter | undefined {
  const { messagesPerSecond, bytesPerSecond } = listener
  if (messagesPerSecond === undefined && bytesPerSecond === undefined) return undefined
  return new RateLimiter({ messagesPerSecond, bytesPerSecond }, nowMs)
}
