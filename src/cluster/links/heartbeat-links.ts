// The heartbeat connections of this life to all other lives. The choice between two connections of the same lives is that of data connections.

import type { Life } from '../peer-name.ts'
import type { LinkConnection, LinkFrameReceiver } from './link-connection.ts'
import { LinkFailure } from './link-failure.ts'
import { linkFrameKinds } from './link-frames.ts'
import { decodeHeartbeat, encodeHeartbeat, type Heartbeat } from './link-heartbeat.ts'
import type { LinkHello, LinkIdentity } from './link-hello.ts'
import { checkMember, isSurvivor } from './life-links.ts'

export interface HeartbeatLinksOptions {
  readonly own: LinkIdentity
  /** Returns what another life is told now. */
  createHeartbeat(life: Life): Heartbeat
  onHeartbeat(life: Life, heartbeat: Heartbeat): void
}

export class HeartbeatLinks {
  readonly #options: HeartbeatLinksOptions
  #lives: ReadonlySet<Life> = new Set()
  readonly #connections = new Map<Life, LinkConnection>()

  constructor(options: HeartbeatLinksOptions) {
    this.#options = options
  }

  /** Other lives from now on. The connection of a life that is not among them ends. */
  setLives(lives: ReadonlySet<Life>): void {
    this.#lives = lives
    for (const [life, connection] of this.#connections) {
      if (!lives.has(life)) connection.end('life-ended', `the life ${life} has ended`)
    }
  }

  isConnected(life: Life): boolean {
    return this.#connections.has(life)
  }

  /** Sends a heartbeat to each life. Call it every half second. */
  tick(): void {
    for (const [life, connection] of this.#connections) this.#send(life, connection)
  }

  /** Returns the receiver of the connection's frames. Throws `LinkFailure` if the connection is refused. */
  admit(connection: LinkConnection, hello: LinkHello, nowMs: number): LinkFrameReceiver {
    const { life } = hello
    checkMember(this.#lives, hello)
    const current = this.#connections.get(life)
    if (current !== undefined && !isSurvivor(connection, current, this.#options.own.life < life)) {
      current.requireSignOfLife(nowMs)
      throw new LinkFailure('duplicate', 'another connection of the same nodes is in use')
    }
    this.#connections.set(life, connection)
    current?.end('replaced', 'a newer connection of the same nodes took over')
    this.#send(life, connection)
    return {
      handleFrame: ({ kind, body }) => {
        if (kind !== linkFrameKinds.heartbeat) {
          throw new LinkFailure('bad-frame', `a frame of kind ${kind} on a heartbeat connection`)
        }
        this.#options.onHeartbeat(life, decodeHeartbeat(body))
      },
      takeOutput: () => undefined,
      handleEnd: () => {
        if (this.#connections.get(life) === connection) this.#connections.delete(life)
      },
    }
  }

  #send(life: Life, connection: LinkConnection): void {
    connection.sendFrame(encodeHeartbeat(this.#options.createHeartbeat(life)))
  }
}
