// To which shard a QoS 2 message went for each of its shared subscriptions. It is on disk before the message leaves: who
// deals it again after a crash deals it to the same shard, which knows whether it has had it, whoever is a member by then.
// Of plain subscribers it is known which shards had some.
//
//   message 12 of "lqzf3k9c device-7"     $share/press/#  here
//                                         $share/audit/#  shard 2
//                                         subscribers     shards 1, 2

import type { TopicFilter } from '../../../protocol/index.ts'
import { type DealtRecord, forSubscribers } from '../../../records/index.ts'
import type { PeerNumber } from '../../model/peer-messages.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'

export interface SharedAssignment {
  readonly to: PeerNumber
  /** Of what went on to another shard, in this life of this one: kept when it has it. */
  readonly barrier: CommitBarrier | undefined
}

export class SharedAssignments {
  readonly toSubscribersOf: PeerNumber[] = []
  #byFilter: Map<TopicFilter, SharedAssignment> | undefined = undefined
  readonly #others: SharedAssignment | undefined
  /** Being forgotten: kept when every shard that it went on to has forgotten it. */
  release: CommitBarrier | undefined = undefined

  /** `others`: where it went for all that is not noted. */
  constructor(others?: SharedAssignment) {
    this.#others = others
  }

  static restored(records: readonly DealtRecord[]): SharedAssignments {
    const dealings = new SharedAssignments()
    for (const { filter, to } of records) {
      if (filter === forSubscribers) dealings.toSubscribersOf.push(to)
      else dealings.note(filter as TopicFilter, { to, barrier: undefined })
    }
    return dealings
  }

  get(filter: TopicFilter): SharedAssignment | undefined {
    return this.#byFilter?.get(filter) ?? this.#others
  }

  note(filter: TopicFilter, dealt: SharedAssignment): void {
    this.#byFilter ??= new Map()
    this.#byFilter.set(filter, dealt)
  }

  entries(): Iterable<[TopicFilter, SharedAssignment]> {
    return this.#byFilter?.entries() ?? []
  }

  /** Shards other than `own` that have it, each once. */
  beyond(own: PeerNumber): PeerNumber[] {
    return [...new Set([...this.entries()].map(([, { to }]) => to))].filter((to) => to !== own)
  }

  toRecords(): DealtRecord[] {
    const shared = [...this.entries()].map(([filter, { to }]) => ({ filter: filter as string, to }))
    return [...shared, ...this.toSubscribersOf.map((to) => ({ filter: forSubscribers, to }))]
  }
}
