// Limits for the subscriptions of one session, and for their cost: see `sessions/subscription-usage.ts`.

import type { TopicFilter } from '../../protocol/index.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import type { MemoryAccount } from '../model/memory-account.ts'
import type { Session } from '../state/sessions/session.ts'
import { SubscriptionUsage } from '../state/sessions/subscription-usage.ts'
import type { CoreSettings } from '../model/core-settings.ts'

/**
 * Returns whether a new subscription to `filter` would exceed a limit. For internal clients the configuration decides, so only
 * other clients are limited.
 */
export function exceedsSubscriptionLimits(settings: CoreSettings, session: Session, filter: TopicFilter): boolean {
  const { subscriptions } = session
  if (isInternalClient(session.clientId) || subscriptions?.has(filter) === true) return false
  const count = subscriptions?.size ?? 0
  const { maxSubscriptions, maxSubscriptionBytes, maxOverlappingSubscriptions } = settings
  if (count >= maxSubscriptions) return true
  const usage = findOrCountUsage(session, maxOverlappingSubscriptions)
  if ((usage?.bytes ?? 0) + Buffer.byteLength(filter) > maxSubscriptionBytes) return true
  if (usage === undefined) return false
  return usage.overlapping >= maxOverlappingSubscriptions && usage.isNewPattern(filter)
}

/**
 * Sessions with at most this number of subscriptions are not counted. Most have one or two; counting would double their
 * memory.
 */
const uncountedSubscriptions = 8

function findOrCountUsage(session: Session, maxOverlapping: number): SubscriptionUsage | undefined {
  const { subscriptions } = session
  if (subscriptions === undefined || subscriptions.size < Math.min(uncountedSubscriptions, maxOverlapping))
    return undefined
  session.subscriptionUsage ??= countUsage(subscriptions.keys())
  return session.subscriptionUsage
}

function countUsage(filters: Iterable<TopicFilter>): SubscriptionUsage {
  const usage = new SubscriptionUsage()
  for (const filter of filters) usage.add(filter)
  return usage
}

/** While the memory of the node is exhausted, new subscriptions are refused. */
export function isRefusedForMemory(memory: MemoryAccount, session: Session, filter: TopicFilter): boolean {
  return memory.level === 'hard' && !isInternalClient(session.clientId) && session.subscriptions?.has(filter) !== true
}
