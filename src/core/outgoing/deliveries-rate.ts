// A client that is sent as much as its listener allows gets the rest later. Its window is closed until then: QoS 1 and 2 wait in
// their order, where messages for a slow client wait, and QoS 0 is dropped. Connections with the limit are not plain, so that
// all others pay nothing.

import type { Connection } from '../model/connection.ts'
import type { Parts } from '../state/parts.ts'
import type { Session } from '../state/sessions/session.ts'

/** A PUBLISH was sent. Messages sent again count as well; they are not held back. */
export function countDelivery(
  state: Parts<'counts' | 'deadlines' | 'nowMs'>,
  session: Session,
  connection: Connection,
): void {
  const waitMs = connection.sendLimits?.deliveries?.take(0, state.nowMs) ?? 0
  if (waitMs === 0) return
  if (!isPutOff(session)) state.counts.deliveriesPutOff++
  session.outgoing.openWindow = 0
  state.deadlines.set('deliveries-rate', connection, state.nowMs + waitMs)
}

export function isPutOff(session: Session): boolean {
  return session.outgoing.openWindow === 0
}

/** Returns whether the client may be sent messages again. */
export function endPutOff(session: Session, connection: Connection): boolean {
  if (session.connection !== connection) return false
  session.outgoing.openWindow = session.outgoing.windowLimit
  return true
}
