// The other shards of the node: their state as known here, and messages and requests that concern them.
//
// The only shard of a node has an empty table, so no caller asks whether there are peers: loops over `all` end at once, this shard owns
// every topic and exclusive filter, `isReady` is true, and the interest counts nothing (`NoInterest`). Only what runs for every message or
// turn asks `hasAny`, to leave out the work.

import { createAssertionError } from '../../../protocol/index.ts'
import type { RetainedOrigin } from '../../messages/message.ts'
import { CommitBarrier } from '../../model/commit-barrier.ts'
import { computeTopicShard, type PeerCount, type ShardPlace } from '../../model/peer-messages.ts'
import type { PeerNumber } from '../../model/peer-names.ts'
import type { Session } from '../sessions/session.ts'
import { ExclusiveFilters } from './exclusive-filters.ts'
import { LocalInterest, NoInterest } from './local-interest.ts'
import { Peer } from './peer.ts'
import { ReceivedPacketIds } from './received-packet-ids.ts'
import { RetainedExchange } from './retained-exchange.ts'

export class PeerTable {
  readonly shard: ShardPlace
  /** Without this shard. */
  readonly all: readonly Peer[]
  readonly hasAny: boolean
  /** The filters of this shard, for the peers. */
  readonly interest: LocalInterest
  /** QoS 2 messages of clients of other shards. */
  readonly received = new ReceivedPacketIds()
  readonly retained = new RetainedExchange()
  readonly exclusive = new ExclusiveFilters()
  /** Barrier of the publication that is being routed; undefined if no peer must confirm it. */
  currentBarrier: CommitBarrier | undefined = undefined
  /** Messages assigned to connected members of shared subscriptions on other shards. */
  sentToShared = 0
  /** Messages assigned to members that are not connected. */
  queuedForShared = 0
  /** Number of filters of peers that lead to a persistent session with a full queue. */
  fullFilters = 0
  /**
   * Every peer knows the filters of this shard and has sent its own. Once true, the failure of a peer changes nothing, because the peer waits
   * for the same after its restart.
   */
  isReady: boolean

  constructor(shard: ShardPlace) {
    this.shard = shard
    const others = Array.from({ length: shard.count }, (_, number) => number).filter((number) => number !== shard.own)
    this.all = others.map((number) => new Peer(number))
    this.hasAny = this.all.length > 0
    this.isReady = !this.hasAny
    this.interest = this.hasAny ? new LocalInterest() : new NoInterest()
  }

  requirePeer(number: PeerNumber): Peer {
    const peer = this.all[number < this.shard.own ? number : number - 1]
    if (peer === undefined || peer.number !== number)
      throw createAssertionError(`shard ${number} is not a peer of shard ${this.shard.own}`)
    return peer
  }

  /** Returns the shard that owns the topic or exclusive filter; undefined if that is this shard. */
  findOwner(name: string): Peer | undefined {
    const owner = computeTopicShard(name, this.shard.count)
    return owner === this.shard.own ? undefined : this.requirePeer(owner)
  }

  /** Called when the exchange of filters with a peer has made progress. */
  updateReadiness(): void {
    this.isReady ||= this.all.every(
      ({ link }) =>
        link?.completeVersion !== undefined && link.hasInterestOfPeer && link.seenVersion >= link.completeVersion,
    )
  }

  /** Returns whether a running peer has not confirmed all messages. */
  get hasUnconfirmed(): boolean {
    return this.all.some(({ link, outbox }) => link !== undefined && outbox.length > 0)
  }

  /** Returns the barrier of the publication that is being routed, which then waits for a peer. */
  openBarrier(): CommitBarrier {
    return (this.currentBarrier ??= new CommitBarrier())
  }

  /** Returns the barrier of the publication that was just routed, if it waits for a peer. */
  takeBarrier(): CommitBarrier | undefined {
    const barrier = this.currentBarrier
    this.currentBarrier = undefined
    return barrier
  }

  /** Batches up to `number` are durable, with the messages of peers in them. */
  recordCommitted(number: number): void {
    for (const { link } of this.all) link?.acks.recordCommitted(number)
  }

  /**
   * Returns the number of messages sent, or waiting before others, to each shard that owns topics; for this shard, of those for its
   * retained topics.
   */
  countSentToEach(): PeerCount[] {
    const { publishedHere } = this.retained
    const sent: PeerCount[] = publishedHere === 0 ? [] : [{ peer: this.shard.own, count: publishedHere }]
    for (const { number, link, outbox } of this.all) {
      const count = (link?.sent ?? 0) + outbox.unsentCount
      if (count > 0) sent.push({ peer: number, count })
    }
    return sent
  }

  /** Returns whether the message was published here, or arrived on the current link of its shard. Otherwise its number says nothing. */
  isOfCurrentLink({ shard, link }: RetainedOrigin): boolean {
    return link === (shard === this.shard.own ? this.retained : this.requirePeer(shard).link)
  }

  /** The session gets retained messages: records the topics of live deliveries meanwhile, if some of them may come from peers. */
  awaitRetained(session: Session): void {
    const { waiting } = this.retained
    if (this.hasAny && !waiting.has(session)) waiting.set(session, undefined)
  }
}
