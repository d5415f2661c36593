// Routes a message that was published on this shard: to its sessions, to the peers that need it, to the retained messages, and to
// rules.

import type { PacketId } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { DrainParts, Parts, RetainedParts } from '../state/parts.ts'
import type { RetainedOrigin, Message } from '../messages/message.ts'
import { isSourceTopic } from '../messages/source-topics.ts'
import { ownerOf, type ShardPlace } from '../model/peer-messages.ts'
import type { Session } from '../state/sessions/session.ts'
import { forwardToPeers, type ForwardOrigin } from './forward-to-peers.ts'
import { deliverLocally } from './deliver-locally.ts'
import { runMatchedRules, runTriggeredRules } from './run-rules.ts'
import { setRetained } from '../retained/retained-messages.ts'

/**
 * Returns the number of receivers; 0 if there is no subscriber on any shard. `publisher`: undefined if it is not a
 * client of this shard. `packetId`: of a QoS 2 message of a client, else 0. `onceKey`: see `ForwardOrigin`.
 */
export function routeMessage(
  state: BrokerState,
  message: Message,
  publisher: Session | undefined,
  packetId: PacketId,
  onceKey?: ForwardOrigin['onceKey'],
): number {
  if (isSourceTopic(message.topic.name)) return runSourceRules(state, message)
  const matched =
    deliverLocally(state, message, publisher) + routeToPeers(state, message, publisher, packetId, { onceKey })
  if (state.rules.matched !== undefined) runMatchedRules(state, message, routeMessage)
  if (matched === 0 && state.rules.triggers.wanted['message-dropped'])
    state.rules.triggers.addMessageDropped(message, 'no-subscribers', state.nowMs)
  return matched
}

/** Runs rules for recorded events other than messages. */
export function runRuleTriggers(state: BrokerState): void {
  runTriggeredRules(state, routeMessage)
}

/** A message of a source has no subscribers and is not retained, even if it has the flag RETAIN. */
function runSourceRules(state: BrokerState, message: Message): number {
  const { rules } = state.router.planFor(message.topic)
  if (rules === undefined) return 0
  state.rules.matched = rules
  runMatchedRules(state, message, routeMessage)
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
  more: Pick<ForwardOrigin, 'awaitsRetained' | 'onceKey'> = {},
): number {
  let matched = 0
  const { peerTable } = state
  if (peerTable !== undefined) {
    const plan = state.router.planFor(message.topic)
    if (message.retain || plan.hasPeers)
      matched += forwardToPeers(state, peerTable, { message, plan }, { publisher, packetId, isAgain: false, ...more })
  }
  if (message.retain && isOwn(state.shard, message))
    retainForTopic(state, message, localOrigin(peerTable ?? state.retained, state.shard.own))
  return matched
}

function isOwn(shard: ShardPlace, message: Message): boolean {
  const { own, count } = shard
  return count === 1 || ownerOf(message.topic.name, count) === own
}

/** The object that counts also identifies the link, because the numbers are valid for one link. */
function localOrigin(counted: { retainedHere: number }, shard: number): RetainedOrigin {
  return { shard, link: counted, number: ++counted.retainedHere }
}

/** If a limit prevents the retained message, that is counted; nothing else depends on it. */
export function retainForTopic(
  state: RetainedParts & Parts<'counts'>,
  message: Message,
  arrival: RetainedOrigin | undefined,
): void {
  if (setRetained(state, message, arrival) !== undefined) state.counts.countDrop(undefined, message, 'no-retained-room')
}
