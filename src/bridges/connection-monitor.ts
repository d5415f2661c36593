// Whether a connection that is open is good for anything: the remote broker gives signs of life, and answers messages.

import { KeepAlive } from './keep-alive.ts'
import { type AnswerPatience, type AnswersSoFar, StallWatch } from './ack-timeout.ts'

export interface ConnectionLook extends AnswersSoFar {
  /** It is not read at the moment: whoever is not read cannot be heard. */
  readonly isHeld: boolean
}

/** `ask`: for a sign of life. Else the connection is good for nothing, and why. */
export type LookFound = { readonly ask: true } | { readonly ask: false; readonly why: string }

export class ConnectionWatch {
  #keepAlive: KeepAlive | undefined
  readonly #stalls = new StallWatch()

  /** A connection begins. `answerPatience`: undefined for any. */
  begin(
    { answerPatience }: { readonly answerPatience: AnswerPatience | undefined },
    keepAliveSeconds: number,
    nowMs: number,
  ): void {
    this.#keepAlive = new KeepAlive(keepAliveSeconds, nowMs)
    this.#stalls.begin(answerPatience, nowMs)
  }

  end(): void {
    this.#keepAlive = undefined
    this.#stalls.end()
  }

  /** When `look` is to be called; Infinity: not. */
  get dueAtMs(): number {
    return Math.min(this.#keepAlive?.dueAtMs ?? Infinity, this.#stalls.dueAtMs)
  }

  noteHeard(nowMs: number): void {
    this.#keepAlive?.noteHeard(nowMs)
  }

  /** Undefined: all is well. */
  look(connection: ConnectionLook, nowMs: number): LookFound | undefined {
    if (nowMs >= this.#stalls.dueAtMs && this.#stalls.isStalled(connection, nowMs))
      return { ask: false, why: 'the remote broker answers no message' }
    const keepAlive = this.#keepAlive
    if (keepAlive === undefined || nowMs < keepAlive.dueAtMs) return undefined
    if (connection.isHeld) keepAlive.noteHeard(nowMs)
    if (keepAlive.look(nowMs) === 'ask') return { ask: true }
    return { ask: false, why: 'the remote broker is silent for longer than the keep alive' }
  }
}
