// The other shards of the node, all that this one knows of them and has promised to them. There is none of this where
// the node has one shard.

import { failedAssertion, type QoS, type SubscribePacket, type TopicFilter } from '../../../protocol/index.ts'
import type { RetainedReplay } from '../sessions/retained-replay-queue.ts'
import type { Session } from '../sessions/session.ts'
import type { Connection } from '../../model/connection.ts'
import type { RequestId } from '../../model/inputs.ts'
import type { RetainedOrigin } from '../../model/message.ts'
import type { PeerExclusive, PeerNumber, ShardPlace } from '../../model/peer-messages.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'
import { ExclusiveRegistry } from './exclusive-registry.ts'
import { LocalInterest } from './local-interest.ts'
import { ReceivedPacketIds } from './received-packet-ids.ts'
import { Peer } from './peer.ts'
import type { RetainedRequest } from './retained-request.ts'

/** A SUBSCRIBE that waits for what other shards say of its exclusive filters. */
export interface ExclusiveWait {
  readonly packet: SubscribePacket
  readonly clientId: string
  /** Not answered yet, by question. */
  readonly missing: Map<number, TopicFilter>
  readonly given: Set<TopicFilter>
  readonly refused: Set<TopicFilter>
}

/** The operator's `subscribe` that waits for what another shard says of its exclusive filter. */
export interface ExclusiveCommand {
  readonly question: RequestId
  readonly clientId: string
  readonly mounted: TopicFilter
  /** Without `$exclusive/`: as it stands in the book. */
  readonly exclusive: TopicFilter
  readonly qos: QoS
}

export class PeerTable {
  readonly shard: ShardPlace
  /** Without this shard itself. */
  readonly peers: readonly Peer[]
  readonly interest = new LocalInterest()
  /** QoS 2 of clients of other shards. */
  readonly received = new ReceivedPacketIds()
  isForgettingScheduled = false
  /** What the publication that is being given out has to wait for; undefined: for no other shard. */
  currentBarrier: CommitBarrier | undefined = undefined
  /** Messages published here that topics of this shard were to remember: what counts for them as a link's number. */
  retainedHere = 0
  /** Sessions that wait for what topics of several shards remember. */
  readonly waitingForRetained = new Set<Session>()
  /** Who has asked another shard for it, by question. */
  readonly retainedRequests = new Map<number, { readonly session: Session; readonly scan: RetainedReplay }>()
  /** What others have asked here, by shard and question. */
  readonly receivedRetainedRequests = new Map<string, RetainedRequest>()
  /** The part of the book of exclusive subscriptions that is kept here. */
  readonly exclusive = new ExclusiveRegistry()
  /** Who waits for other parts of it, and who for which question. */
  readonly exclusiveWaits = new Map<Connection, ExclusiveWait>()
  readonly exclusiveRequests = new Map<number, Connection>()
  /** The same of what the operator asked. */
  readonly exclusiveCommands = new Map<number, ExclusiveCommand>()
  /** What was asked of it before it was known here. */
  exclusiveDeferred: { readonly peer: PeerNumber; readonly message: PeerExclusive }[] = []
  /** Connections that stand still until a peer takes what they publish. */
  readonly waitingForPeers = new Set<Connection>()
  /** Messages that were dealt out to members of shared subscriptions on other shards: to a client that is there. */
  sentToShared = 0
  /** And to one that will find it when it comes. */
  queuedForShared = 0
  /** Filters of peers that lead to a stored session without room. */
  fullPeerFilters = 0
  #isReady = false

  constructor(shard: ShardPlace) {
    this.shard = shard
    const others = Array.from({ length: shard.count }, (_, number) => number).filter((number) => number !== shard.own)
    this.peers = others.map((number) => new Peer(number))
  }

  /** How many numbered messages have gone, or are to go first, to each shard; of this one what came to its topics. */
  sentToEach(): number[] {
    const sent = Array.from({ length: this.shard.count }, () => 0)
    for (const { number, link, outbox } of this.peers) sent[number] = (link?.sent ?? 0) + outbox.unsentCount
    sent[this.shard.own] = this.retainedHere
    return sent
  }

  /** It was published after its shard had sent so many: `after`, by shard. */
  isNewerThan(arrival: RetainedOrigin | undefined, after: readonly number[]): boolean {
    if (arrival === undefined) return false
    const link = arrival.shard === this.shard.own ? this : this.peer(arrival.shard).link
    return arrival.link === link && arrival.number > (after[arrival.shard] ?? 0)
  }

  peer(number: PeerNumber): Peer {
    const peer = this.peers[number < this.shard.own ? number : number - 1]
    if (peer === undefined || peer.number !== number)
      throw failedAssertion(`shard ${number} is no peer of shard ${this.shard.own}`)
    return peer
  }

  /**
   * Every peer knows what the sessions here want, and has told what its own want: once it has been so, a peer that dies
   * changes nothing, as it waits for the same when it is back.
   */
  get isReady(): boolean {
    this.#isReady ||= this.peers.every(
      ({ link }) =>
        link?.completeVersion !== undefined && link.isTheirsComplete && link.seenVersion >= link.completeVersion,
    )
    return this.#isReady
  }

  /** The vow of the publication that has just been given out, if it has to wait for another shard. */
  takeBarrier(): CommitBarrier | undefined {
    const barrier = this.currentBarrier
    this.currentBarrier = undefined
    return barrier
  }
}
