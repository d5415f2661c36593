// One other shard: its filters, the messages for it, and the progress of both directions. Counters of a link restart with each link; messages
// and filters of a stored shard remain.

import type { TopicFilter } from '../../../protocol/index.ts'
import type { Interest, PeerPublish, PeerRelease } from '../../model/peer-messages.ts'
import { isStoredShard, type PeerNumber } from '../../model/peer-names.ts'
import type { RetainedMarks } from '../sessions/retained-replay-queue.ts'
import { PendingQueue } from '../sessions/pending-queue.ts'
import { LargeMap, type LargeMapWalk } from '../../topics/index.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'
import { PeerAcks } from './peer-acks.ts'
import { PeerOutbox } from './peer-outbox.ts'
import type { InterestCount } from './local-interest.ts'
import type { RetainedRequest } from './retained-request.ts'
import { UncommittedForwards } from './uncommitted-forwards.ts'

/** A filter of the peer, and the number of the full sync in which the peer sent it last. */
export interface KnownInterest {
  readonly interest: Interest
  readonly syncNumber: number
}

/** A barrier that waits until the peer has confirmed the interest of this version. */
interface Awaited {
  readonly version: number
  readonly barrier: CommitBarrier
  /** Receives the numbers of messages that the peer had sent to each shard at that time. */
  readonly marks?: RetainedMarks
}

/** State of one link since it was opened. */
export class LinkState {
  /** Numbered messages in each direction. */
  sent = 0
  received = 0
  readonly acks = new PeerAcks()
  /** Progress of the full sync; undefined before and after it. */
  fullSync: LargeMapWalk<InterestCount> | undefined
  /** Version with which the full sync ended; undefined before. */
  completeVersion: number | undefined = undefined
  hasStartedSync = false
  /** Highest version of this shard's interest that the peer confirmed. */
  seenVersion: number
  /** The peer has sent all of its interest. */
  hasInterestOfPeer = false
  readonly awaited = new PendingQueue<Awaited>()
  /** Requests of the peer for retained messages of this shard, by ID. */
  readonly retainedRequests = new Map<number, RetainedRequest>()
  /** Topics with a retained message that was also sent on an earlier link. Later messages of these topics may have arrived before it. */
  redeliveredTopics: Set<string> | undefined = undefined

  constructor(fullSync: LargeMapWalk<InterestCount>, version: number) {
    this.fullSync = fullSync
    this.seenVersion = version
  }
}

export class Peer {
  readonly number: PeerNumber
  /** Undefined while the peer has failed and has not restarted yet, and after a local shard has left. */
  link: LinkState | undefined = undefined
  /** Set when a local shard has left for good. It is added to this set when messages for it remain: see `pass-on-messages.ts`. */
  departed: Set<Peer> | undefined = undefined
  /** The driver has too much unsent data for this peer. */
  isCongested = false
  /** Publishers wait because the outbox of this peer was full. */
  hasPausedPublishers = false
  /** The filters of this peer; while it is restarting, those of its persistent sessions. */
  readonly known = new LargeMap<KnownInterest>()
  /** Number of full syncs that this peer has started. */
  syncNumber = 0
  readonly outbox = new PeerOutbox()
  /** Messages for this peer whose assignment is not durable yet. They go to the outbox afterwards. */
  readonly uncommitted = new UncommittedForwards()

  constructor(number: PeerNumber) {
    this.number = number
  }

  /** Local shards store nothing, and do not return. */
  get isLocal(): boolean {
    return !isStoredShard(this.number)
  }

  get hasLeft(): boolean {
    return this.departed !== undefined
  }

  /** Adds a message to the outbox. */
  addToOutbox(message: PeerPublish | PeerRelease, barrier: CommitBarrier | undefined): void {
    this.outbox.push(message, barrier)
    this.departed?.add(this)
  }

  /** Records a filter of the peer, for the walk over all. */
  recordInterest(filter: TopicFilter, interest: Interest): void {
    this.known.set(filter, { interest, syncNumber: this.syncNumber })
  }
}
