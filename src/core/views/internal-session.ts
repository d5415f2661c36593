// State of the session of an internal client, for the bridge, action or source to which it belongs.

import type { PacketId, TopicFilter } from '../../protocol/index.ts'
import type { SessionTable } from '../state/sessions/session-table.ts'
import type { Session } from '../state/sessions/session.ts'
import type { SubscriptionOptions } from '../topics/index.ts'

export interface InternalSessionView {
  readonly subscriptions: ReadonlyMap<TopicFilter, SubscriptionOptions>
  /** Packet identifiers of QoS 2 messages from the client for which it has not sent PUBREL. */
  readonly unreleased: readonly PacketId[]
  /** Number of messages that the client has not acknowledged, on disk and in memory. */
  readonly spooled: number
  /** Publication time of the oldest of them, if it is in memory; undefined: there is none, or it is on disk only. */
  readonly oldestAtMs: number | undefined
  /** Number of messages of the session that were dropped. */
  readonly dropped: number
  /** Drops by reason. */
  readonly drops: ReadonlyMap<string, number>
  /** Sequence number of the first message that may be on disk; undefined: none is on disk. */
  readonly onDiskFrom: number | undefined
}

const nothing: ReadonlyMap<TopicFilter, SubscriptionOptions> = new Map()
const none: ReadonlyMap<string, number> = new Map()

export function toInternalSessionView(sessions: SessionTable, clientId: string): InternalSessionView | undefined {
  const session = sessions.get(clientId)
  if (session === undefined) return undefined
  return {
    subscriptions: session.subscriptions ?? nothing,
    unreleased: [...(session.incoming.packetIds?.entries() ?? [])].map(([packetId]) => packetId),
    spooled: session.stored?.count ?? session.outgoing.inflightCount + session.outgoing.pendingCount,
    oldestAtMs: findOldestAtMs(session),
    dropped: session.counts.dropped,
    drops: session.internal?.drops ?? none,
    onDiskFrom: session.onDiskCount > 0 ? session.stored?.diskFrom : undefined,
  }
}

function findOldestAtMs({ outgoing }: Session): number | undefined {
  let oldestAtMs = outgoing.pending?.peek()?.message?.publishedAtMs
  outgoing.inflight?.forEach(({ message }) => {
    const atMs = message?.publishedAtMs
    if (atMs !== undefined && (oldestAtMs === undefined || atMs < oldestAtMs)) oldestAtMs = atMs
  })
  return oldestAtMs
}
