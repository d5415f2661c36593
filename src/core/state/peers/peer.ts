// One other shard of the node, as seen from here: what it wants, what is owed to it, and how far each has come in what
// the other has said. What a link counts begins anew with each link; what is owed and what is known of it stays.

import type { TopicFilter } from '../../../protocol/index.ts'
import type { Interest, PeerNumber } from '../../model/peer-messages.ts'
import type { RetainedMarks } from '../sessions/retained-replay-queue.ts'
import { PendingQueue } from '../sessions/pending-queue.ts'
import { LargeMap, type LargeMapWalk } from '../../topics/index.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'
import { PeerAcks } from './peer-acks.ts'
import { PeerOutbox } from './peer-outbox.ts'
import type { InterestCount } from './local-interest.ts'
import { UncommittedForwards } from './uncommitted-forwards.ts'

/** What it said of one of its filters, and in which of its tellings of everything. */
export interface KnownInterest {
  readonly interest: Interest
  readonly telling: number
}

/** Somebody waits until the peer has seen the interest of this version. */
interface Awaited {
  readonly version: number
  readonly barrier: CommitBarrier
  /** To be told how much it had sent to each shard by then. */
  readonly marks?: RetainedMarks
}

/** What is said and heard on one link, from its beginning. */
export class LinkState {
  /** Numbered messages that went each way. */
  sent = 0
  received = 0
  readonly acks = new PeerAcks()
  /** Where the telling of everything is; undefined: it has not begun, or it is over. */
  fullSync: LargeMapWalk<InterestCount> | undefined
  /** The version with which everything was said; undefined: not yet. */
  completeVersion: number | undefined = undefined
  hasStartedSync = false
  /** The highest version of ours that it has confirmed. */
  seenVersion: number
  isTheirsComplete = false
  readonly awaited = new PendingQueue<Awaited>()
  /** Topics that were given a message which had been sent on an earlier link: they may have had later ones since. */
  retainedAgain: Set<string> | undefined = undefined

  constructor(fullSync: LargeMapWalk<InterestCount>, version: number) {
    this.fullSync = fullSync
    this.seenVersion = version
  }
}

export class Peer {
  readonly number: PeerNumber
  /** Undefined while there is none: it has died and is not back. */
  link: LinkState | undefined = undefined
  /** The driver has more for it than it takes. */
  isCongested = false
  /** Its outbox was full when somebody published for it. */
  hasPausedPublishers = false
  /** What it wants, as far as it has told; while it is away what its stored sessions want. */
  readonly known = new LargeMap<KnownInterest>()
  /** Counts its tellings of everything. */
  telling = 0
  readonly outbox = new PeerOutbox()
  /** In front of the outbox: what was dealt to it, and that is not on disk yet. */
  readonly uncommitted = new UncommittedForwards()

  constructor(number: PeerNumber) {
    this.number = number
  }

  /** What it said of a filter, for the walk over all. */
  remember(filter: TopicFilter, interest: Interest): void {
    this.known.set(filter, { interest, telling: this.telling })
  }
}
