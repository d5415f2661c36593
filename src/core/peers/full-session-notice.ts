// A session here holds as many messages as it may: each shard tells the others which of its filters lead to one, so that
// what cannot be kept is refused before anybody has heard it (`meetsFullSessionElsewhere`). News takes a moment: what is
// published meanwhile is refused with the answer of this shard.

import { splitExclusiveFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Session, PersistentQueue } from '../state/sessions/session.ts'

/** The part of its room that has to be free again before others are told: who is full all the time is told of once. */
const freePart = 1 / 64

/** The others are to know, if they do not. */
export function announceFull(state: BrokerState, session: Session, stored: PersistentQueue): void {
  if (state.peerTable === undefined || stored.isFullAnnounced) return
  stored.isFullAnnounced = true
  changeFullness(state.peerTable, session, 1)
}

/** Something has gone out of a session of which the others know that it is full. `max`: the messages that it may hold. */
export function announceRoom(state: BrokerState, session: Session, stored: PersistentQueue, max: number): void {
  if (stored.count > max - Math.max(1, Math.floor(max * freePart))) return
  stored.isFullAnnounced = false
  if (state.peerTable !== undefined) changeFullness(state.peerTable, session, -1)
}

function changeFullness({ interest }: PeerTable, { subscriptions }: Session, change: 1 | -1): void {
  for (const filter of subscriptions?.keys() ?? [])
    interest.changeFullness(splitExclusiveFilter(filter) ?? filter, change)
}
