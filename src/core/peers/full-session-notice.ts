// When the queue of a session is full, its shard notifies the peers of the filters of the session. So they refuse messages that
// cannot be stored, before delivery (`matchesFullPeerSession`). Messages that were published before the notice arrives are
// refused with the response of this shard.

import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Session, PersistentQueue } from '../state/sessions/session.ts'

/**
 * The part of the queue that must be free before peers are notified that it has space. It prevents frequent notices for a session whose
 * queue stays nearly full.
 */
const freePart = 1 / 64

/** Notifies the peers that the queue is full, unless they were notified before. */
export function announceFull({ interest }: PeerTable, { subscriptions }: Session, stored: PersistentQueue): void {
  if (stored.isFullAnnounced) return
  stored.isFullAnnounced = true
  if (subscriptions !== undefined) interest.changeFullness(subscriptions.keys(), 1)
}

/** Called when a message was removed from a queue that was reported as full. `max`: the limit of the queue. */
export function announceSpace(
  { interest }: PeerTable,
  { subscriptions }: Session,
  stored: PersistentQueue,
  max: number,
): void {
  if (stored.count > max - Math.max(1, Math.floor(max * freePart))) return
  stored.isFullAnnounced = false
  if (subscriptions !== undefined) interest.changeFullness(subscriptions.keys(), -1)
}
