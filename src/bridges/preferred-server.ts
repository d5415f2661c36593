// The server that is liked best is looked for beside the present one, which goes on until the other answers.

import type { ByteStream } from '../transports/index.ts'
import type { Reconnection } from './reconnect-backoff.ts'
import type { BridgeWorld, Dialing } from './world.ts'

export interface PreferredServerParts {
  readonly reconnection: Reconnection
  /** See `BridgeConnector.dial`. */
  readonly link: object
  /** It answers: the stream is to it. */
  change(stream: ByteStream): void
  /** `dueAtMs` is another one. */
  plan(): void
}

export class PreferredServer {
  readonly #world: Pick<BridgeWorld, 'connector' | 'nowMs'>
  readonly #parts: PreferredServerParts
  #dialing: Dialing | undefined
  /** When it is looked for next; Infinity: never, or just now. */
  dueAtMs: number

  constructor(world: Pick<BridgeWorld, 'connector' | 'nowMs'>, parts: PreferredServerParts) {
    this.#world = world
    this.#parts = parts
    this.dueAtMs = this.#nextAtMs()
  }

  lookIfDue(nowMs: number): void {
    if (nowMs < this.dueAtMs) return
    const { reconnection, link } = this.#parts
    this.dueAtMs = Infinity
    this.#dialing = this.#world.connector.dial(reconnection.preferred, link, {
      onOpen: (stream) => {
        this.#dialing = undefined
        this.#parts.change(stream)
      },
      onProblem: () => {
        this.#dialing = undefined
        this.dueAtMs = this.#nextAtMs()
        this.#parts.plan()
      },
    })
  }

  leave(): void {
    this.#dialing?.abandon()
  }

  #nextAtMs(): number {
    return this.#world.nowMs() + (this.#parts.reconnection.preferredAfterMs() ?? Infinity)
  }
}
