// Updates the local interest: the filters of this shard that its peers know. SUBACK confirms a subscription on all shards, so it waits
// until all peers have the filter.

import { splitExclusiveFilter, type SubackPacket, type TopicFilter } from '../../protocol/index.ts'
import type { AckParts, Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { SessionPresence } from '../state/peers/local-interest.ts'
import type { Session } from '../state/sessions/session.ts'
import type { SubscriptionOptions } from '../topics/index.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { deferAck } from '../outgoing/deferred-acks.ts'
import { sendPacket } from '../outgoing/send-to-client.ts'

/** Sends SUBACK after the commit if the session is persistent, and after every peer has the granted filters. */
export function sendSubackWhenSeen(
  state: AckParts & Parts<'peers'>,
  connection: Connection,
  subscribed: { session: Session; suback: SubackPacket; granted: readonly TopicFilter[] },
): void {
  const waits = subscribed.session.stored !== undefined
  const barrier = createFiltersBarrier(state.peers, subscribed.granted)
  if (barrier === undefined) return sendPacket(state, connection, subscribed.suback, waits)
  deferAck(state, connection, { ack: subscribed.suback, barrier, waitsForBatch: waits })
  barrier.arrive()
}

/** Returns a barrier that completes when all peers have these filters, after the caller calls `arrive`. Undefined if all have them. */
export function createFiltersBarrier(peers: PeerTable, filters: readonly TopicFilter[]): CommitBarrier | undefined {
  let version = 0
  for (const filter of filters)
    version = Math.max(version, peers.interest.findVersion(splitExclusiveFilter(filter) ?? filter))
  return createVersionBarrier(peers, version)
}

/**
 * Returns a barrier for the confirmation of this version by all running peers; undefined if all have it. A failed peer
 * gets the interest before it accepts clients.
 */
export function createVersionBarrier(peers: PeerTable, version: number): CommitBarrier | undefined {
  let barrier: CommitBarrier | undefined
  for (const { link } of peers.all) {
    if (link === undefined || link.seenVersion >= version) continue
    barrier ??= new CommitBarrier()
    barrier.expect()
    link.awaited.push({ version, barrier })
  }
  return barrier
}

/** Returns how a session counts for the peers. */
export function toPresence({ connection, stored }: Session): SessionPresence {
  return {
    isPresent: connection !== undefined,
    isStored: stored !== undefined,
    isFull: stored?.isFullAnnounced === true,
  }
}

/** Called when a subscription was added (`before` undefined), changed, or removed (`after` undefined). */
export function updateInterest(
  { interest }: PeerTable,
  presence: SessionPresence,
  filter: TopicFilter,
  change: { before: SubscriptionOptions | undefined; after: SubscriptionOptions | undefined },
): void {
  const { before, after } = change
  // For peers an exclusive filter is like any other filter. The registry handles the exclusion.
  const bare = splitExclusiveFilter(filter) ?? filter
  if (after !== undefined) interest.change(bare, { ...presence, qos: after.qos }, 1)
  if (before !== undefined) interest.change(bare, { ...presence, qos: before.qos }, -1)
}

/**
 * Called when the client of a session connected (1) or disconnected (-1), which changes the distribution of shared messages.
 */
export function updatePresence({ interest }: PeerTable, { subscriptions }: Session, change: 1 | -1): void {
  if (subscriptions !== undefined) interest.changePresence(subscriptions.keys(), change)
}
