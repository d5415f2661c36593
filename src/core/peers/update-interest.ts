// What sessions here subscribe to is news for the other shards: a SUBACK says that the subscription holds wherever
// somebody publishes, so it waits until all of them have seen it.

import { splitExclusiveFilter, type SubackPacket, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { SessionPresence } from '../state/peers/local-interest.ts'
import type { Session } from '../state/sessions/session.ts'
import type { SubscriptionOptions } from '../topics/index.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { ackWhenCommitted } from '../outgoing/deferred-acks.ts'
import { sendPacket } from '../outgoing/send-to-client.ts'

/** SUBACK: with the disk if the session is stored, and when every shard knows of what was granted. */
export function sendSubackWhenSeen(
  state: BrokerState,
  connection: Connection,
  answer: { session: Session; suback: SubackPacket; granted: readonly TopicFilter[] },
): void {
  const waits = answer.session.stored !== undefined
  const barrier = state.peerTable === undefined ? undefined : barrierForFilters(state.peerTable, answer.granted)
  if (barrier === undefined) return sendPacket(state, connection, answer.suback, waits)
  ackWhenCommitted(state, connection, { what: answer.suback, barrier, waits })
  barrier.arrive()
}

/** Undefined where everybody has seen these filters already; with its maker's mark to come. */
export function barrierForFilters(peerTable: PeerTable, filters: readonly TopicFilter[]): CommitBarrier | undefined {
  const version = Math.max(
    0,
    ...filters.map((filter) => peerTable.interest.versionOf(splitExclusiveFilter(filter) ?? filter)),
  )
  return barrierForVersion(peerTable, version)
}

/**
 * Kept when every shard that is there has seen the interest of this version; undefined where all have. One that is away
 * learns it before it has clients.
 */
export function barrierForVersion(peerTable: PeerTable, version: number): CommitBarrier | undefined {
  let barrier: CommitBarrier | undefined
  for (const { link } of peerTable.peers) {
    if (link === undefined || link.seenVersion >= version) continue
    barrier ??= new CommitBarrier()
    barrier.expect()
    link.awaited.push({ version, barrier })
  }
  return barrier
}

/** How a session counts for the other shards. */
export function presenceOf({ connection, stored }: Session): SessionPresence {
  return {
    isPresent: connection !== undefined,
    isStored: stored !== undefined,
    isFull: stored?.isFullAnnounced === true,
  }
}

/** A subscription of a session here has come, changed or gone; `undefined` on the side where there is none. */
export function updateInterest(
  state: BrokerState,
  standing: SessionPresence,
  filter: TopicFilter,
  change: { before: SubscriptionOptions | undefined; after: SubscriptionOptions | undefined },
): void {
  const interest = state.peerTable?.interest
  if (interest === undefined) return
  const { before, after } = change
  // Who else may hold it is another question: what is published reaches it as any other.
  const bare = splitExclusiveFilter(filter) ?? filter
  if (after !== undefined) interest.change(bare, { ...standing, qos: after.qos }, 1)
  if (before !== undefined) interest.change(bare, { ...standing, qos: before.qos }, -1)
}

/** The client of a session has come (1) or gone (-1): shared subscriptions are dealt out by that. */
export function updatePresence(state: BrokerState, session: Session, change: 1 | -1): void {
  const interest = state.peerTable?.interest
  if (interest === undefined || session.subscriptions === undefined) return
  for (const filter of session.subscriptions.keys()) {
    if (filter.startsWith('$share/')) interest.changePresence(filter, change)
  }
}
