// Checks of the receivers of a message before it is delivered: whether one of them stores it, and whether their queues have space.

import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts, PermitParts } from '../state/parts.ts'
import type { Message } from '../messages/message.ts'
import { canReceive } from '../state/sessions/can-receive.ts'
import type { Session } from '../state/sessions/session.ts'
import type { MatchedSubscriber, SharedGroup } from '../topics/index.ts'
import { computeEffectiveQoS } from '../queues/enqueue-for-session.ts'
import { isBeyondLimit } from '../queues/drop-oldest.ts'

/**
 * Returns whether a persistent session on any shard, or an action queue, would store the message, so that its acknowledgement waits
 * for a commit.
 */
export function needsStorage(state: Parts<'router' | 'settings'>, message: Message): boolean {
  const plan = state.router.resolvePlan(message.topic)
  if (
    plan.localMatches.some((match) => isStoredForSubscriber(state.settings, match, message)) ||
    plan.groups.length > 0
  )
    return true
  if (message.qos > 0 && plan.rules?.some(({ actionQueues }) => actionQueues.length > 0) === true) return true
  return (
    message.qos > 0 && (plan.peerMatches.some(({ storedQoS }) => storedQoS > 0) || plan.crossShardGroups.length > 0)
  )
}

/** Returns whether the queue of a matching persistent session, or of all members of a shared group, is full. */
export function matchesFullSession(state: PermitParts, message: Message): boolean {
  if (state.sessions.full.size === 0) return false
  const plan = state.router.resolvePlan(message.topic)
  const isFull = ({ subscriber }: { subscriber: Session }): boolean => state.sessions.full.has(subscriber)
  const isAllowed = ({ subscriber }: { subscriber: Session }): boolean => canReceive(state, subscriber, message.topic)
  return (
    plan.localMatches.some((match) => isFull(match) && isStoredForSubscriber(state.settings, match, message)) ||
    plan.groups.some((group) => message.qos > 0 && isGroupFull(group, isAllowed, isFull))
  )
}

/**
 * Does the same for a message that is not refused at the limit, because another shard has accepted it, or because its publisher must not wait:
 * such messages are stored beyond the limit, within a further one. Not for shared groups.
 */
export function matchesOverfullSession(state: PermitParts, message: Message): boolean {
  if (state.sessions.full.size === 0 || message.qos === 0) return false
  const { localMatches } = state.router.resolvePlan(message.topic)
  return localMatches.some(
    (match) => isStoredForSubscriber(state.settings, match, message) && isBeyondLimit(state, match.subscriber),
  )
}

/** Does the same for one shared group. */
export function isGroupOverfull(state: PermitParts, group: SharedGroup<Session>, message: Message): boolean {
  if (state.sessions.full.size === 0 || message.qos === 0) return false
  const isAllowed = ({ subscriber }: { subscriber: Session }): boolean => canReceive(state, subscriber, message.topic)
  return isGroupFull(group, isAllowed, ({ subscriber }) => isBeyondLimit(state, subscriber))
}

/**
 * Returns whether the queue of a matching persistent session of a peer is full, as far as peers reported it, or the queues of all members
 * of a shared subscription that has members on peers.
 */
export function matchesFullPeerSession(state: Parts<'peers' | 'router' | 'settings'>, message: Message): boolean {
  if (state.peers.fullFilters === 0 || message.qos === 0) return false
  const { peerMatches, crossShardGroups } = state.router.resolvePlan(message.topic)
  return (
    peerMatches.some(
      ({ isFull, storedQoS }) => isFull && computeEffectiveQoS(state.settings, message.qos, storedQoS) > 0,
    ) ||
    crossShardGroups.some(
      ({ filter, local, onPeers }) =>
        (local === undefined || state.peers.interest.find(filter)?.isFull === true) &&
        [...onPeers.iterateMembers()].every(({ options }) => options.isFull),
    )
  )
}

type IsTrue = (member: { subscriber: Session }) => boolean

/** Returns whether members of the group may receive the message, and the queues of all these members are full. */
function isGroupFull(group: SharedGroup<Session>, isAllowed: IsTrue, isFull: IsTrue): boolean {
  const allowed = [...group.iterateMembers()].filter(isAllowed)
  return allowed.length > 0 && allowed.every(isFull)
}

/** Returns whether the session of the match stores the message. */
export function isStoredForSubscriber(
  settings: CoreSettings,
  match: MatchedSubscriber<Session>,
  message: Message,
): boolean {
  return match.subscriber.stored !== undefined && computeEffectiveQoS(settings, message.qos, match.qos) > 0
}
