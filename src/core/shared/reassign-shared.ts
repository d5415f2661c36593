// What a shared group gave to a session goes to another member: of this shard, or of another.

import { reasonCodes, splitSharedFilter, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Message } from '../model/message.ts'
import type { Session, SessionDelivery } from '../state/sessions/session.ts'
import { SharedGroup } from '../topics/index.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import { storeHandoff } from './shared-handoff.ts'
import { chooseOtherShard, forwardShared } from './forward-shared.ts'
import { deliverToGroup } from '../publish/deliver-locally.ts'

/** One without members where nobody here is in it any more: there may be some on other shards. */
export function groupOf(state: BrokerState, sharedFilter: string): SharedGroup<Session> | undefined {
  const shared = splitSharedFilter(sharedFilter as TopicFilter)
  if (shared === undefined) return undefined
  return state.router.group(shared.group, shared.filter) ?? new SharedGroup(shared.group, shared.filter)
}

/** True if a member here has it now. `session`: whose it was, undefined where that has ended. */
export function reassignToMember(state: BrokerState, session: Session | undefined, delivery: SessionDelivery): boolean {
  if (delivery.group === undefined || delivery.message === undefined) return false
  letGoOfOldBody(state, delivery.message)
  if (delivery.wasSent && session !== undefined) state.sharedRedelivery.noteSent(delivery.message, session)
  return deliverToGroup(state, delivery.group, delivery.message, session)
}

/** Those that its body was stored for have had it, and it is gone: a record that named it would name nothing. */
function letGoOfOldBody(state: BrokerState, message: Message): void {
  if (message.bodyId !== 0 && state.payloadRefcounts.get(message.bodyId) === 0) message.bodyId = 0
}

/**
 * Undefined where no shard has a member for it; else what is kept when that shard has it, or has refused it. `isGivenUp`: the
 * session lets go of it at once, and a stored member will do; else it keeps a copy until then.
 */
export function reassignToPeer(
  state: BrokerState,
  delivery: SessionDelivery,
  isGivenUp: boolean,
): CommitBarrier | undefined {
  const { peerTable } = state
  const { group, message } = delivery
  if (peerTable === undefined || group === undefined || message === undefined) return undefined
  const to = chooseOtherShard(state, peerTable, { group, tried: [], mayBeStored: isGivenUp })
  if (to === undefined) return undefined
  const filter = group.sharedFilter
  if (!isGivenUp) return forwardShared(state, peerTable, to, { message, filter, tried: [], isAwaited: true })
  const kept =
    delivery.sequence === 0
      ? forwardShared(state, peerTable, to, { message, filter, tried: [], isAwaited: true })
      : storeHandoff(state, peerTable, to, { message, filter })
  kept?.whenComplete(() => countIfLost(state, message, kept))
  return kept
}

/** The session has given it up, and nobody else may have it. */
function countIfLost(state: BrokerState, message: Message, { refusal }: CommitBarrier): void {
  if (refusal === reasonCodes.noMatchingSubscribers) state.countDrop(undefined, message, 'session-ended')
}
