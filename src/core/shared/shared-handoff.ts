// While a message of a shared subscription moves from a persistent session to a member on another shard, it is in no queue. A handoff record
// stores it, from the batch in which the session removes it until the other shard has it.
//
//   queue of the session ──► [ handoff record: to shard 2 ] ──► queue of a member on shard 2
//
// If this shard fails in between, the message goes to the same shard after the restart. That shard recognizes QoS 2 messages by
// their unique name.

import { splitSharedFilter } from '../../protocol/index.ts'
import type { DeliverParts, Parts, RedeliverParts } from '../state/parts.ts'
import type { SharedHandoff } from '../state/sessions/shared-redelivery-state.ts'
import { deliverToGroup } from '../delivery/deliver-locally.ts'
import { sendHandoff } from '../delivery/store-handoff.ts'
import { deleteRecord } from '../queues/persistent-queue.ts'

/** Called when restore is complete. Continues the restored handoffs. */
export function resumeHandoffs(state: RedeliverParts & Parts<'shard'>): void {
  for (const handoff of state.shared.restoredHandoffs.splice(0)) continueHandoff(state, handoff)
}

/** Sends the message to its shard. If the number of shards has changed, it goes to one that finds a member. */
function continueHandoff(state: RedeliverParts & Parts<'shard'>, handoff: SharedHandoff): void {
  const { own, count } = state.shard
  const target = handoff.to % count
  if (target === own && isDeliveredHere(state, handoff))
    return deleteRecord(state.batches, { kind: 'handoff', ...handoff.key })
  if (!state.peers.hasAny) {
    state.counts.countDrop(undefined, handoff.message, 'session-ended')
    return deleteRecord(state.batches, { kind: 'handoff', ...handoff.key })
  }
  const to = state.peers.requirePeer(target === own ? (own + 1) % count : target)
  sendHandoff(state, to, { ...handoff, isCommitted: true })
}

function isDeliveredHere(state: DeliverParts, { message, filter }: SharedHandoff): boolean {
  const shared = splitSharedFilter(filter)
  const group = shared === undefined ? undefined : state.router.findGroup(shared.group, shared.filter)
  return group !== undefined && deliverToGroup(state, group, message, undefined)
}
