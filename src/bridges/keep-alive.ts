// Whether the remote broker is still there: asked for a sign of life when three quarters of the keep alive have passed, and
// given up when nothing has come for one and a half.

/** Parts of the keep alive. */
const pingAfter = 0.75
const timeoutAfter = 1.5
const msPerSecond = 1_000

/**
 * How often the remote broker is heard at least, in seconds, 0 for never. What it says holds for it [MQTT5-3.2.2-21]; we want to know
 * no later than was configured whether it is there.
 */
export function shorterKeepAlive(ownSeconds: number, saidSeconds: number | undefined): number {
  if (saidSeconds === undefined || saidSeconds === 0) return ownSeconds
  return ownSeconds === 0 ? saidSeconds : Math.min(ownSeconds, saidSeconds)
}

export class KeepAlive {
  readonly #intervalMs: number
  #heardAtMs: number
  #askAtMs: number

  /** `seconds`: 0 for none. */
  constructor(seconds: number, nowMs: number) {
    this.#intervalMs = seconds * msPerSecond
    this.#heardAtMs = nowMs
    this.#askAtMs = seconds === 0 ? Infinity : nowMs + this.#intervalMs * pingAfter
  }

  /** When `look` is to be asked next. */
  get dueAtMs(): number {
    return this.#askAtMs
  }

  noteHeard(nowMs: number): void {
    this.#heardAtMs = nowMs
  }

  /** When it is due: what is to be done. */
  check(nowMs: number): 'ask' | 'give-up' {
    const deadAtMs = this.#heardAtMs + this.#intervalMs * timeoutAfter
    if (nowMs >= deadAtMs) return 'give-up'
    this.#askAtMs = Math.min(nowMs + this.#intervalMs * pingAfter, deadAtMs)
    return 'ask'
  }
}
