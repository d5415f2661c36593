// Moves messages of shared subscriptions from one session to another member, on this or another shard.

import { reasonCodes, splitSharedFilter, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerRouter } from '../state/broker-state.ts'
import type { BrokerCounters } from '../state/broker-counts.ts'
import type { StoredPayloads } from '../state/stored-payloads.ts'
import type { EnqueueParts, ForwardParts, Parts } from '../state/parts.ts'
import type { Message } from '../model/message.ts'
import type { Session, SessionDelivery } from '../state/sessions/session.ts'
import { SharedGroup } from '../topics/index.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import { storeHandoff } from './shared-handoff.ts'
import { chooseOtherShard, forwardShared } from './forward-shared.ts'
import { deliverToGroup } from '../publish/deliver-locally.ts'

/** Returns an empty group if this shard has no member left: other shards may have some. */
export function groupOf(router: BrokerRouter, sharedFilter: string): SharedGroup<Session> | undefined {
  const shared = splitSharedFilter(sharedFilter as TopicFilter)
  if (shared === undefined) return undefined
  return router.group(shared.group, shared.filter) ?? new SharedGroup(shared.group, shared.filter)
}

/** Returns true if a member of this shard has it now. `session` is the previous member, undefined if it has ended. */
export function reassignToMember(
  state: EnqueueParts & Parts<'access' | 'shared'>,
  session: Session | undefined,
  delivery: SessionDelivery,
): boolean {
  if (delivery.group === undefined || delivery.message === undefined) return false
  releaseOldPayload(state.payloads, delivery.message)
  if (delivery.wasSent && session !== undefined) state.shared.redelivery.noteSent(delivery.message, session)
  return deliverToGroup(state, delivery.group, delivery.message, session)
}

/** The shared payload was deleted after its queues were done: a record must not refer to it. */
function releaseOldPayload(payloads: StoredPayloads, message: Message): void {
  if (message.payloadId !== 0 && payloads.refcounts.get(message.payloadId) === 0) message.payloadId = 0
}

/**
 * Returns undefined if no shard has a member; otherwise a barrier that completes when that shard has or refused the
 * message. `isGivenUp`: the session removes it at once, and a persistent member is sufficient; otherwise the session
 * keeps a copy until then.
 */
export function reassignToPeer(
  state: ForwardParts & Parts<'peerTable' | 'router'>,
  delivery: SessionDelivery,
  isGivenUp: boolean,
): CommitBarrier | undefined {
  const { peerTable } = state
  const { group, message } = delivery
  if (peerTable === undefined || group === undefined || message === undefined) return undefined
  const to = chooseOtherShard(state.router, peerTable, { group, tried: [], mayBeStored: isGivenUp })
  if (to === undefined) return undefined
  const filter = group.sharedFilter
  if (!isGivenUp) return forwardShared(state, peerTable, to, { message, filter, tried: [], isAwaited: true })
  const kept =
    delivery.sequence === 0
      ? forwardShared(state, peerTable, to, { message, filter, tried: [], isAwaited: true })
      : storeHandoff(state, peerTable, to, { message, filter })
  kept?.whenComplete(() => countIfLost(state.counts, message, kept))
  return kept
}

/** The session removed the message, and no other member may receive it. */
function countIfLost(counts: BrokerCounters, message: Message, { refusal }: CommitBarrier): void {
  if (refusal === reasonCodes.noMatchingSubscribers) counts.countDrop(undefined, message, 'session-ended')
}
