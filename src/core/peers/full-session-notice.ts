// When the queue of a session is full, its shard tells the peers which filters lead to it. So they refuse messages that
// cannot be stored, before delivery (`matchesFullPeerSession`). Messages published before the notice arrives are
// refused with the response of this shard.

import { splitExclusiveFilter } from '../../protocol/index.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Session, PersistentQueue } from '../state/sessions/session.ts'

/**
 * The part of the queue that must be free before peers are told. It prevents frequent changes for a session that stays
 * full.
 */
const freePart = 1 / 64

/** Tells the peers, unless they know. */
export function announceFull(peerTable: PeerTable | undefined, session: Session, stored: PersistentQueue): void {
  if (peerTable === undefined || stored.isFullAnnounced) return
  stored.isFullAnnounced = true
  changeFullness(peerTable, session, 1)
}

/** Called when a message left a queue that the peers know as full. `max`: the limit of the queue. */
export function announceSpace(
  peerTable: PeerTable | undefined,
  session: Session,
  stored: PersistentQueue,
  max: number,
): void {
  if (stored.count > max - Math.max(1, Math.floor(max * freePart))) return
  stored.isFullAnnounced = false
  if (peerTable !== undefined) changeFullness(peerTable, session, -1)
}

function changeFullness({ interest }: PeerTable, { subscriptions }: Session, change: 1 | -1): void {
  for (const filter of subscriptions?.keys() ?? [])
    interest.changeFullness(splitExclusiveFilter(filter) ?? filter, change)
}
