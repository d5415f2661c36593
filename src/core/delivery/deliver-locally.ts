// Delivers one message to all matching sessions of this shard.

import type { RemainingReceivers } from '../../records/index.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { DeliverParts, EnqueueParts, Parts } from '../state/parts.ts'
import type { Message } from '../messages/message.ts'
import { canReceive } from '../state/sessions/can-receive.ts'
import type { Session } from '../state/sessions/session.ts'
import type { DeliveryPlan, MatchedSubscriber, SharedGroup } from '../topics/index.ts'
import { isRemainingGroup, isRemainingSubscriber } from '../peers/remaining-receivers.ts'
import {
  computeEffectiveQoS,
  enqueueForSession,
  hasQueueSpace,
  createUpgradedDelivery,
} from '../queues/enqueue-for-session.ts'
import { isStoredForSubscriber } from './check-receivers.ts'
import { recordLive } from '../peers/retained-from-peers.ts'
import { selectMaxStored, storePayload, releasePayload } from '../queues/persistent-queue.ts'

/** Delivers the message to every matching session, and to one member of each shared group. Returns the number of receivers. */
export function deliverLocally(state: DeliverParts, message: Message, publisher: Session | undefined): number {
  const plan = state.router.resolvePlan(message.topic)
  const isShared =
    plan.localMatches.length + plan.groups.length > 1 && message.qos > 0 && storeSharedPayload(state, plan, message)
  let matched = 0
  if (plan.rules !== undefined) state.rules.matched = plan.rules
  for (const match of plan.localMatches) {
    if (deliver(state, match, message, publisher)) matched++
  }
  for (const group of plan.groups) {
    if (deliverToGroup(state, group, message, undefined)) matched++
  }
  if (isShared) releasePayload(state, message.payloadId)
  if (message.retain) recordLive(state.peers, message)
  return matched
}

/**
 * Delivers a message that was delivered in part before the number of shards changed. The groups are those without members on other shards.
 * Returns the number of receivers.
 */
export function deliverRemaining(
  state: DeliverParts,
  message: Message,
  { publisher, remaining }: { publisher: Session | undefined; remaining: RemainingReceivers },
): number {
  const plan = state.router.resolvePlan(message.topic)
  let matched = deliverToRemaining(state, message, { publisher, remaining })
  for (const group of plan.groups) {
    if (isRemainingGroup(remaining, group.sharedFilter) && deliverToGroup(state, group, message, undefined)) matched++
  }
  return matched
}

/** Does the same without groups. */
export function deliverToRemaining(
  state: EnqueueParts & Parts<'router'>,
  message: Message,
  { publisher, remaining }: { publisher: Session | undefined; remaining: RemainingReceivers },
): number {
  const plan = state.router.resolvePlan(message.topic)
  let matched = 0
  for (const match of plan.localMatches) {
    if (!isRemainingSubscriber(remaining, match.subscriber.clientId)) continue
    if (deliver(state, match, message, publisher)) matched++
  }
  if (message.retain) recordLive(state.peers, message)
  return matched
}

/** Delivers a message of a peer to the non-shared subscribers. The peer names the shared subscriptions to serve. */
export function deliverFromPeer(state: EnqueueParts & Parts<'router'>, message: Message): void {
  const plan = state.router.resolvePlan(message.topic)
  const isShared = plan.localMatches.length > 1 && message.qos > 0 && storeSharedPayload(state, plan, message)
  for (const match of plan.localMatches) deliver(state, match, message, undefined)
  if (isShared) releasePayload(state, message.payloadId)
  if (message.retain) recordLive(state.peers, message)
}

function isQueueFull(settings: CoreSettings, session: Session): boolean {
  return session.stored !== undefined && session.stored.count >= selectMaxStored(settings, session)
}

/**
 * If two or more persistent queues will contain the message, stores its payload once and returns true. The caller then holds a reference
 * to the payload until the message is in all queues, because the first queue may drop it (too large, expired) before the second
 * refers to it.
 */
function storeSharedPayload(
  state: Parts<'batches' | 'payloads' | 'settings'>,
  plan: DeliveryPlan<Session>,
  message: Message,
): boolean {
  let stored = 0
  for (const match of plan.localMatches) if (isStoredForSubscriber(state.settings, match, message)) stored++
  if (stored <= 1) return false
  storePayload(state, message)
  state.payloads.refcounts.add(message.payloadId, 1)
  return true
}

function deliver(
  state: EnqueueParts,
  match: MatchedSubscriber<Session>,
  message: Message,
  publisher: Session | undefined,
): boolean {
  const session = match.subscriber
  if (match.hasNoLocal && session === publisher) return deliverToSelf(state, match, message)
  const qos = computeEffectiveQoS(state.settings, message.qos, match.qos)
  const retain = match.retainAsPublished && message.retain
  if (qos < match.raisesTo) {
    enqueueForSession(state, session, message, createUpgradedDelivery(message, { raisesTo: match.raisesTo, retain }))
    return true
  }
  enqueueForSession(state, session, message, {
    qos,
    retain,
    subscriptionIdentifiers: match.identifiers,
    group: undefined,
  })
  return true
}

/** [MQTT5-3.8.3-3] Delivers to the publisher itself through its subscriptions without No Local. */
function deliverToSelf(state: EnqueueParts, match: MatchedSubscriber<Session>, message: Message): boolean {
  const effective = match.selectEffective(true)
  if (effective === undefined) {
    if (state.rules.triggers.wanted['delivery-dropped']) recordNoLocal(state, match, message)
    return false
  }
  enqueueForSession(state, match.subscriber, message, {
    qos: computeEffectiveQoS(state.settings, message.qos, effective.qos),
    retain: effective.retainAsPublished && message.retain,
    subscriptionIdentifiers: effective.identifiers,
    group: undefined,
  })
  return true
}

/** Records the skipped delivery for rules. */
function recordNoLocal(
  state: Parts<'nowMs' | 'rules' | 'settings'>,
  match: MatchedSubscriber<Session>,
  message: Message,
): void {
  const qos = computeEffectiveQoS(state.settings, message.qos, match.qos)
  const { retain } = message
  const of = { message, qos, retain, reason: 'no-local', atMs: state.nowMs } as const
  state.rules.triggers.addDelivery('delivery-dropped', match.subscriber, of)
}

/**
 * Delivers to one member of the group. In order of preference: a connected member with space in its in-flight window, a connected
 * member, a persistent member with space in its queue, a persistent member that drops and counts the message
 * [MQTT5-4.8.2-4, -5]. `except`: the member that had the message before.
 */
export function deliverToGroup(
  state: EnqueueParts & Parts<'access' | 'shared'>,
  group: SharedGroup<Session>,
  message: Message,
  except: Session | undefined,
): boolean {
  // Members without permission are skipped.
  const isAllowed = (session: Session): boolean => session !== except && canReceive(state, session, message.topic)
  const hasSpace = (session: Session): boolean => isAllowed(session) && !isQueueFull(state.settings, session)
  const member =
    group.pick((session) => hasSpace(session) && isReady(state, session)) ??
    group.pick((session) => hasSpace(session) && session.connection !== undefined) ??
    group.pick((session) => hasSpace(session) && session.stored !== undefined) ??
    group.pick((session) => isAllowed(session) && session.stored !== undefined)
  if (member === undefined) return false
  const { options, subscriber } = member
  const redelivered = except === undefined ? message : state.shared.redelivery.markForSession(message, subscriber)
  const qos = computeEffectiveQoS(state.settings, message.qos, options.qos)
  enqueueForSession(state, subscriber, redelivered, {
    qos,
    retain: options.retainAsPublished && message.retain,
    subscriptionIdentifiers: options.identifier === undefined ? undefined : [options.identifier],
    group: qos === 0 ? undefined : group,
  })
  return true
}

function isReady(state: Parts<'memory' | 'settings'>, session: Session): boolean {
  return (
    session.connection !== undefined &&
    session.outgoing.pendingCount === 0 &&
    hasQueueSpace(state, session, session.connection)
  )
}
