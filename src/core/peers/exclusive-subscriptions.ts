// Exclusive subscriptions, `$exclusive/filter`: no two sessions hold the same one at a time. A session may hold a filter
// exclusively or as everybody does; the later SUBSCRIBE replaces the earlier, of whichever kind it was.
//
//   book:  filter without `$exclusive/` ──► the session that holds it
//
// The book is made of the subscriptions themselves: what is restored with a session is in it again. Where the node has
// several shards this is what the sessions of one hold; the whole book is kept in parts by all (exclusive-registry.ts).

import { splitExclusiveFilter, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import { ownerOf } from '../model/peer-messages.ts'
import type { Session } from '../state/sessions/session.ts'

/** False: another session has it. True for every filter that is not exclusive. */
export function canHold(state: BrokerState, session: Session, filter: TopicFilter): boolean {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined) return true
  const holder = state.exclusiveHolders.get(bare)
  return holder === undefined || holder === session
}

export function recordHeld(state: BrokerState, session: Session, filter: TopicFilter): void {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined) return
  state.exclusiveHolders.set(bare, session)
  const { peerTable } = state
  if (peerTable === undefined || ownerOf(bare, peerTable.shard.count) !== peerTable.shard.own) return
  peerTable.exclusive.acquire(bare, peerTable.shard.own, session.clientId)
}

export function releaseExclusive(state: BrokerState, session: Session, filter: TopicFilter): void {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined || state.exclusiveHolders.get(bare) !== session) return
  state.exclusiveHolders.delete(bare)
  if (state.peerTable !== undefined) releaseAtOwner(state, state.peerTable, bare, session.clientId)
}

/** `question` of what nobody asks: a shard says what it holds. */
export const announcement = 0

/** To the shard that keeps this part of the book, on which all shards agree. One that is away hears it when it is back. */
export function releaseAtOwner(state: BrokerState, peerTable: PeerTable, filter: TopicFilter, clientId: string): void {
  const { own, count } = peerTable.shard
  const owner = ownerOf(filter, count)
  if (owner === own) return peerTable.exclusive.release(filter, own, clientId)
  if (peerTable.peer(owner).link === undefined) return
  const message = { kind: 'exclusive-given-back', question: announcement, filter, clientId } as const
  state.peerSends.push({ to: owner, message })
}

/** The subscription of the other kind to the same filter, which goes when this one comes; undefined where there is none. */
export function counterpart(session: Session, filter: TopicFilter): TopicFilter | undefined {
  const { subscriptions } = session
  if (subscriptions === undefined || subscriptions.size === 0) return undefined
  const other = splitExclusiveFilter(filter) ?? (`$exclusive/${filter}` as TopicFilter)
  return subscriptions.has(other) ? other : undefined
}
