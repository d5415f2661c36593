// Moves messages of shared subscriptions from one session to another member, on this or another shard.

import { reasonCodes, splitSharedFilter, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerRouter } from '../state/broker-state.ts'
import type { BrokerCounters } from '../state/broker-counts.ts'
import type { StoredPayloads } from '../state/stored-payloads.ts'
import type { EnqueueParts, ForwardParts, Parts } from '../state/parts.ts'
import type { Message } from '../messages/message.ts'
import type { Session, SessionDelivery } from '../state/sessions/session.ts'
import { SharedGroup } from '../topics/index.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import { storeHandoff } from '../delivery/store-handoff.ts'
import { chooseOtherShard, forwardShared } from '../delivery/forward-shared.ts'
import { deliverToGroup } from '../delivery/deliver-locally.ts'

/** Returns an empty group if this shard has no member left: other shards may have some. */
export function findSharedGroup(router: BrokerRouter, sharedFilter: string): SharedGroup<Session> | undefined {
  const shared = splitSharedFilter(sharedFilter as TopicFilter)
  if (shared === undefined) return undefined
  return router.findGroup(shared.group, shared.filter) ?? new SharedGroup(shared.group, shared.filter)
}

/** Returns true if another member on this shard has the message now. `session` is the previous member, undefined if it has ended. */
export function reassignToMember(
  state: EnqueueParts & Parts<'access' | 'shared'>,
  session: Session | undefined,
  delivery: SessionDelivery,
): boolean {
  if (delivery.group === undefined || delivery.message === undefined) return false
  releaseOldPayload(state.payloads, delivery.message)
  if (delivery.wasSent && session !== undefined) state.shared.redelivery.recordSent(delivery.message, session)
  return deliverToGroup(state, delivery.group, delivery.message, session)
}

/** The shared payload may have been deleted when the last queue released it: a new record must not refer to it. */
function releaseOldPayload(payloads: StoredPayloads, message: Message): void {
  if (message.payloadId !== 0 && payloads.refcounts.get(message.payloadId) === 0) message.payloadId = 0
}

/**
 * Sends the message to another shard with a member. Returns undefined if no shard has a member; otherwise a barrier that completes when the
 * other shard has stored or refused the message. `removesAtOnce`: the session removes the message at once, and a persistent member is
 * sufficient; otherwise the session keeps the message until the barrier completes.
 */
export function reassignToPeer(
  state: ForwardParts & Parts<'peers' | 'router'>,
  delivery: SessionDelivery,
  removesAtOnce: boolean,
): CommitBarrier | undefined {
  const { group, message } = delivery
  if (group === undefined || message === undefined) return undefined
  const to = chooseOtherShard(state.router, state.peers, { group, tried: [], canBeStored: removesAtOnce })
  if (to === undefined) return undefined
  const filter = group.sharedFilter
  if (!removesAtOnce) return forwardShared(state, to, { message, filter, tried: [], isAwaited: true })
  const barrier =
    delivery.sequence === 0
      ? forwardShared(state, to, { message, filter, tried: [], isAwaited: true })
      : storeHandoff(state, to, { message, filter })
  barrier?.runWhenComplete(() => countIfLost(state.counts, message, barrier))
  return barrier
}

/** Counts the message as dropped if no other member may receive it: the session has removed it. */
function countIfLost(counts: BrokerCounters, message: Message, { refusal }: CommitBarrier): void {
  if (refusal === reasonCodes.noMatchingSubscribers) counts.countDrop(undefined, message, 'session-ended')
}
