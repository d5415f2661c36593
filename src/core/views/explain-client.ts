// Explains the permissions of a client and the receivers of a message. Read only.

import {
  hasFilterPrefix,
  hasWildcard,
  parseTopicName,
  splitExclusiveFilter,
  splitSharedFilter,
  type QoS,
  type TopicFilter,
  type TopicName,
} from '../../protocol/index.ts'
import type { Identity } from '../messages/identity.ts'
import type { BrokerRouter } from '../state/broker-state.ts'
import type { StorageState } from '../state/storage-state.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts } from '../state/parts.ts'
import { computeEffectiveQoS } from '../queues/enqueue-for-session.ts'
import { isEventTopic, isReservedInNamespace } from '../messages/reserved-roots.ts'
import { isBrokerTopic } from '../retained/retained-messages.ts'
import { canReceive, isHiddenBelowMountpoint } from '../state/sessions/can-receive.ts'
import type { Session } from '../state/sessions/session.ts'
import type { SubscriptionOptions } from '../topics/index.ts'
import { estimateOutcome } from './estimate-delivery.ts'

/** Identity and remaining limits of a client. */
export interface ClientStatus {
  readonly identity: Identity
  readonly isConnected: boolean
  /** Prefix of its topics. */
  readonly mountpoint: string
  readonly quotas: readonly Quota[]
}

/** A limit of a client, named like its setting. */
export interface Quota {
  readonly name: string
  readonly used: number
  readonly limit: number
}

export function findClientStatus(
  state: Parts<'sessions' | 'settings'>,
  clientId: string,
  nowMs: number,
): ClientStatus | undefined {
  const session = state.sessions.get(clientId)
  if (session === undefined) return undefined
  const { identity, connection, mountpoint } = session
  return {
    identity,
    isConnected: connection !== undefined,
    mountpoint,
    quotas: listQuotas(state.settings, session, nowMs),
  }
}

function listQuotas(settings: CoreSettings, session: Session, nowMs: number): Quota[] {
  const { connection, stored } = session
  const quotas: Quota[] = [
    { name: 'max_subscriptions', used: session.subscriptions?.size ?? 0, limit: settings.maxSubscriptions },
    { name: 'max_awaiting_rel', used: session.incoming.packetIds?.size ?? 0, limit: settings.maxAwaitingRelease },
    { name: 'max_mqueue_len', used: session.outgoing.pendingCount, limit: settings.maxQueuedMessages },
  ]
  if (stored !== undefined)
    quotas.push({
      name: 'max_stored_messages',
      used: stored.count,
      limit: session.internal?.spool?.maxMessages ?? settings.maxStoredMessages,
    })
  if (connection === undefined) return quotas
  quotas.push(
    { name: 'receive_maximum', used: connection.unacknowledgedPublishes, limit: settings.receiveMaximum },
    { name: 'max_inflight_window', used: session.outgoing.inflightCount, limit: session.outgoing.windowLimit },
    { name: 'max_unsent_bytes', used: connection.unsentBytes, limit: settings.maxUnsentBytes },
  )
  const { messages, bytes } = connection.rateLimiter?.computeRemaining(nowMs) ?? {}
  const rates = [
    { name: 'messages_rate', rate: messages },
    { name: 'bytes_rate', rate: bytes },
    { name: 'deliveries_rate', rate: connection.sendLimits?.deliveries?.computeRemaining(nowMs).messages },
    { name: 'subscriptions_rate', rate: connection.sendLimits?.subscriptions?.computeRemaining(nowMs).messages },
  ]
  for (const { name, rate } of rates)
    if (rate !== undefined) quotas.push({ name, used: rate.perSecond - rate.left, limit: rate.perSecond })
  return quotas
}

/** One subscription that matches a topic. */
export interface MatchingSubscription {
  readonly clientId: string
  /** Filter as subscribed, with `$share/group/`. */
  readonly filter: string
  readonly grantedQoS: QoS
  /** The QoS of the delivery. */
  readonly deliveredQoS: QoS
  readonly isConnected: boolean
  /**
   * The outcome for the subscriber: sent; queued; missed (QoS 0 and disconnected); denied (not authorized); own (No
   * Local); group (one member of the group gets it).
   */
  readonly outcome: 'sent' | 'queued' | 'missed' | 'denied' | 'own' | 'group'
}

export interface MatchingFound {
  readonly subscriptions: readonly MatchingSubscription[]
  /** True if there are more entries than requested. */
  readonly isCut: boolean
}

/** Returns at most `limit` matching subscriptions of this shard. */
export function findMatching(
  state: Parts<'access' | 'memory' | 'router' | 'settings' | 'topics'>,
  publication: { readonly topic: string; readonly qos: QoS; readonly publisher: string },
  limit: number,
): MatchingFound {
  const name = parseTopicName(publication.topic)
  const subscriptions: MatchingSubscription[] = []
  if (name === undefined) return { subscriptions, isCut: false }
  for (const [session, filter, options] of walk(state.router, name)) {
    if (subscriptions.length >= limit) return { subscriptions, isCut: true }
    const deliveredQoS = computeEffectiveQoS(state.settings, publication.qos, options.qos)
    subscriptions.push({
      clientId: session.clientId,
      filter,
      grantedQoS: options.qos,
      deliveredQoS,
      isConnected: session.connection !== undefined,
      outcome: explainOutcome(state, session, {
        filter,
        options,
        name,
        deliveredQoS,
        publisher: publication.publisher,
      }),
    })
  }
  return { subscriptions, isCut: false }
}

function* walk(
  router: BrokerRouter,
  topic: TopicName,
): IterableIterator<readonly [session: Session, filter: string, options: SubscriptionOptions]> {
  for (const [filter, filterSubscribers] of router.walkMatching(topic)) {
    for (const [session, options] of filterSubscribers.entries())
      if (!isHiddenBelowMountpoint(session, { name: topic }, filterSubscribers.wildcardStart))
        yield [session, filter, options]
    const groups: {
      name: string
      iterateMembers(): Iterable<{ subscriber: Session; options: SubscriptionOptions }>
    }[] = []
    filterSubscribers.walkGroups((group) => groups.push(group))
    for (const group of groups)
      for (const { subscriber, options } of group.iterateMembers())
        yield [subscriber, `$share/${group.name}/${filter}`, options]
  }
}

function explainOutcome(
  state: Parts<'access' | 'memory' | 'settings' | 'topics'>,
  session: Session,
  match: {
    readonly filter: string
    readonly options: SubscriptionOptions
    readonly name: TopicName
    readonly deliveredQoS: QoS
    readonly publisher: string
  },
): MatchingSubscription['outcome'] {
  if (!canReceive(state, session, state.topics.internName(match.name))) return 'denied'
  if (match.options.noLocal && session.clientId === match.publisher) return 'own'
  if (splitSharedFilter(match.filter as TopicFilter) !== undefined) return 'group'
  return estimateOutcome(state, session, match.deliveredQoS)
}

/** Returns an obstacle to a publication other than permissions, as text; undefined: none. */
export function findPublishObstacle(storage: StorageState, topic: string): string | undefined {
  if (isBrokerTopic(topic)) return "$SYS and the topics below it are the broker's own"
  if (isEventTopic(topic)) return "topics below $event/, $events/ and $bridge/ are the broker's own"
  if (isReservedInNamespace(topic)) return 'topics of the broker are reserved in each namespace'
  if (hasFilterPrefix(topic)) return 'no subscription matches a topic that begins like this'
  return storage.isHealthy ? undefined : 'the disk fails: messages that must be stored are refused'
}

/** Returns an obstacle to a subscription other than permissions. */
export function findSubscribeObstacle(settings: CoreSettings, filter: TopicFilter): string | undefined {
  if (splitExclusiveFilter(filter) !== undefined && !settings.exclusiveSubscriptionAvailable)
    return 'mqtt.exclusive_subscription is off'
  if (splitSharedFilter(filter) !== undefined && !settings.sharedSubscriptionAvailable)
    return 'mqtt.shared_subscription is off'
  if (hasWildcard(filter) && !settings.wildcardSubscriptionAvailable) return 'mqtt.wildcard_subscription is off'
  return undefined
}
