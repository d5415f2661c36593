// Limits the rate of messages to one client. When the client has received as many messages as its listener allows, its in-flight
// window is closed for a time: messages with QoS 1 and 2 stay in its queue in their order, and messages with QoS 0 are dropped.
// A connection with this limit is not plain (`Connection.isPlain`), so that connections without it pay nothing.

import type { Connection } from '../model/connection.ts'
import type { Parts } from '../state/parts.ts'
import type { Session } from '../state/sessions/session.ts'

/** Counts a sent PUBLISH. Redelivered messages count as well, but are never delayed. */
export function countDelivery(
  state: Parts<'counts' | 'deadlines' | 'nowMs'>,
  session: Session,
  connection: Connection,
): void {
  const waitMs = connection.sendLimits?.deliveries?.take(0, state.nowMs) ?? 0
  if (waitMs === 0) return
  if (!isDeferred(session)) state.counts.deferredDeliveries++
  session.outgoing.openWindow = 0
  state.deadlines.set('deliveries-rate', connection, state.nowMs + waitMs)
}

export function isDeferred(session: Session): boolean {
  return session.outgoing.openWindow === 0
}

/** Opens the window again. Returns false if the session has another connection now. */
export function endDeferral(session: Session, connection: Connection): boolean {
  if (session.connection !== connection) return false
  session.outgoing.openWindow = session.outgoing.windowLimit
  return true
}
