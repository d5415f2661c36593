// Rate limit of one client: a token bucket that fills evenly and holds the tokens of one second. A message is always
// accepted, even if it makes the bucket negative; the next message waits until the bucket has tokens again.
//
//   tokens:  perSecond ─── full: a burst of one second is allowed
//            below 0   ─── reading from the client pauses until the bucket has tokens for `smallestRefillMs`, so that
//                          reading does not pause and resume for every message

/** After a pause a client may send for at least this time. */
const smallestRefillMs = 50

export interface RemainingRate {
  readonly perSecond: number
  /** Tokens left. */
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

  computeRemaining(nowMs: number): RemainingRate {
    const filled = this.#tokens + ((nowMs - this.#atMs) * this.#perSecond) / 1_000
    return { perSecond: this.#perSecond, left: Math.floor(Math.max(0, Math.min(this.#perSecond, filled))) }
  }

  /** Takes tokens. Returns the time in milliseconds for which reading must pause; 0: none. */
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

  /** Undefined: no limit. */
  computeRemaining(nowMs: number): {
    readonly messages: RemainingRate | undefined
    readonly bytes: RemainingRate | undefined
  } {
    return { messages: this.#messages?.computeRemaining(nowMs), bytes: this.#bytes?.computeRemaining(nowMs) }
  }

  /** Counts one message of this size. Returns the time in milliseconds for which reading must pause; 0: none. */
  take(bytes: number, nowMs: number): number {
    return Math.max(this.#messages?.take(1, nowMs) ?? 0, this.#bytes?.take(bytes, nowMs) ?? 0)
  }
}

/** Returns undefined if there is no limit. */
export function createRateLimiter(
  listener: { readonly messagesPerSecond?: number | undefined; readonly bytesPerSecond?: number | undefined },
  nowMs: number,
): RateLimiter | undefined {
  const { messagesPerSecond, bytesPerSecond } = listener
  if (messagesPerSecond === undefined && bytesPerSecond === undefined) return undefined
  return new RateLimiter({ messagesPerSecond, bytesPerSecond }, nowMs)
}

/** Rate limits of the messages to one client, and of its subscriptions; undefined: no limit. */
export interface SendLimits {
  readonly deliveries: RateLimiter | undefined
  readonly subscriptions: RateLimiter | undefined
}

/** Returns undefined if the listener has neither limit. Then nothing is counted. */
export function createSendLimits(
  {
    deliveriesPerSecond,
    subscriptionsPerSecond,
  }: { readonly deliveriesPerSecond?: number | undefined; readonly subscriptionsPerSecond?: number | undefined },
  nowMs: number,
): SendLimits | undefined {
  const [deliveries, subscriptions] = [deliveriesPerSecond, subscriptionsPerSecond].map((messagesPerSecond) =>
    createRateLimiter({ messagesPerSecond }, nowMs),
  )
  return deliveries === undefined && subscriptions === undefined ? undefined : { deliveries, subscriptions }
}
