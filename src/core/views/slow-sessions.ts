// Clients that are behind. It is computed on request, so the message path costs nothing for it.

import type { SessionTable } from '../state/sessions/session-table.ts'
import type { Session } from '../state/sessions/session.ts'

export interface SlowSession {
  readonly clientId: string
  /** Topic of the oldest message that the client has not acknowledged. */
  readonly topic: string
  /** Time since its publication. */
  readonly ageMs: number
  /** Messages that are queued, in memory and on disk, or in flight. */
  readonly waiting: number
}

/**
 * One entry per session, in no order; undefined: its client is not connected or has acknowledged everything. `nowMs` is
 * a parameter, because the last turn may be long ago.
 */
export function* walkSlowSessions(sessions: SessionTable, nowMs: number): IterableIterator<SlowSession | undefined> {
  for (const session of sessions.values()) yield measureSlowness(session, nowMs)
}

function measureSlowness(session: Session, nowMs: number): SlowSession | undefined {
  if (session.connection === undefined) return undefined
  const inFlight = session.outgoing.inflightCount
  const waiting = inFlight + session.outgoing.pendingCount + session.onDiskCount
  if (waiting === 0) return undefined
  let oldest = session.outgoing.pending?.peek()?.message
  if (inFlight > 0) {
    session.outgoing.inflight?.forEach(({ message }) => {
      if (message !== undefined && !(oldest !== undefined && oldest.publishedAtMs <= message.publishedAtMs)) {
        oldest = message
      }
    })
  }
  if (oldest === undefined) return undefined
  const ageMs = Math.max(0, nowMs - oldest.publishedAtMs)
  return { clientId: session.clientId, topic: oldest.topic.name, ageMs, waiting }
}
