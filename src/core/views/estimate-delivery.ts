// Estimates the deliveries of a message to sessions of this shard, if it were published now. Read only.

import { parseTopicName, type QoS } from '../../protocol/index.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import { selectMaxStored, selectOverflow } from '../queues/persistent-queue.ts'
import type { Parts } from '../state/parts.ts'
import { computeEffectiveQoS, hasQueueSpace } from '../queues/enqueue-for-session.ts'
import type { Session } from '../state/sessions/session.ts'

export interface DeliveryEstimate {
  /** Non-shared subscribers. The member of a shared subscription is known only when it is chosen. */
  readonly matched: number
  /** Subscribers to which the message would be sent at once. */
  readonly sent: number
  /** Subscribers for which the message would be queued. */
  readonly queued: number
  /** Subscribers whose full queue would lose its oldest message. */
  readonly dropped: number
}

export function estimateDelivery(
  state: Parts<'memory' | 'router' | 'settings' | 'topics'>,
  topics: readonly string[],
  qos: QoS,
): DeliveryEstimate {
  const estimate = { matched: 0, sent: 0, queued: 0, dropped: 0 }
  for (const text of topics) {
    const name = parseTopicName(text)
    if (name === undefined) continue
    for (const match of state.router.resolvePlan(state.topics.internName(name)).localMatches) {
      estimate.matched++
      const outcome = estimateOutcome(state, match.subscriber, computeEffectiveQoS(state.settings, qos, match.qos))
      if (outcome !== 'missed') estimate[outcome]++
      if (outcome === 'queued' && losesOldest(state.settings, match.subscriber)) estimate.dropped++
    }
  }
  return estimate
}

function losesOldest(settings: CoreSettings, session: Session): boolean {
  const count = session.stored?.count ?? 0
  return count >= selectMaxStored(settings, session) && selectOverflow(settings, session) === 'drop-oldest'
}

/** `missed`: at QoS 0, or for a clean session, nothing is queued for a disconnected client. */
export function estimateOutcome(
  state: Parts<'memory' | 'settings'>,
  session: Session,
  qos: QoS,
): 'sent' | 'queued' | 'missed' {
  const { connection } = session
  if (connection === undefined) return qos > 0 && session.stored !== undefined ? 'queued' : 'missed'
  if (qos === 0) return connection.unsentBytes <= state.settings.maxUnsentBytes ? 'sent' : 'missed'
  return session.outgoing.pendingCount === 0 && hasQueueSpace(state, session, connection) ? 'sent' : 'queued'
}
