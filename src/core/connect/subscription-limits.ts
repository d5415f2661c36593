// How many subscriptions one session may have, and what they may cost others: see `sessions/subscription-usage.ts`.

import type { TopicFilter } from '../../protocol/index.ts'
import { isBridgeClient } from '../model/bridge-client-id.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Session } from '../state/sessions/session.ts'
import { SubscriptionUsage } from '../state/sessions/subscription-usage.ts'
import type { CoreSettings } from '../model/settings.ts'

/** Whether a new subscription to `filter` would exceed a limit. Bridges have what the configuration says, and marks of their own. */
export function exceedsSubscriptionLimits(settings: CoreSettings, session: Session, filter: TopicFilter): boolean {
  const { subscriptions } = session
  if (isBridgeClient(session.clientId) || subscriptions?.has(filter) === true) return false
  const count = subscriptions?.size ?? 0
  const { maxSubscriptions, maxSubscriptionBytes, maxOverlappingSubscriptions } = settings
  if (count >= maxSubscriptions) return true
  const usage = usageOf(session, maxOverlappingSubscriptions)
  if ((usage?.bytes ?? 0) + Buffer.byteLength(filter) > maxSubscriptionBytes) return true
  if (usage === undefined) return false
  return usage.overlapping >= maxOverlappingSubscriptions && usage.isNewPattern(filter)
}

/** So few filters are not counted: most sessions have one or two, and this would double what these take. */
const uncountedSubscriptions = 8

function usageOf(session: Session, maxOverlapping: number): SubscriptionUsage | undefined {
  const { subscriptions } = session
  if (subscriptions === undefined || subscriptions.size < Math.min(uncountedSubscriptions, maxOverlapping))
    return undefined
  session.subscriptionUsage ??= usageOfAll(subscriptions.keys())
  return session.subscriptionUsage
}

function usageOfAll(filters: Iterable<TopicFilter>): SubscriptionUsage {
  const usage = new SubscriptionUsage()
  for (const filter of filters) usage.add(filter)
  return usage
}

/** While the memory of the node is exhausted, new subscriptions are refused. */
export function isRefusedForMemory({ memory }: BrokerState, session: Session, filter: TopicFilter): boolean {
  return memory.level === 'hard' && !isBridgeClient(session.clientId) && session.subscriptions?.has(filter) !== true
}
