// The links of this life to all other lives, and the choice between their connections. Both nodes dial, so that one direction suffices.
//
//   a connection was established, and there is another one of the same two lives:
//     the same node has dialed both      the newer one survives: that node dials only when it has lost the older one
//     each node has dialed one           the one dialed by the lesser life survives, on both sides
//
// In the second case, the node with the greater life may dial because it has lost the connection that survives. So that one must give a sign of
// life at once.

import type { Life } from '../peer-name.ts'
import { LifeLink, type LifeLinkLimits } from './life-link.ts'
import type { AnnouncedShard, ChannelReceiver, LinkChannel } from './link-channel.ts'
import type { LinkConnection, LinkFrameReceiver } from './link-connection.ts'
import { LinkFailure } from './link-failure.ts'
import type { LinkHello, LinkIdentity } from './link-hello.ts'

export interface LifeLinksOptions {
  readonly own: LinkIdentity
  readonly limits: LifeLinkLimits
  /** Called for each new channel. Returns the receiver of its link buffers. */
  openChannel(channel: LinkChannel, other: LinkIdentity): ChannelReceiver
}

/** A shard that runs; its node gives it an ID. */
export type StartedShard = Omit<AnnouncedShard, 'id'>

export class LifeLinks {
  readonly #options: LifeLinksOptions
  /** Members of the cluster whose lives have not ended. */
  #lives: ReadonlySet<Life> = new Set()
  readonly #links = new Map<Life, LifeLink>()
  readonly #shards = new Map<number, AnnouncedShard>()
  #lastShardId = 0

  constructor(options: LifeLinksOptions) {
    this.#options = options
  }

  /** Other lives from now on. The link of a life that is not among them ends. */
  setLives(lives: ReadonlySet<Life>): void {
    this.#lives = lives
    for (const [life, link] of this.#links) {
      if (lives.has(life)) continue
      this.#links.delete(life)
      link.finish()
    }
  }

  find(life: Life): LifeLink | undefined {
    return this.#links.get(life)
  }

  /** Announces a shard to all lives. Returns its ID. */
  addShard(started: StartedShard): number {
    const shard: AnnouncedShard = { ...started, id: ++this.#lastShardId }
    this.#shards.set(shard.id, shard)
    for (const link of this.#links.values()) link.addShard(shard)
    return shard.id
  }

  removeShard(id: number): void {
    this.#shards.delete(id)
    for (const link of this.#links.values()) link.removeShard(id)
  }

  /** Sends signs of life. Call it every half second. */
  tick(): void {
    for (const link of this.#links.values()) link.tick()
  }

  /** Returns the link that uses the connection from now on. Throws `LinkFailure` if the connection is refused. */
  admit(connection: LinkConnection, hello: LinkHello, nowMs: number): LinkFrameReceiver {
    checkMember(this.#lives, hello)
    const link = this.#selectLink(hello)
    const current = link.connection
    if (current !== undefined && !isSurvivor(connection, current, this.#options.own.life < hello.life)) {
      current.requireSignOfLife(nowMs)
      throw new LinkFailure('duplicate', 'another connection of the same nodes is in use')
    }
    link.attach(connection)
    return link
  }

  /** Ends all connections; the links remain. */
  stop(): void {
    for (const link of this.#links.values()) link.connection?.end('stopping', 'the node stops')
  }

  #selectLink(hello: LinkHello): LifeLink {
    const link = this.#links.get(hello.life)
    if (link !== undefined && link.other.run === hello.run) return link
    if (link !== undefined && link.other.run > hello.run) {
      throw new LinkFailure(
        'old-run',
        `run ${hello.run} of life ${hello.life} has ended; run ${link.other.run} is known`,
      )
    }
    link?.finish()
    const { own, limits } = this.#options
    const created = new LifeLink({
      own,
      other: hello,
      limits,
      openChannel: (channel, other) => this.#options.openChannel(channel, other),
    })
    this.#links.set(hello.life, created)
    for (const shard of this.#shards.values()) created.addShard(shard)
    return created
  }
}

/** Returns whether a new connection replaces the current one. `isLesser`: the own life is less than the other one. */
export function isSurvivor(connection: LinkConnection, current: LinkConnection, isLesser: boolean): boolean {
  if (connection.role === current.role) return true
  return (connection.role === 'dialer') === isLesser
}

/** Throws `LinkFailure` if the sender of a hello is not a live member. */
export function checkMember(lives: ReadonlySet<Life>, { life, nodeName }: LinkHello): void {
  if (lives.has(life)) return
  throw new LinkFailure('unknown-life', `life ${life} of node ${nodeName} is not a live member of the cluster`)
}
