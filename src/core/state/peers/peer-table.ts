// The other shards: their state as known here, and messages and requests that concern them.
//
//   stored peers   0 1 2 ... count - 1   always in the table, with or without a link
//   local peers    256 258 ...           from `peer-joined` to `peer-left`
//
// The only shard of a node has an empty table, so no caller asks whether there are peers: loops over `all` end at once, this shard owns
// every topic and exclusive filter, `isReady` is true, and the interest counts nothing (`NoInterest`). Only what runs for every message or
// turn asks `hasAny`, to leave out the work.

import { createAssertionError } from '../../../protocol/index.ts'
import type { RetainedOrigin } from '../../messages/message.ts'
import { CommitBarrier } from '../../model/commit-barrier.ts'
import { computeTopicShard, type PeerCount, type ShardPlace } from '../../model/peer-messages.ts'
import { isStoredShard, type PeerNumber } from '../../model/peer-names.ts'
import type { Session } from '../sessions/session.ts'
import { ExclusiveFilters } from './exclusive-filters.ts'
import { LocalInterest, NoInterest } from './local-interest.ts'
import { Peer } from './peer.ts'
import { ReceivedPacketIds } from './received-packet-ids.ts'
import { RetainedExchange } from './retained-exchange.ts'

export class PeerTable {
  readonly shard: ShardPlace
  /** Without this shard. */
  get all(): readonly Peer[] {
    return this.#all
  }

  readonly #all: Peer[]
  readonly #locals = new Map<PeerNumber, Peer>()
  /** There are peers, or local shards may join. */
  readonly hasAny: boolean
  /** Steps that remain after a link ended or a full sync was received, in order: see `peer-handlers/end-link.ts`. */
  readonly remainingSteps: Generator<void>[] = []
  /** Local shards that have left, and for which messages remain. */
  readonly departed = new Set<Peer>()
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
    this.#all = others.map((number) => new Peer(number))
    for (const number of shard.running ?? []) this.addLocal(number)
    this.hasAny = this.#all.length > 0 || shard.names !== undefined
    this.isReady = this.#all.length === 0
    this.interest = this.hasAny ? new LocalInterest() : new NoInterest()
  }

  requirePeer(number: PeerNumber): Peer {
    const peer = this.find(number)
    if (peer === undefined) throw createAssertionError(`shard ${number} is not a peer of shard ${this.shard.own}`)
    return peer
  }

  /** Returns undefined for this shard, for a stored shard that does not exist, and for a local one that has not joined or has left. */
  find(number: PeerNumber): Peer | undefined {
    if (!isStoredShard(number)) return this.#locals.get(number)
    // Stored shards come first, without this one.
    const peer = this.#all[number < this.shard.own ? number : number - 1]
    return peer?.number === number ? peer : undefined
  }

  /** A local shard has joined. */
  addLocal(number: PeerNumber): Peer {
    if (this.shard.names?.get(number) === undefined) throw createAssertionError(`the local shard ${number} has no name`)
    const peer = new Peer(number)
    this.#all.push(peer)
    this.#locals.set(number, peer)
    return peer
  }

  /** A local shard has left for good: it is not found any more, and what waits for it is completed in steps. */
  removeLocal(peer: Peer): void {
    peer.departed = this.departed
    this.departed.add(peer)
    this.#all.splice(this.#all.indexOf(peer), 1)
    this.#locals.delete(peer.number)
  }

  /** Returns the shard that owns the topic or exclusive filter; undefined if that is this shard. */
  findOwner(name: string): Peer | undefined {
    const owner = computeTopicShard(name, this.shard.count)
    return owner === this.shard.own ? undefined : this.requirePeer(owner)
  }

  /** Called when the exchange of filters with a peer has made progress. */
  updateReadiness(): void {
    this.isReady ||= this.#all.every(
      ({ link }) =>
        link?.completeVersion !== undefined && link.hasInterestOfPeer && link.seenVersion >= link.completeVersion,
    )
  }

  /** Returns the number of filters of peers, also of those that have left, until these are removed. */
  countFilters(): number {
    const all = new Set([...this.#all, ...this.departed])
    return [...all].reduce((sum, { known }) => sum + known.size, 0)
  }

  /** Returns whether steps remain for which no message or time is awaited. */
  get hasRemainingSteps(): boolean {
    return this.remainingSteps.length > 0 || this.departed.size > 0
  }

  /** Returns whether a running peer has not confirmed all messages. */
  get hasUnconfirmed(): boolean {
    return this.#all.some(({ link, outbox }) => link !== undefined && outbox.length > 0)
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
    for (const { link } of this.#all) link?.acks.recordCommitted(number)
  }

  /**
   * Returns the number of messages sent, or waiting before others, to each shard that owns topics; for this shard, of those for its
   * retained topics.
   */
  countSentToEach(): PeerCount[] {
    const { publishedHere } = this.retained
    const sent: PeerCount[] = publishedHere === 0 ? [] : [{ peer: this.shard.own, count: publishedHere }]
    for (const { number, isLocal, link, outbox } of this.#all) {
      const count = (link?.sent ?? 0) + outbox.unsentCount
      if (count > 0 && !isLocal) sent.push({ peer: number, count })
    }
    return sent
  }

  /** Returns whether the message was published here, or arrived on the current link of its shard. Otherwise its number says nothing. */
  isOfCurrentLink({ shard, link }: RetainedOrigin): boolean {
    return link === (shard === this.shard.own ? this.retained : this.find(shard)?.link)
  }

  /** The session gets retained messages: records the topics of live deliveries meanwhile, if some of them may come from peers. */
  awaitRetained(session: Session): void {
    const { waiting } = this.retained
    if (this.hasAny && !waiting.has(session)) waiting.set(session, undefined)
  }
}
