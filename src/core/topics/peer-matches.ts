// The interest of sessions of other shards in messages of a topic: the part of a match plan that names peers.
//
//   'a/b' ──────match─────► a/b: shard 1 (stored QoS 1)   #: shard 1, shard 2   $share/w/a/#: here 5, 6; shard 2 has 3 members
//                                └─────────────┬────────────────┘                            │
//   peerMatches:      shard 1: stored QoS 1    shard 2                                       │
//   crossShardGroups: $share/w/a/#: the group here, and its members on shard 2 ◄─────────────┘

import type { QoS, TopicFilter } from '../../protocol/index.ts'
import type { Interest } from '../model/peer-messages.ts'
import type { SharedGroup } from './shared-group.ts'
import type { FilterSubscribers } from './filter-subscribers.ts'

/** A shard with non-shared subscribers. It gets the message once, whatever the number of matching filters. */
export class PeerMatch<P extends object> {
  readonly peer: P
  /** Highest QoS granted to a persistent session there; 0: none stores it. */
  storedQoS: QoS
  /** The queue of a matching persistent session there is full. */
  isFull: boolean

  constructor(peer: P, storedQoS: QoS, isFull: boolean) {
    this.peer = peer
    this.storedQoS = storedQoS
    this.isFull = isFull
  }
}

/** A shared subscription with members on other shards. */
export interface CrossShardGroup<S extends object, P extends object> {
  /** `$share/name/filter`. */
  readonly filter: TopicFilter
  /** Undefined if no session of this shard is a member. */
  readonly local: SharedGroup<S> | undefined
  /** The current group: later changes are visible without a new plan. */
  readonly onPeers: SharedGroup<P, Interest>
}

/** Returns each shard with subscribers once. */
export function combinePeerMatches<P extends object>(
  subscriberLists: readonly FilterSubscribers<P, Interest>[],
): PeerMatch<P>[] {
  const parts: PeerMatch<P>[] = []
  for (const filterSubscribers of subscriberLists) {
    filterSubscribers.forEach((peer, { storedMembers, storedQoS, isFull }) => {
      const wanted = storedMembers === 0 ? 0 : storedQoS
      const known = parts.find((part) => part.peer === peer)
      if (known === undefined) {
        parts.push(new PeerMatch(peer, wanted, isFull))
        return
      }
      if (wanted > known.storedQoS) known.storedQoS = wanted
      known.isFull ||= isFull
    })
  }
  return parts
}

/** Returns all shared subscriptions with members on other shards, each with its members on this shard. */
export function listCrossShardGroups<S extends object, P extends object>(
  subscriberLists: readonly FilterSubscribers<P, Interest>[],
  own: readonly SharedGroup<S>[],
): CrossShardGroup<S, P>[] {
  const groups: CrossShardGroup<S, P>[] = []
  for (const filterSubscribers of subscriberLists) {
    filterSubscribers.walkGroups((onPeers) => {
      groups.push({
        filter: `$share/${onPeers.name}/${onPeers.filter}` as TopicFilter,
        local: own.find(({ name, filter }) => name === onPeers.name && filter === onPeers.filter),
        onPeers,
      })
    })
  }
  return groups
}
