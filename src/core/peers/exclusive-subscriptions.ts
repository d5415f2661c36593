// Exclusive subscriptions, `$exclusive/filter`: one session at a time has an exclusive subscription to a filter. A session has a filter
// either exclusively or normally; the later SUBSCRIBE replaces the subscription of the other kind.
//
//   registry:  filter without `$exclusive/` ──► the session that holds it
//
// The registry is built from the subscriptions, so it is complete after a restart. It is divided among all shards of the node
// (`exclusive-registry.ts`). `exclusiveHolders` are the sessions of this shard that hold filters.

import { splitExclusiveFilter, type TopicFilter } from '../../protocol/index.ts'
import type { Parts } from '../state/parts.ts'
import type { SubscriptionState } from '../state/subscription-state.ts'
import type { Session } from '../state/sessions/session.ts'

/** Returns false if another session holds the filter. True for filters that are not exclusive. */
export function canHold(subscriptions: SubscriptionState, session: Session, filter: TopicFilter): boolean {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined) return true
  const holder = subscriptions.exclusiveHolders.get(bare)
  return holder === undefined || holder === session
}

export function recordHeld(state: Parts<'peers' | 'subscriptions'>, session: Session, filter: TopicFilter): void {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined) return
  state.subscriptions.exclusiveHolders.set(bare, session)
  if (state.peers.findOwner(bare) !== undefined) return
  state.peers.exclusive.registry.acquire(bare, undefined, session.clientId)
}

export function releaseExclusive(
  state: Parts<'outputs' | 'peers' | 'subscriptions'>,
  session: Session,
  filter: TopicFilter,
): void {
  const bare = splitExclusiveFilter(filter)
  if (bare === undefined || state.subscriptions.exclusiveHolders.get(bare) !== session) return
  state.subscriptions.exclusiveHolders.delete(bare)
  releaseAtOwner(state, bare, session.clientId)
}

/** Request ID of announcements, which have no response. */
export const announcement = 0

/**
 * Requests the filter for a client at the shard that owns this part of the registry. Returns the ID of the request if a response will follow.
 * `unreachable`: the shard is restarting, so it is unknown whether the filter is free.
 */
export function requestExclusive(
  { ids, outputs, peers }: Parts<'ids' | 'outputs' | 'peers'>,
  filter: TopicFilter,
  clientId: string,
): 'given' | 'held' | 'unreachable' | number {
  const owner = peers.findOwner(filter)
  if (owner === undefined) return peers.exclusive.registry.acquire(filter, undefined, clientId) ? 'given' : 'held'
  if (owner.link === undefined) return 'unreachable'
  const requestId = ids.nextSerial()
  outputs.peerSends.push({ to: owner.number, message: { kind: 'exclusive-request', requestId, filter, clientId } })
  return requestId
}

/** Releases a filter at the shard that owns this part of the registry. A failed shard gets the current holders when it has restarted. */
export function releaseAtOwner(
  { outputs, peers }: Parts<'outputs' | 'peers'>,
  filter: TopicFilter,
  clientId: string,
): void {
  const owner = peers.findOwner(filter)
  if (owner === undefined) return peers.exclusive.registry.release(filter, undefined, clientId)
  if (owner.link === undefined) return
  const message = { kind: 'exclusive-released', requestId: announcement, filter, clientId } as const
  outputs.peerSends.push({ to: owner.number, message })
}

/** Returns the subscription of the other kind to the same filter, which is replaced; undefined if there is none. */
export function findCounterpart(session: Session, filter: TopicFilter): TopicFilter | undefined {
  const { subscriptions } = session
  if (subscriptions === undefined || subscriptions.size === 0) return undefined
  const other = splitExclusiveFilter(filter) ?? (`$exclusive/${filter}` as TopicFilter)
  return subscriptions.has(other) ? other : undefined
}
