// Subscriptions of all sessions, without the router, which finds them by topic.

import type { TopicFilter } from '../../protocol/index.ts'
import type { MemoryAccount } from '../model/memory-account.ts'
import type { SubscriptionOptions } from '../topics/index.ts'
import type { SessionPresence } from './peers/local-interest.ts'
import { PendingQueue } from './sessions/pending-queue.ts'
import type { Session } from './sessions/session.ts'

/** Memory of a subscription without its filter: entries of maps and of the trie, and its options. */
const filterOverheadBytes = 400

/** Subscriptions of all sessions, counted when they are added and removed. */
export interface SubscriptionCounts {
  subscriptions: number
  /** Subscriptions whose filter begins with `$share/`. */
  shared: number
  /** Sessions with at least one subscription. */
  subscribers: number
}

/** An ended session whose subscriptions are still being removed from the router. */
export interface EndingSession {
  readonly session: Session
  /** Subscriptions that are still to be removed. */
  readonly rest: Iterator<[TopicFilter, SubscriptionOptions]>
  /** State of the session that the peers know. */
  readonly presence: SessionPresence
}

export class SubscriptionState {
  readonly counts: SubscriptionCounts = { subscriptions: 0, shared: 0, subscribers: 0 }
  /** Session that holds each exclusive filter: see `peers/exclusive-subscriptions.ts`. */
  readonly exclusiveHolders = new Map<TopicFilter, Session>()
  /** In the order in which they ended. */
  readonly endingSessions = new PendingQueue<EndingSession>()
  readonly #memory: MemoryAccount

  constructor(memory: MemoryAccount) {
    this.#memory = memory
  }

  /** Counts a subscription that was added to the session (1) or removed from it (-1). Called after the change. */
  countSubscription(session: Session, filter: TopicFilter, change: 1 | -1): void {
    const now = session.subscriptions?.size ?? 0
    this.countFilter(filter, change)
    if (now === (change === 1 ? 1 : 0)) this.counts.subscribers += change
  }

  countFilter(filter: TopicFilter, change: 1 | -1): void {
    this.counts.subscriptions += change
    this.#memory.add('filters', change * (filterOverheadBytes + filter.length))
    if (filter.startsWith('$share/')) this.counts.shared += change
  }
}
