// SUBSCRIBE and UNSUBSCRIBE.

import {
  removeFilterPrefix,
  countLevels,
  hasWildcard,
  measurePacket,
  reasonCodes,
  splitExclusiveFilter,
  splitSharedFilter,
  type SubackPacket,
  type SubscribePacket,
  type SubscriptionRequest,
  type TopicFilter,
  type UnsubscribePacket,
  type UnsubscribeProperties,
} from '../../protocol/index.ts'
import type { SubscriptionTrigger } from '../model/rule-trigger.ts'
import type { SubscriptionRecord } from '../../records/index.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import { decodeRequestedQoS } from '../messages/internal-client-options.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { SubscriptionState } from '../state/subscription-state.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts, SubscribeParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { Open } from '../state/connection-state.ts'
import { finishPart, maxFiltersPerPart, startParts } from './filter-parts.ts'
import { findDeniedFilters } from '../connect/authorize-subscribe.ts'
import type { SendLimits } from '../model/rate-limiter.ts'
import { rewriteFilter } from '../model/topic-rewrites.ts'
import { addFilterMountpoint } from '../namespaces/mountpoint.ts'
import { splitNamespacedName } from '../namespaces/namespaced-names.ts'
import { endExclusiveWait, findHeldFilters } from '../peers/exclusive-wait.ts'
import { endConnection } from '../connect/close-connection.ts'
import { exceedsSubscriptionLimits, isRefusedForMemory } from '../connect/subscription-limits.ts'
import { findCounterpart, releaseExclusive, canHold, recordHeld } from '../peers/exclusive-subscriptions.ts'
import { isUnsubscribeIgnored, findKeptSubscription } from '../retained/read-only-subscription.ts'
import { cancelReplays, startRetainedReplay } from '../retained/retained-replay.ts'
import { sendSubackWhenSeen, updateInterest, toPresence } from '../peers/update-interest.ts'
import { sendPacket, createWithReasonString } from '../outgoing/send-to-client.ts'
import type { Refused } from '../model/packet-refusal.ts'
import { putRecord, deleteRecord } from '../queues/persistent-queue.ts'
import type { Session } from '../state/sessions/session.ts'
import type { SubscriptionOptions } from '../topics/index.ts'

/** The only failure code of a 3.1.1 SUBACK [MQTT-3.9.3-2]. */
const subackFailure311 = 0x80

export function handleSubscribe(state: BrokerState, connection: Connection, open: Open, packet: SubscribePacket): void {
  if (!canSendResponse(state, connection, { type: 'suback', count: packet.subscriptions.length })) return
  if (packet.subscriptions.length > maxFiltersPerPart)
    return handleSubscribe(state, connection, open, startParts(open, packet))
  const denied = findDeniedFilters(state, connection, open, packet)
  if (denied === undefined) return
  const held = findHeldFilters(state, connection, open, { packet, denied })
  if (held === undefined) return
  const { session } = open
  const identifier = packet.properties?.subscriptionIdentifier
  // [MQTT-3.8.4-4] [MQTT5-3.8.4-5] Filters are handled one after the other, as in separate packets. So a filter may be refused because
  // an earlier one has reached a limit.
  let firstText: string | undefined
  const refuse = (request: SubscriptionRequest, reason: number): number => {
    const refused = explainReason(reason)
    state.counts.countRefusal(session.clientId, 'SUBSCRIBE', request.filter, refused)
    firstText ??= `${request.filter}: ${refused.text}`
    return toSubackCode(connection, request, reason)
  }
  const outcomes = packet.subscriptions.map((request, index) => {
    const renamed = rewriteRequestedFilter(state, connection, session, request.filter)
    if (renamed === undefined) return refuse(request, reasonCodes.notAuthorized)
    const filter = exceedsFilterLimits(state.settings, request.filter)
      ? undefined
      : addFilterMountpoint(connection.mountpoint, renamed)
    if (filter === undefined) return refuse(request, reasonCodes.topicFilterInvalid)
    if (connection.sendLimits !== undefined && !takeSubscription(state, connection.sendLimits))
      return refuse(request, reasonCodes.quotaExceeded)
    const isHeld = held.size > 0 && held.has(removeFilterPrefix(filter)) && splitExclusiveFilter(filter) !== undefined
    const found = isHeld ? reasonCodes.quotaExceeded : checkSubscription(state, session, filter)
    const refusal = denied.has(index) ? reasonCodes.notAuthorized : found
    if (refusal !== undefined) return refuse(request, refusal)
    const kept = findKeptSubscription(connection, packet, session, filter)
    if (kept !== undefined) return { filter, options: kept, isNew: true }
    return subscribe(state, session, filter, toSubscriptionOptions(state.settings, connection, request, identifier))
  })
  endExclusiveWait(state, connection)
  const reasonCodesInOrder = outcomes.map((outcome) => (typeof outcome === 'number' ? outcome : outcome.options.qos))
  const granted = outcomes.filter((outcome) => typeof outcome !== 'number').map(({ filter }) => filter)
  const { packetId } = packet
  const hasParts = open.filterParts !== undefined
  const all = hasParts ? finishPart(state, connection, open, { reasonCodes: reasonCodesInOrder, granted }) : undefined
  if (!hasParts || all !== undefined) {
    const codes = all?.reasonCodes ?? reasonCodesInOrder
    const suback = createWithReasonString(connection, firstText, (properties): SubackPacket => ({
      type: 'suback',
      packetId,
      reasonCodes: codes,
      properties,
    }))
    sendSubackWhenSeen(state, connection, { session, suback, granted: all?.granted ?? granted })
  }
  for (const outcome of outcomes) {
    if (typeof outcome === 'number') continue
    const { filter, options } = outcome
    if (state.rules.triggers.wanted['session-subscribed'])
      recordSubscription(state, 'session-subscribed', session, {
        filter,
        qos: options.qos,
        properties: packet.properties,
      })
    startRetainedReplay(state, session, filter, outcome)
  }
}

/** Explains a reason code of SUBACK. */
function explainReason(reason: number): Refused {
  switch (reason) {
    case reasonCodes.notAuthorized:
      return { reason, cause: 'not-authorized', text: 'not allowed to subscribe' }
    case reasonCodes.quotaExceeded:
      return {
        reason,
        cause: 'limit-reached',
        text: 'a limit of subscriptions is reached, or the filter is held exclusively',
      }
    case reasonCodes.topicFilterInvalid:
      return {
        reason,
        cause: 'invalid-topic',
        text: 'the filter is too long, has too many levels, or is not supported',
      }
    case reasonCodes.sharedSubscriptionsNotSupported:
      return { reason, cause: 'not-supported', text: 'mqtt.shared_subscription is off' }
    case reasonCodes.wildcardSubscriptionsNotSupported:
      return { reason, cause: 'not-supported', text: 'mqtt.wildcard_subscription is off' }
    default:
      return { reason: reasonCodes.unspecifiedError, cause: 'storage-failing', text: 'the store failed' }
  }
}

/** Counts a subscription against `subscriptions_rate`. Returns false if the client has reached the rate. */
function takeSubscription({ counts, nowMs }: Parts<'counts' | 'nowMs'>, { subscriptions }: SendLimits): boolean {
  if (subscriptions === undefined) return true
  if ((subscriptions.computeRemaining(nowMs).messages?.left ?? 0) < 1) {
    counts.subscriptionsRefusedByRate++
    return false
  }
  subscriptions.take(0, nowMs)
  return true
}

/** Returns the rewritten filter. Undefined: clients must not subscribe to the result. */
function rewriteRequestedFilter(
  { settings: { topicRewrites: rules }, matchRegex }: Parts<'matchRegex' | 'settings'>,
  { listener }: Connection,
  { clientId, identity }: Session,
  filter: TopicFilter,
): TopicFilter | undefined {
  if (rules === undefined || listener.isInternal === true) return filter
  const who = { clientId: splitNamespacedName(clientId).name, username: identity.username }
  return rewriteFilter({ rules, matchRegex }, filter, who)
}

/** Records the subscription for rules. */
export function recordSubscription(
  state: Parts<'nowMs' | 'rules'>,
  kind: SubscriptionTrigger['kind'],
  { clientId, identity: { username }, connection }: Session,
  details: Pick<SubscriptionTrigger, 'filter' | 'qos' | 'properties'>,
): void {
  if (isInternalClient(clientId)) return
  state.rules.triggers.add({ kind, clientId, username, connection, ...details, atMs: state.nowMs })
}

/** mqtt.max_topic_levels and mqtt.max_topic_length. `$share` and the group do not count as levels. */
function exceedsFilterLimits(settings: CoreSettings, filter: TopicFilter): boolean {
  const levels = countLevels(splitSharedFilter(filter)?.filter ?? filter)
  return levels > settings.maxTopicLevels || Buffer.byteLength(filter) > settings.maxTopicBytes
}

/**
 * A SUBACK of MQTT 3.1 has no failure code. A 3.1 client without permission gets the requested QoS and receives
 * nothing. If the broker cannot make the subscription, it sends the code of 3.1.1, which most of these clients
 * understand.
 */
function toSubackCode(connection: Connection, request: SubscriptionRequest, reason: number): number {
  if (connection.version === 5) return reason
  return connection.version === 3 && reason === reasonCodes.notAuthorized ? request.qos : subackFailure311
}

/**
 * [MQTT5-3.1.2-24] Returns false and closes the connection if SUBACK or UNSUBACK would exceed the Maximum Packet Size of the client. No
 * subscription is changed then.
 */
function canSendResponse(
  state: BrokerState,
  connection: Connection,
  ack: { type: 'suback' | 'unsuback'; count: number },
): boolean {
  if (connection.maximumPacketBytes === Infinity) return true
  const codes: number[] = Array.from({ length: ack.count }, () => 0)
  const packet = { type: ack.type, packetId: 1, reasonCodes: codes, properties: undefined }
  if (measurePacket(packet, connection.version) <= connection.maximumPacketBytes) return true
  const text = `the ${ack.type} for ${ack.count} filters is larger than the Maximum Packet Size of the client`
  endConnection(state, connection, { reason: reasonCodes.packetTooLarge, text, publishWill: true })
  return false
}

/** Returns the reason code of SUBACK for a refused subscription, or undefined. */
export function checkSubscription(
  state: Parts<'memory' | 'settings' | 'storage' | 'subscriptions'>,
  session: Session,
  filter: TopicFilter,
): number | undefined {
  const { settings } = state
  if (splitExclusiveFilter(filter) !== undefined && !settings.exclusiveSubscriptionAvailable)
    return reasonCodes.topicFilterInvalid
  if (!canHold(state.subscriptions, session, filter)) return reasonCodes.quotaExceeded
  const isShared = splitSharedFilter(filter) !== undefined
  if (isShared && !settings.sharedSubscriptionAvailable) return reasonCodes.sharedSubscriptionsNotSupported
  if (!settings.wildcardSubscriptionAvailable && hasWildcard(filter))
    return reasonCodes.wildcardSubscriptionsNotSupported
  if (exceedsSubscriptionLimits(settings, session, filter) || isRefusedForMemory(state.memory, session, filter))
    return reasonCodes.quotaExceeded
  if (session.stored !== undefined && !state.storage.isHealthy) return reasonCodes.unspecifiedError
  return undefined
}

function toSubscriptionOptions(
  settings: CoreSettings,
  { hasNoLocal, listener }: Connection,
  request: SubscriptionRequest,
  identifier: number | undefined,
): SubscriptionOptions {
  const qos = request.qos < settings.maximumQoS ? request.qos : settings.maximumQoS
  const { retainHandling } = request
  const noLocal = request.noLocal || hasNoLocal
  const retainAsPublished = request.retainAsPublished || hasNoLocal
  const options = { qos, noLocal, retainAsPublished, retainHandling }
  // Bridges use the identifier for the QoS: see internal-client-options.ts.
  if (listener.isInternal === true)
    return { ...options, identifier: undefined, raisesTo: decodeRequestedQoS(identifier) }
  return { ...options, identifier, raisesTo: 0 }
}

/** [MQTT-3.8.4-3] [MQTT5-3.8.4-3] A subscription to the same filter replaces the earlier one. */
export function subscribe(
  state: SubscribeParts,
  session: Session,
  filter: TopicFilter,
  options: SubscriptionOptions,
): { filter: TopicFilter; options: SubscriptionOptions; isNew: boolean } {
  if (isExclusive(state.subscriptions, filter)) acquireExclusive(state, session, filter)
  session.subscriptions ??= new Map()
  const before = session.subscriptions.get(filter)
  const isNew = before === undefined
  session.subscriptions.set(filter, options)
  if (isNew) {
    state.subscriptions.countSubscription(session, filter, 1)
    session.subscriptionUsage?.add(filter)
  }
  state.router.subscribe(filter, session, options)
  // Publishers may wait until a member of the shared subscription has space.
  state.rules.hasActionCapacity = true
  updateInterest(state.peers, toPresence(session), filter, { before, after: options })
  state.bridges.clientFilters?.recordChange(session, filter, { before, after: options })
  if (session.stored !== undefined) putRecord(state.batches, toSubscriptionRecord(session, filter, options))
  state.outputs.events.push({ event: 'subscribed', clientId: session.clientId, filter, qos: options.qos })
  return { filter, options, isNew }
}

function toSubscriptionRecord(session: Session, filter: TopicFilter, options: SubscriptionOptions): SubscriptionRecord {
  const { raisesTo, identifier: own, ...others } = options
  const identifier = raisesTo > 0 ? raisesTo : own
  return { kind: 'subscription', clientId: session.clientId, filter, ...others, identifier }
}

/** Returns whether the filter is exclusive, or may conflict with an exclusive filter. */
function isExclusive(subscriptions: SubscriptionState, filter: TopicFilter): boolean {
  return subscriptions.exclusiveHolders.size > 0 || splitExclusiveFilter(filter) !== undefined
}

function acquireExclusive(state: SubscribeParts, session: Session, filter: TopicFilter): void {
  const other = findCounterpart(session, filter)
  if (other !== undefined) unsubscribe(state, session, other)
  recordHeld(state, session, filter)
}

export function handleUnsubscribe(
  state: BrokerState,
  connection: Connection,
  open: Open,
  packet: UnsubscribePacket,
): void {
  if (!canSendResponse(state, connection, { type: 'unsuback', count: packet.filters.length })) return
  if (packet.filters.length > maxFiltersPerPart)
    return handleUnsubscribe(state, connection, open, startParts(open, packet))
  const { session } = open
  const found = packet.filters.map((filter) => {
    const renamed = rewriteRequestedFilter(state, connection, session, filter)
    const mounted = renamed === undefined ? undefined : addFilterMountpoint(connection.mountpoint, renamed)
    if (mounted === undefined || isUnsubscribeIgnored(connection, packet, session, mounted)) return false
    return unsubscribe(state, session, mounted, packet.properties)
  })
  const codes = found.map((existed) => (existed ? reasonCodes.success : reasonCodes.noSubscriptionExisted))
  const hasParts = open.filterParts !== undefined
  const all = hasParts ? finishPart(state, connection, open, { reasonCodes: codes, granted: [] }) : undefined
  if (hasParts && all === undefined) return
  const inOrder = connection.version === 5 ? (all?.reasonCodes ?? codes) : []
  const unsuback = { type: 'unsuback', packetId: packet.packetId, reasonCodes: inOrder, properties: undefined } as const
  sendPacket(state, connection, unsuback, session.stored !== undefined)
}

/** Returns true if the subscription existed. */
export function unsubscribe(
  state: SubscribeParts,
  session: Session,
  filter: TopicFilter,
  properties?: UnsubscribeProperties,
): boolean {
  const before = session.subscriptions?.get(filter)
  if (before === undefined) return false
  session.subscriptions?.delete(filter)
  session.subscriptionUsage?.remove(filter)
  state.subscriptions.countSubscription(session, filter, -1)
  state.router.unsubscribe(filter, session)
  // Publishers may wait for the queue of the session.
  state.rules.hasActionCapacity = true
  releaseExclusive(state, session, filter)
  updateInterest(state.peers, toPresence(session), filter, { before, after: undefined })
  state.bridges.clientFilters?.recordChange(session, filter, { before, after: undefined })
  cancelReplays(state, session, filter)
  if (session.stored !== undefined)
    deleteRecord(state.batches, { kind: 'subscription', clientId: session.clientId, filter })
  state.outputs.events.push({ event: 'unsubscribed', clientId: session.clientId, filter })
  if (state.rules.triggers.wanted['session-unsubscribed'])
    recordSubscription(state, 'session-unsubscribed', session, { filter, qos: before.qos, properties })
  return true
}
