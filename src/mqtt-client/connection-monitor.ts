// Checks an open connection: the remote broker must send packets, and acknowledge messages.

import { type AckProgress, AckMonitor, type AckTimeout } from './ack-timeout.ts'
import { KeepAlive } from './keep-alive.ts'

export interface ConnectionState extends AckProgress {
  /** Reading is paused, so no packet can arrive. */
  readonly isHeld: boolean
}

/** If not `sendsPing`, the connection has failed; `why` is the reason. */
export type MonitorResult = { readonly sendsPing: true } | { readonly sendsPing: false; readonly why: string }

export class ConnectionMonitor {
  #keepAlive: KeepAlive | undefined
  readonly #acks = new AckMonitor()

  /** A connection starts. `ackTimeout` undefined: no timeout. */
  begin(
    { ackTimeout }: { readonly ackTimeout: AckTimeout | undefined },
    keepAliveSeconds: number,
    nowMs: number,
  ): void {
    this.#keepAlive = new KeepAlive(keepAliveSeconds, nowMs)
    this.#acks.begin(ackTimeout, nowMs)
  }

  end(): void {
    this.#keepAlive = undefined
    this.#acks.end()
  }

  /** When `check` must be called; Infinity: never. */
  get dueAtMs(): number {
    return Math.min(this.#keepAlive?.dueAtMs ?? Infinity, this.#acks.dueAtMs)
  }

  recordReceived(nowMs: number): void {
    this.#keepAlive?.recordReceived(nowMs)
  }

  /** Undefined: no problem. */
  check(connection: ConnectionState, nowMs: number): MonitorResult | undefined {
    if (nowMs >= this.#acks.dueAtMs && this.#acks.isStalled(connection, nowMs))
      return { sendsPing: false, why: 'the remote broker acknowledges no message' }
    const keepAlive = this.#keepAlive
    if (keepAlive === undefined || nowMs < keepAlive.dueAtMs) return undefined
    if (connection.isHeld) keepAlive.recordReceived(nowMs)
    if (keepAlive.check(nowMs) === 'send-ping') return { sendsPing: true }
    return { sendsPing: false, why: 'the remote broker is silent for longer than the keep alive' }
  }
}
