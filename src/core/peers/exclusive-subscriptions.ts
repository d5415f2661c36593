// Exclusive subscriptions, `$exclusive/filter`: one session at a time has an exclusive subscription to a filter. A session has a filter
// either exclusively or normally; the later SUBSCRIBE replaces the subscription of the other kind.
//
//   registry:  filter without `$exclusive/` ──► the session that holds it
//
// The registry is built from the subscriptions, so it is complete after a restart. With several shards, it contains the
// filters of the sessions of this shard; the registry of the node is divided among all shards (exclusive-registry.ts).

import { splitExclusiveFilter, type TopicFilter } from '../../protocol/index.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { Parts } from '../state/parts.ts'
import type { SubscriptionState } from '../state/subscription-state.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import { ownerOf } from '../model/peer-messages.ts'
import type { Session } from '../state/sessions/session.ts'

/** Returns false if another session holds the filter. True for filters that are not exclusive. */
export function canHold(subscriptions: SubscriptionState, session: Session, filter: TopicFilter): boolean {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined) return true
  const holder = subscriptions.exclusiveHolders.get(bare)
  return holder === undefined || holder === session
}

export function recordHeld(state: Parts<'peerTable' | 'subscriptions'>, session: Session, filter: TopicFilter): void {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined) return
  state.subscriptions.exclusiveHolders.set(bare, session)
  const { peerTable } = state
  if (peerTable === undefined || ownerOf(bare, peerTable.shard.count) !== peerTable.shard.own) return
  peerTable.exclusive.acquire(bare, peerTable.shard.own, session.clientId)
}

export function releaseExclusive(
  state: Parts<'outputs' | 'peerTable' | 'subscriptions'>,
  session: Session,
  filter: TopicFilter,
): void {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined || state.subscriptions.exclusiveHolders.get(bare) !== session) return
  state.subscriptions.exclusiveHolders.delete(bare)
  if (state.peerTable !== undefined) releaseAtOwner(state.outputs, state.peerTable, bare, session.clientId)
}

/** Request ID of announcements, which have no response. */
export const announcement = 0

/** Releases a filter at the shard that owns this part of the registry. A failed shard gets the current holders when it has restarted. */
export function releaseAtOwner(
  outputs: OutputLists,
  peerTable: PeerTable,
  filter: TopicFilter,
  clientId: string,
): void {
  const { own, count } = peerTable.shard
  const owner = ownerOf(filter, count)
  if (owner === own) return peerTable.exclusive.release(filter, own, clientId)
  if (peerTable.peer(owner).link === undefined) return
  const message = { kind: 'exclusive-released', requestId: announcement, filter, clientId } as const
  outputs.peerSends.push({ to: owner, message })
}

/** Returns the subscription of the other kind to the same filter, which is replaced; undefined if there is none. */
export function counterpart(session: Session, filter: TopicFilter): TopicFilter | undefined {
  const { subscriptions } = session
  if (subscriptions === undefined || subscriptions.size === 0) return undefined
  const other = splitExclusiveFilter(filter) ?? (`$exclusive/${filter}` as TopicFilter)
  return subscriptions.has(other) ? other : undefined
}
