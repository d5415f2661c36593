// Routes a message that was published on this shard: to its sessions, to the peers that need it, to the retained messages, and to
// rules.

import type { PacketId } from '../../protocol/index.ts'
import type { RemainingReceivers } from '../../records/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { DrainParts, Parts, RetainedParts } from '../state/parts.ts'
import type { RetainedOrigin, Message } from '../messages/message.ts'
import { isSourceTopic } from '../messages/source-topics.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Session } from '../state/sessions/session.ts'
import { forwardToPeers } from '../delivery/forward-to-peers.ts'
import type { ForwardOrigin } from '../delivery/peer-deliveries.ts'
import { storeResult, type KeptResult } from './store-result.ts'
import { isForgotten } from './expire-unreleased.ts'
import { isRemainingRetained, markDoneHere } from '../peers/remaining-receivers.ts'
import { deliverLocally, deliverRemaining } from '../delivery/deliver-locally.ts'
import { runMatchedRules, runTriggeredRules } from './run-rules.ts'
import { setRetained } from '../retained/retained-messages.ts'

/**
 * Returns the number of receivers; 0 if there is no subscriber on any shard. `publisher`: undefined if it is not a
 * client of this shard. `packetId`: of a QoS 2 message of a client, else 0. `onceKey`: see `ForwardOrigin`. `kept`: a
 * result of a rule that has a record.
 */
export function routeMessage(
  state: BrokerState,
  message: Message,
  publisher: Session | undefined,
  packetId: PacketId,
  onceKey?: ForwardOrigin['onceKey'],
  storedResult?: KeptResult,
): number {
  if (isSourceTopic(message.topic.name)) return runSourceRules(state, message, isStoredExchange(publisher, packetId))
  let matched = deliverLocally(state, message, publisher)
  if (state.peers.hasAny || message.retain)
    matched += routeToPeers(state, message, publisher, packetId, { onceKey, kept: storedResult })
  if (storedResult !== undefined) storeResult(state, message, storedResult)
  if (state.rules.matched !== undefined)
    runMatchedRules(state, message, routeMessage, isStoredExchange(publisher, packetId))
  if (matched === 0) recordUnmatched(state, message)
  return matched
}

function recordUnmatched({ counts, rules, nowMs }: Parts<'counts' | 'rules' | 'nowMs'>, message: Message): void {
  if (message.publisher !== '') counts.withoutSubscribers++
  if (rules.triggers.wanted['message-dropped']) rules.triggers.addMessageDropped(message, 'no-subscribers', nowMs)
}

/** A message that was delivered in part before the number of shards changed. */
export interface RemainingRoute extends Pick<ForwardOrigin, 'publisher' | 'packetId' | 'onceKey'> {
  readonly remaining: RemainingReceivers
}

/**
 * Routes the message to its remaining receivers. This shard delivers it once, and stores that with `markDoneHere`; then only peers get it
 * again. Returns the number of receivers.
 */
export function routeRemaining(
  state: DrainParts & Parts<'namespaces' | 'shard'>,
  message: Message,
  { publisher, packetId, onceKey, remaining }: RemainingRoute,
): number {
  const isAgain = remaining.isDoneHere
  let matched = 0
  if (!isAgain) {
    matched += deliverRemaining(state, message, { publisher, remaining })
    if (message.retain && isOwnTopic(state.peers, message) && isRemainingRetained(remaining, message.topic.name))
      retainForTopic(state, message, state.peers.retained.nextOrigin(state.shard.own))
  }
  const plan = state.router.resolvePlan(message.topic)
  const origin = { publisher, packetId, isAgain, onceKey, remaining }
  return matched + forwardToPeers(state, { message, plan }, origin)
}

/** Does the same, and runs rules: the shard of the publisher had not stored the message. */
export function routePartial(state: BrokerState, message: Message, route: RemainingRoute): number {
  const { rules } = state.router.resolvePlan(message.topic)
  const matched = routeRemaining(state, message, route)
  if (rules === undefined) return matched
  state.rules.matched = rules
  runMatchedRules(state, message, routeMessage, isStoredExchange(route.publisher, route.packetId))
  return matched + 1
}

/** Returns whether the message is a QoS 2 message whose packet identifier survives a restart: a duplicate then runs no rules. */
function isStoredExchange(publisher: Session | undefined, packetId: PacketId): boolean {
  return packetId !== 0 && publisher?.stored !== undefined
}

/**
 * Routes a new message of a session in which other shards had stored messages that its own shard had not, when the number of shards changed.
 */
export function routeIncoming(
  state: BrokerState,
  message: Message,
  publisher: Session | undefined,
  packetId: PacketId,
): number {
  const partial = publisher?.incoming.partial?.get(packetId)
  if (publisher === undefined || partial === undefined) return routeMessage(state, message, publisher, packetId)
  if (isForgotten(state, partial)) {
    publisher.incoming.partial?.delete(packetId)
    return routeMessage(state, message, publisher, packetId)
  }
  const matched = routePartial(state, message, { publisher, packetId, remaining: partial.receivers })
  markPartialRouted(state, publisher, packetId)
  return matched
}

/** Records that the message was routed to its remaining receivers. Call it before the record is written. */
export function markPartialRouted(
  { nowMs, shard }: Parts<'nowMs' | 'shard'>,
  session: Session,
  packetId: PacketId,
): void {
  const partial = session.incoming.partial?.get(packetId)
  if (partial === undefined) return
  const receivers = markDoneHere(partial.receivers, shard)
  session.incoming.partial?.set(packetId, { receivers, isRouted: true, isAccepted: true, restoredAtMs: nowMs })
}

/** Runs rules for recorded events other than messages. */
export function runRuleTriggers(state: BrokerState): void {
  runTriggeredRules(state, routeMessage)
}

/** A message of a source has no subscribers and is not retained, even if it has the flag RETAIN. */
function runSourceRules(state: BrokerState, message: Message, isStored: boolean): number {
  const { rules } = state.router.resolvePlan(message.topic)
  if (rules === undefined) return 0
  state.rules.matched = rules
  runMatchedRules(state, message, routeMessage, isStored)
  return 1
}

/**
 * Routes to peers, cross-shard groups, and the retained messages. `awaitsRetained`: the barrier waits for the shard that stores the
 * retained message, also at QoS 0.
 */
export function routeToPeers(
  state: DrainParts & Parts<'namespaces' | 'shard'>,
  message: Message,
  publisher: Session | undefined,
  packetId: PacketId,
  options: Pick<ForwardOrigin, 'awaitsRetained' | 'onceKey' | 'kept'> = {},
): number {
  let matched = 0
  const plan = state.router.resolvePlan(message.topic)
  if (message.retain || plan.hasPeers)
    matched += forwardToPeers(state, { message, plan }, { publisher, packetId, isAgain: false, ...options })
  if (message.retain && isOwnTopic(state.peers, message))
    retainForTopic(state, message, state.peers.retained.nextOrigin(state.shard.own))
  return matched
}

function isOwnTopic(peers: PeerTable, { topic }: Message): boolean {
  return peers.findOwner(topic.name) === undefined
}

/** If a limit prevents the retained message, that is counted; nothing else depends on it. */
export function retainForTopic(
  state: RetainedParts & Parts<'counts'>,
  message: Message,
  arrival: RetainedOrigin | undefined,
): void {
  if (setRetained(state, message, arrival) !== undefined) state.counts.countDrop(undefined, message, 'no-retained-room')
}
