// While a message of a shared subscription moves from a persistent session to a member on another shard, it is in no queue. A handoff record
// stores it, from the batch in which the session removes it until the other shard has it.
//
//   queue of the session ──► [ handoff record: to shard 2 ] ──► queue of a member on shard 2
//
// If this shard fails in between, the message goes to the same shard after the restart. That shard recognizes QoS 2 messages by
// their unique name.

import { splitSharedFilter, type TopicFilter } from '../../protocol/index.ts'
import type { DeliverParts, ForwardParts, Parts, RedeliverParts } from '../state/parts.ts'
import { toStored, type Message } from '../messages/message.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { SharedHandoff } from '../state/sessions/shared-redelivery-state.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { addOpenBatch } from '../outgoing/deferred-acks.ts'
import { sendRelease } from '../peers/qos2-forwarding.ts'
import { forwardSharedOnce } from './forward-shared.ts'
import { deliverToGroup } from '../publish/deliver-locally.ts'
import { putRecord, deleteRecord } from '../queues/persistent-queue.ts'

/** Packet identifier of all unique names, because each unique name is used for one message. */
const onlyPacketId = 1

/** Stores the handoff; the session removes the message in this batch. The barrier is that of `forwardSharedOnce`. */
export function storeHandoff(
  state: ForwardParts,
  peerTable: PeerTable,
  to: Peer,
  { message, filter }: { message: Message; filter: TopicFilter },
): CommitBarrier {
  const key = { shard: peerTable.shard.own, name: state.ids.nextName() }
  putRecord(state.batches, { kind: 'handoff', ...key, to: to.number, filter, message: toStored(message) })
  return send(state, peerTable, to, { key, message, filter, isCommitted: false })
}

/** Called when restore is complete. Continues the restored handoffs. */
export function resumeHandoffs(state: RedeliverParts & Parts<'shard'>): void {
  for (const handoff of state.shared.restoredHandoffs.splice(0)) continueHandoff(state, handoff)
}

/** Sends the message to its shard. If the number of shards has changed, it goes to one that finds a member. */
function continueHandoff(state: RedeliverParts & Parts<'shard'>, handoff: SharedHandoff): void {
  const { shard, peerTable } = state
  const target = handoff.to % shard.count
  if (target === shard.own && isDeliveredHere(state, handoff))
    return deleteRecord(state.batches, { kind: 'handoff', ...handoff.key })
  if (peerTable === undefined) {
    state.counts.countDrop(undefined, handoff.message, 'session-ended')
    return deleteRecord(state.batches, { kind: 'handoff', ...handoff.key })
  }
  const to = peerTable.peer(target === shard.own ? (shard.own + 1) % shard.count : target)
  send(state, peerTable, to, { ...handoff, isCommitted: true })
}

function isDeliveredHere(state: DeliverParts, { message, filter }: SharedHandoff): boolean {
  const shared = splitSharedFilter(filter)
  const group = shared === undefined ? undefined : state.router.group(shared.group, shared.filter)
  return group !== undefined && deliverToGroup(state, group, message, undefined)
}

function send(
  state: ForwardParts,
  peerTable: PeerTable,
  to: Peer,
  { key, message, filter, isCommitted }: Omit<SharedHandoff, 'to'> & { readonly isCommitted: boolean },
): CommitBarrier {
  const exactlyOnce = message.qos === 2 ? { publisher: key.name, packetId: onlyPacketId } : undefined
  const barrier = forwardSharedOnce(state, peerTable, to, { message, filter, tried: [], exactlyOnce, isCommitted })
  barrier.whenComplete(() => {
    deleteRecord(state.batches, { kind: 'handoff', ...key })
    if (exactlyOnce === undefined) return
    // If the name were released before the record is deleted, a crash would send the message again as a new one.
    const removed = new CommitBarrier()
    addOpenBatch(state, removed)
    removed.arrive()
    const released = new CommitBarrier()
    sendRelease(state, { kind: 'release', ...exactlyOnce }, { peers: [to], behind: [removed], barrier: released })
    released.arrive()
  })
  return barrier
}
