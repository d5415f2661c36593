// The shard that a QoS 2 message went to, for each of its shared subscriptions. It is durable before the message is sent: a
// repeated assignment after a crash chooses the same shard, which knows whether it had the message, whatever its members are then.
// For other subscribers it says which shards had some.
//
//   message 12 of "lqzf3k9c device-7"     $share/press/#  here
//                                         $share/audit/#  shard 2
//                                         subscribers     shards 1, 2

import type { TopicFilter } from '../../../protocol/index.ts'
import { type ShardAssignment, otherSubscribers } from '../../../records/index.ts'
import { isStoredShard, type PeerNumber } from '../../model/peer-names.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'

export interface SharedAssignment {
  readonly to: PeerNumber
  /** Completes when the other shard has it; set if it was sent since the start of this shard. */
  readonly barrier: CommitBarrier | undefined
}

export class SharedAssignments {
  /** Stored shards only. */
  readonly toSubscribersOf: PeerNumber[] = []
  #byFilter: Map<TopicFilter, SharedAssignment> | undefined = undefined
  readonly #others: SharedAssignment | undefined
  /** Release in progress: completes when every shard that it went to has removed it. */
  release: CommitBarrier | undefined = undefined

  /** `others`: destination of all subscriptions without an entry. */
  constructor(others?: SharedAssignment) {
    this.#others = others
  }

  static restore(records: readonly ShardAssignment[]): SharedAssignments {
    const restored = new SharedAssignments()
    for (const { filter, to } of records) {
      if (filter === otherSubscribers) restored.toSubscribersOf.push(to)
      else restored.set(filter as TopicFilter, { to, barrier: undefined })
    }
    return restored
  }

  get(filter: TopicFilter): SharedAssignment | undefined {
    return this.#byFilter?.get(filter) ?? this.#others
  }

  set(filter: TopicFilter, assignment: SharedAssignment): void {
    this.#byFilter ??= new Map()
    this.#byFilter.set(filter, assignment)
  }

  entries(): Iterable<[TopicFilter, SharedAssignment]> {
    return this.#byFilter?.entries() ?? []
  }

  /** Returns the shards other than `own` that have it, each once. */
  listOtherShards(own: PeerNumber): PeerNumber[] {
    return [...new Set([...this.entries()].map(([, { to }]) => to))].filter((to) => to !== own)
  }

  /**
   * Returns the assignments for a record of shard `own`. A record names no local shard: what such a shard has got is recorded as received here, so
   * that it is not assigned again after a restart.
   */
  toRecords(own: PeerNumber): ShardAssignment[] {
    const shared = [...this.entries()].map(([filter, { to }]) => ({
      filter: filter as string,
      to: isStoredShard(to) ? to : own,
    }))
    return [...shared, ...this.toSubscribersOf.map((to) => ({ filter: otherSubscribers, to }))]
  }
}
