// Numbers of clients, by which lists are ordered and rates are measured. They are read on request, one session after the other.

import type { Parts } from '../state/parts.ts'
import type { Session } from '../state/sessions/session.ts'
import { type ClientFilter, matchesClientFilter } from './client-list.ts'
import { countWaiting } from './client-view.ts'

const numbers = {
  waiting: countWaiting,
  droppedMessages: ({ counts }: Session) => counts.dropped,
  inflight: ({ outgoing }: Session) => outgoing.inflightCount,
  subscriptions: ({ subscriptions }: Session) => subscriptions?.size ?? 0,
  receivedMessages: ({ counts }: Session) => counts.received,
  sentMessages: ({ counts }: Session) => counts.sent,
  receivedBytes: ({ connection }: Session) => connection?.receivedBytes ?? 0,
  sentBytes: ({ connection }: Session) => connection?.sentBytes ?? 0,
  createdAtMs: ({ createdAtMs }: Session) => createdAtMs,
  connectedAtMs: ({ lastConnect }: Session) => lastConnect.atMs ?? 0,
} as const satisfies Record<string, (session: Session) => number>

/** As in `ClientView`; a client that has not connected since the start has the time 0. */
export type ClientNumber = keyof typeof numbers

export interface NumberedClient {
  /** Name of the session. */
  readonly clientId: string
  readonly value: number
}

/** Yields one entry for each session, in no order; undefined: it does not match the filter. */
export function* walkClientNumbers(
  { sessions }: Parts<'sessions'>,
  filter: ClientFilter,
  name: ClientNumber,
): IterableIterator<NumberedClient | undefined> {
  const read = numbers[name]
  for (const session of sessions.values())
    yield matchesClientFilter(session, filter) ? { clientId: session.clientId, value: read(session) } : undefined
}

/** Counters of a connected client: messages of its session, bytes of its connection. */
export interface ClientTraffic {
  /** Name of the session. */
  readonly clientId: string
  readonly receivedMessages: number
  readonly sentMessages: number
  readonly receivedBytes: number
  readonly sentBytes: number
}

/** Yields one entry for each session, in no order; undefined: its client is not connected, or internal, or of another namespace. */
export function* walkClientTraffic(
  { sessions }: Parts<'sessions'>,
  namespace: string | undefined,
): IterableIterator<ClientTraffic | undefined> {
  const filter: ClientFilter = { isConnected: true, isInternal: false, namespace }
  for (const session of sessions.values()) yield matchesClientFilter(session, filter) ? readTraffic(session) : undefined
}

function readTraffic(session: Session): ClientTraffic {
  return {
    clientId: session.clientId,
    receivedMessages: numbers.receivedMessages(session),
    sentMessages: numbers.sentMessages(session),
    receivedBytes: numbers.receivedBytes(session),
    sentBytes: numbers.sentBytes(session),
  }
}
