// The server that is liked best is looked for beside the present one, which goes on until the other answers.

import type { ByteStream } from '../transports/index.ts'
import type { ReconnectBackoff } from './reconnect-backoff.ts'
import type { BridgeDependencies, Dialing } from './world.ts'

export interface PreferredServerDependencies {
  readonly backoff: ReconnectBackoff
  /** See `BridgeConnector.dial`. */
  readonly link: object
  /** It answers: the stream is to it. */
  change(stream: ByteStream): void
  /** `dueAtMs` is another one. */
  scheduleTick(): void
}

export class PreferredServer {
  readonly #dependencies: Pick<BridgeDependencies, 'connector' | 'nowMs'>
  readonly #parts: PreferredServerDependencies
  #dialing: Dialing | undefined
  /** When it is looked for next; Infinity: never, or just now. */
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
    return this.#dependencies.nowMs() + (this.#parts.backoff.preferredAfterMs() ?? Infinity)
  }
}
