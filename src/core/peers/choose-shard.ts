// A shared subscription with members on several shards: selects the shard that gets a message, in proportion to the number of
// members. That shard then selects the member.
//
//   members with a connected client:   here 2   shard 1: 3   shard 2: 0          turn 4 of 5 ──► shard 1
//                                      0  1     2  3  4
//
// If no member is connected, persistent members count instead, because their messages can wait. Shards on which the queues of all members
// are full are selected only if there is no other.

import type { TopicFilter } from '../../protocol/index.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { Interest } from '../model/peer-messages.ts'
import type { SharedGroup } from '../topics/index.ts'

export interface ShardChoice {
  /** `$share/name/filter`. */
  readonly filter: TopicFilter
  readonly onPeers: SharedGroup<Peer, Interest>
  /** Number of the message in the round-robin of the group, from 0. */
  readonly turn: number
  /** True if this shard can be selected. */
  readonly canBeHere: boolean
  /** Numbers of shards that had no member. */
  readonly except: ReadonlySet<number> | undefined
  /** QoS 1 or 2: persistent members without a client can receive it. */
  readonly canBeStored: boolean
}

/** Returns undefined if no member can receive the message. */
export function chooseShard(peers: PeerTable, choice: ShardChoice): Peer | 'here' | undefined {
  if (!choice.canBeStored) return choosePeer(peers, choice, 'present')
  return (
    choosePeer(peers, choice, 'present', 'with-space') ??
    choosePeer(peers, choice, 'stored', 'with-space') ??
    choosePeer(peers, choice, 'stored')
  )
}

function choosePeer(
  peers: PeerTable,
  choice: ShardChoice,
  by: 'present' | 'stored',
  which: 'all' | 'with-space' = 'all',
): Peer | 'here' | undefined {
  const own = choice.canBeHere ? peers.interest.find(choice.filter) : undefined
  const isSkipped = own === undefined || (which === 'with-space' && own.isFull)
  const ownWeight = isSkipped ? 0 : by === 'present' ? own.present : own.storedMembers
  let total = ownWeight
  for (const { subscriber, options } of choice.onPeers.iterateMembers())
    total += computeWeight(subscriber, options, { choice, by, which })
  if (total === 0) return undefined
  let index = choice.turn % total
  if (index < ownWeight) return 'here'
  index -= ownWeight
  for (const { subscriber, options } of choice.onPeers.iterateMembers()) {
    index -= computeWeight(subscriber, options, { choice, by, which })
    if (index < 0) return subscriber
  }
  return undefined
}

function computeWeight(
  peer: Peer,
  interest: Interest,
  { choice, by, which }: { choice: ShardChoice; by: 'present' | 'stored'; which: 'all' | 'with-space' },
): number {
  if (choice.except?.has(peer.number) === true || (which === 'with-space' && interest.isFull)) return 0
  // The interest of a peer without a link is removed in slices. Its clients are not connected, and those of a local shard do not return.
  if (peer.link === undefined && (by === 'present' || peer.isLocal)) return 0
  return by === 'present' ? interest.members : interest.storedMembers
}
