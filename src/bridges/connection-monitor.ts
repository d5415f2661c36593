// Whether a connection that is open is good for anything: the remote broker gives signs of life, and answers messages.

import { KeepAlive } from './keep-alive.ts'
import { type AckTimeout, type AckProgress, AckMonitor } from './ack-timeout.ts'

export interface ConnectionState extends AckProgress {
  /** It is not read at the moment: whoever is not read cannot be heard. */
  readonly isHeld: boolean
}

/** `ask`: for a sign of life. Else the connection is good for nothing, and why. */
export type MonitorResult = { readonly ask: true } | { readonly ask: false; readonly why: string }

export class ConnectionMonitor {
  #keepAlive: KeepAlive | undefined
  readonly #acks = new AckMonitor()

  /** A connection begins. `answerPatience`: undefined for any. */
  begin(
    { answerPatience }: { readonly answerPatience: AckTimeout | undefined },
    keepAliveSeconds: number,
    nowMs: number,
  ): void {
    this.#keepAlive = new KeepAlive(keepAliveSeconds, nowMs)
    this.#acks.begin(answerPatience, nowMs)
  }

  end(): void {
    this.#keepAlive = undefined
    this.#acks.end()
  }

  /** When `look` is to be called; Infinity: not. */
  get dueAtMs(): number {
    return Math.min(this.#keepAlive?.dueAtMs ?? Infinity, this.#acks.dueAtMs)
  }

  noteHeard(nowMs: number): void {
    this.#keepAlive?.noteHeard(nowMs)
  }

  /** Undefined: all is well. */
  check(connection: ConnectionState, nowMs: number): MonitorResult | undefined {
    if (nowMs >= this.#acks.dueAtMs && this.#acks.isStalled(connection, nowMs))
      return { ask: false, why: 'the remote broker answers no message' }
    const keepAlive = this.#keepAlive
    if (keepAlive === undefined || nowMs < keepAlive.dueAtMs) return undefined
    if (connection.isHeld) keepAlive.noteHeard(nowMs)
    if (keepAlive.check(nowMs) === 'ask') return { ask: true }
    return { ask: false, why: 'the remote broker is silent for longer than the keep alive' }
  }
}
