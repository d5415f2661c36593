// The unacknowledged messages of one session, for administrators. Read only.

import type { QoS } from '../../protocol/index.ts'
import type { Session, SessionDelivery } from '../state/sessions/session.ts'

/**
 * `waiting`: for the in-flight window or for the client. `inflight`: sent. `rel`: after PUBREC, before PUBCOMP
 * [MQTT5-4.3.3].
 */
export type QueuedMessageState = 'waiting' | 'inflight' | 'rel'

export interface QueuedMessageView {
  readonly state: QueuedMessageState
  readonly qos: QoS
  /** 0: it is not stored. */
  readonly sequence: number
  /** Undefined: the message is not needed any more, or only its packet identifier is known after a restart. */
  readonly topic: string | undefined
  readonly payloadBytes: number | undefined
  readonly publishedAtMs: number | undefined
}

export interface ClientQueueView {
  /** In the order of transmission: sent messages, then waiting ones. */
  readonly inMemory: readonly QueuedMessageView[]
  /** Records from this sequence on are on disk only, unless `inMemory` has them. Undefined: there are none. */
  readonly onDiskFrom: number | undefined
}

/** Returns at most `limit` messages of those in memory. */
export function toClientQueue(session: Session, limit: number): ClientQueueView {
  const { stored } = session
  const { outgoing } = session
  const inflight = [...(outgoing.inflight?.listInSendOrder() ?? [])]
  const known = new Set(inflight)
  for (const delivery of outgoing.postponed?.listItems() ?? []) if (!known.has(delivery)) inflight.push(delivery)
  const waiting = [...(outgoing.pending?.listItems() ?? []), ...(stored?.reads.tailInMemory ?? [])]
  return {
    inMemory: [...inflight, ...waiting].slice(0, limit).map(toQueuedMessageView),
    onDiskFrom: stored !== undefined && session.onDiskCount > 0 ? stored.diskFrom : undefined,
  }
}

const stateNames = { waiting: 'waiting', sent: 'inflight', received: 'rel' } as const

function toQueuedMessageView({ stage, qos, sequence, message }: SessionDelivery): QueuedMessageView {
  return {
    state: stateNames[stage],
    qos,
    sequence,
    topic: message?.topic.name,
    payloadBytes: message?.payloadBytes,
    publishedAtMs: message?.publishedAtMs,
  }
}
