// Tries the preferred server while another one is used, and changes to it when it responds.

import type { ByteStream } from '../../transports/index.ts'
import type { ReconnectBackoff } from './reconnect-backoff.ts'
import type { BridgeDependencies, Dialing } from '../model/bridge-dependencies.ts'

export interface PreferredServerDependencies {
  readonly backoff: ReconnectBackoff
  /** See `BridgeConnector.dial`. */
  readonly link: object
  /** Called when the preferred server accepted a connection: `stream` is that connection. */
  change(stream: ByteStream): void
  /** Called when `dueAtMs` has changed. */
  scheduleTick(): void
}

export class PreferredServer {
  readonly #dependencies: Pick<BridgeDependencies, 'connector' | 'nowMs'>
  readonly #parts: PreferredServerDependencies
  #dialing: Dialing | undefined
  /** Time of the next attempt; Infinity: no attempt is planned, or one is in progress. */
  dueAtMs: number

  constructor(dependencies: Pick<BridgeDependencies, 'connector' | 'nowMs'>, parts: PreferredServerDependencies) {
    this.#dependencies = dependencies
    this.#parts = parts
    this.dueAtMs = this.#nextAtMs()
  }

  checkIfDue(nowMs: number): void {
    if (nowMs < this.dueAtMs) return
    const { backoff, link } = this.#parts
    this.dueAtMs = Infinity
    this.#dialing = this.#dependencies.connector.dial(backoff.preferred, link, {
      onOpen: (stream) => {
        this.#dialing = undefined
        this.#parts.change(stream)
      },
      onProblem: () => {
        this.#dialing = undefined
        this.dueAtMs = this.#nextAtMs()
        this.#parts.scheduleTick()
      },
    })
  }

  closeLinks(): void {
    this.#dialing?.abandon()
  }

  #nextAtMs(): number {
    return this.#dependencies.nowMs() + (this.#parts.backoff.nextPreferredRetryMs() ?? Infinity)
  }
}
