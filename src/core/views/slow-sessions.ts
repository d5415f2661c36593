// Which clients are behind: looked at when somebody asks, so that messages on their way cost nothing for it.

import type { BrokerState } from '../state/broker-state.ts'
import type { Session } from '../state/sessions/session.ts'

export interface SlowSession {
  readonly clientId: string
  /** Of the oldest message that the client has not taken. */
  readonly topic: string
  /** Since that was published. */
  readonly ageMs: number
  /** Messages that wait, in memory and on disk, or are in flight. */
  readonly waiting: number
}

/**
 * One for each session, in no order; undefined: its client is not there or has taken everything. `nowMs` is told, since
 * the time of the last turn is long ago where nothing happens.
 */
export function* walkSlowSessions(state: BrokerState, nowMs: number): IterableIterator<SlowSession | undefined> {
  for (const session of state.sessions.values()) yield slownessOf(session, nowMs)
}

function slownessOf(session: Session, nowMs: number): SlowSession | undefined {
  if (session.connection === undefined) return undefined
  const inFlight = session.inflightCount
  const waiting = inFlight + session.pendingCount + session.onDiskCount
  if (waiting === 0) return undefined
  let oldest = session.pending?.peek()?.message
  if (inFlight > 0) {
    session.outgoing?.forEach(({ message }) => {
      if (message !== undefined && !(oldest !== undefined && oldest.publishedAtMs <= message.publishedAtMs)) {
        oldest = message
      }
    })
  }
  if (oldest === undefined) return undefined
  const ageMs = Math.max(0, nowMs - oldest.publishedAtMs)
  return { clientId: session.clientId, topic: oldest.topic.name, ageMs, waiting }
}
