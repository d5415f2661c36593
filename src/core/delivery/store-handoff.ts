// Gives a message of a shared subscription to another shard, with a record of that until the other shard has it: see
// `shared/shared-handoff.ts`.

import type { TopicFilter } from '../../protocol/index.ts'
import type { ForwardParts } from '../state/parts.ts'
import { toStored, type Message } from '../messages/message.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { SharedHandoff } from '../state/sessions/shared-redelivery-state.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { addOpenBatch } from '../outgoing/deferred-acks.ts'
import { sendRelease } from '../peers/qos2-forwarding.ts'
import { forwardSharedOnce } from './forward-shared.ts'
import { putRecord, deleteRecord } from '../queues/persistent-queue.ts'

/** Packet identifier of all unique names, because each unique name is used for one message. */
const onlyPacketId = 1

/** Stores the handoff; the message is removed from its queue, or published, in this batch. The barrier is that of `forwardSharedOnce`. */
export function storeHandoff(
  state: ForwardParts,
  to: Peer,
  { message, filter }: { message: Message; filter: TopicFilter },
): CommitBarrier {
  const key = { shard: state.peers.shard.own, name: state.ids.nextName() }
  // A record names no local shard. After a restart of this shard, any member may get the message.
  const target = to.isLocal ? key.shard : to.number
  putRecord(state.batches, { kind: 'handoff', ...key, to: target, filter, message: toStored(message) })
  return sendHandoff(state, to, { key, message, filter, isCommitted: false })
}

/** Sends the message of a handoff, and deletes the record when the shard has it. */
export function sendHandoff(
  state: ForwardParts,
  to: Peer,
  { key, message, filter, isCommitted }: Omit<SharedHandoff, 'to'> & { readonly isCommitted: boolean },
): CommitBarrier {
  const exactlyOnce = message.qos === 2 ? { publisher: key.name, packetId: onlyPacketId } : undefined
  const barrier = forwardSharedOnce(state, to, { message, filter, tried: [], exactlyOnce, isCommitted })
  barrier.runWhenComplete(() => {
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
