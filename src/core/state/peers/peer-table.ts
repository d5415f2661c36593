// The other shards of the node: their state as known here, and messages and requests that concern them.
//
// The only shard of a node has an empty table, so no caller asks whether there are peers: loops over `all` end at once, this shard owns
// every topic and exclusive filter, `isReady` is true, and the interest counts nothing (`NoInterest`). Only what runs for every message or
// turn asks `hasAny`, to leave out the work.

import { failedAssertion, type QoS, type SubscribePacket, type TopicFilter } from '../../../protocol/index.ts'
import type { RetainedReplay } from '../sessions/retained-replay-queue.ts'
import type { Session } from '../sessions/session.ts'
import type { Connection } from '../../model/connection.ts'
import type { RequestId, SubscribeCommandOptions } from '../../model/inputs.ts'
import type { RetainedOrigin } from '../../messages/message.ts'
import { ownerOf, type PeerExclusive, type PeerNumber, type ShardPlace } from '../../model/peer-messages.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'
import { ExclusiveRegistry } from './exclusive-registry.ts'
import { LocalInterest, NoInterest } from './local-interest.ts'
import { ReceivedPacketIds } from './received-packet-ids.ts'
import { Peer } from './peer.ts'
import type { RetainedRequest } from './retained-request.ts'

/** A SUBSCRIBE that waits for responses of other shards about its exclusive filters. */
export interface ExclusiveWait {
  readonly packet: SubscribePacket
  readonly clientId: string
  /** Pending requests, by ID. */
  readonly missing: Map<number, TopicFilter>
  readonly given: Set<TopicFilter>
  readonly refused: Set<TopicFilter>
}

/** A `subscribe` command of the API that waits for the response of another shard about its exclusive filter. */
export interface ExclusiveCommand {
  readonly requestId: RequestId
  readonly clientId: string
  readonly mounted: TopicFilter
  /** Without `$exclusive/`, as in the registry. */
  readonly exclusive: TopicFilter
  readonly qos: QoS
  readonly options: SubscribeCommandOptions | undefined
}

export class PeerTable {
  readonly shard: ShardPlace
  /** Without this shard. */
  readonly all: readonly Peer[]
  readonly hasAny: boolean
  readonly interest: LocalInterest
  /** QoS 2 messages of clients of other shards. */
  readonly received = new ReceivedPacketIds()
  isExpiryScheduled = false
  /** Barrier of the publication that is being routed; undefined if no peer must confirm it. */
  currentBarrier: CommitBarrier | undefined = undefined
  /** Number of messages published here for retained topics of this shard. It corresponds to the numbers of a link. */
  retainedHere = 0
  /** Sessions that wait for retained messages of several shards, with the topics of live deliveries since then. */
  readonly waitingForRetained = new Map<Session, Set<string> | undefined>()
  /** Requests for retained messages of other shards, by ID. */
  readonly retainedRequests = new Map<number, { readonly session: Session; readonly scan: RetainedReplay }>()
  /** Requests of other shards, by shard and ID. */
  readonly receivedRetainedRequests = new Map<string, RetainedRequest>()
  /** The part of the registry of exclusive subscriptions that this shard owns. */
  readonly exclusive = new ExclusiveRegistry()
  /** Requests to other parts of the registry, by connection and by ID. */
  readonly exclusiveWaits = new Map<Connection, ExclusiveWait>()
  readonly exclusiveRequests = new Map<number, Connection>()
  /** Does the same for commands of the API. */
  readonly exclusiveCommands = new Map<number, ExclusiveCommand>()
  /** Requests received before the peers announced their filters. */
  exclusiveDeferred: { readonly peer: PeerNumber; readonly message: PeerExclusive }[] = []
  /** Connections whose reading pauses until a peer can receive. */
  readonly waitingForPeers = new Set<Connection>()
  /** Messages assigned to connected members of shared subscriptions on other shards. */
  sentToShared = 0
  /** Messages assigned to members that are not connected. */
  queuedForShared = 0
  /** Number of filters of peers that lead to a persistent session with a full queue. */
  fullFilters = 0
  #isReady = false

  constructor(shard: ShardPlace) {
    this.shard = shard
    const others = Array.from({ length: shard.count }, (_, number) => number).filter((number) => number !== shard.own)
    this.all = others.map((number) => new Peer(number))
    this.hasAny = this.all.length > 0
    this.interest = this.hasAny ? new LocalInterest() : new NoInterest()
  }

  /**
   * Returns by shard the number of messages sent or waiting before others; for this shard, of those for its retained
   * topics.
   */
  sentToEach(): number[] {
    const sent = Array.from({ length: this.shard.count }, () => 0)
    for (const { number, link, outbox } of this.all) sent[number] = (link?.sent ?? 0) + outbox.unsentCount
    sent[this.shard.own] = this.retainedHere
    return sent
  }

  /** Returns whether the message was published here, or arrived on the current link of its shard. Otherwise its number says nothing. */
  isOfCurrentLink({ shard, link }: RetainedOrigin): boolean {
    return link === (shard === this.shard.own ? this : this.peer(shard).link)
  }

  /** The session gets retained messages: records the topics of live deliveries meanwhile, if some of them may come from peers. */
  awaitRetained(session: Session): void {
    if (this.hasAny && !this.waitingForRetained.has(session)) this.waitingForRetained.set(session, undefined)
  }

  peer(number: PeerNumber): Peer {
    const peer = this.all[number < this.shard.own ? number : number - 1]
    if (peer === undefined || peer.number !== number)
      throw failedAssertion(`shard ${number} is not a peer of shard ${this.shard.own}`)
    return peer
  }

  /** Returns the shard that owns the topic or exclusive filter; undefined if that is this shard. */
  ownerOf(name: string): Peer | undefined {
    const owner = ownerOf(name, this.shard.count)
    return owner === this.shard.own ? undefined : this.peer(owner)
  }

  /**
   * Returns whether every peer knows the filters of this shard and has sent its own. Once true, the failure of a peer
   * changes nothing, because the peer waits for the same after its restart.
   */
  get isReady(): boolean {
    this.#isReady ||= this.all.every(
      ({ link }) =>
        link?.completeVersion !== undefined && link.hasInterestOfPeer && link.seenVersion >= link.completeVersion,
    )
    return this.#isReady
  }

  /** Returns the barrier of the publication that was just routed, if it waits for a peer. */
  takeBarrier(): CommitBarrier | undefined {
    const barrier = this.currentBarrier
    this.currentBarrier = undefined
    return barrier
  }
}
