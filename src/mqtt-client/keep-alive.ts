// Monitors the remote broker: sends a ping after three quarters of the keep alive, and disconnects after 1.5 times the
// keep alive without a packet.

/** Parts of the keep alive. */
const pingAfter = 0.75
const timeoutAfter = 1.5
const msPerSecond = 1_000

/**
 * Returns the shorter keep alive in seconds, 0 for none. The remote broker's value is valid for it [MQTT5-3.2.2-21]; a
 * failure must be detected no later than configured.
 */
export function selectShorterKeepAlive(ownSeconds: number, serverSeconds: number | undefined): number {
  if (serverSeconds === undefined || serverSeconds === 0) return ownSeconds
  return ownSeconds === 0 ? serverSeconds : Math.min(ownSeconds, serverSeconds)
}

export class KeepAlive {
  readonly #intervalMs: number
  #receivedAtMs: number
  #pingAtMs: number

  /** `seconds`: 0 for none. */
  constructor(seconds: number, nowMs: number) {
    this.#intervalMs = seconds * msPerSecond
    this.#receivedAtMs = nowMs
    this.#pingAtMs = seconds === 0 ? Infinity : nowMs + this.#intervalMs * pingAfter
  }

  /** When `check` must be called next. */
  get dueAtMs(): number {
    return this.#pingAtMs
  }

  recordReceived(nowMs: number): void {
    this.#receivedAtMs = nowMs
  }

  /** Called when due. Returns what to do. */
  check(nowMs: number): 'send-ping' | 'disconnect' {
    const deadAtMs = this.#receivedAtMs + this.#intervalMs * timeoutAfter
    if (nowMs >= deadAtMs) return 'disconnect'
    this.#pingAtMs = Math.min(nowMs + this.#intervalMs * pingAfter, deadAtMs)
    return 'send-ping'
  }
}
