// QoS 2 messages of other shards' clients that were never released: after a long time they are forgotten, as the shard
// of the client has done long before (mqtt.await_rel_timeout).

import type { BrokerState } from '../state/broker-state.ts'
import { sendRelease } from '../peers/qos2-forwarding.ts'
import { deleteRecord } from '../queues/persistent-queue.ts'
import type { PacketId } from '../../protocol/index.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'

/** The client's own shard gives up first, and begins to count anew when it is restarted. */
const timeoutsUntilForgotten = 3
const subject = 'received elsewhere'

export function scheduleExpiry(state: BrokerState): void {
  const { awaitReleaseTimeoutMs } = state.settings
  if (awaitReleaseTimeoutMs === 0 || state.neighbours === undefined || state.neighbours.isForgettingScheduled) return
  state.neighbours.isForgettingScheduled = true
  state.deadlines.set('forget-received', subject, state.nowMs + awaitReleaseTimeoutMs)
}

export function expireReceivedIds(state: BrokerState): void {
  const { neighbours } = state
  if (neighbours === undefined) return
  neighbours.isForgettingScheduled = false
  const beforeMs = state.nowMs - timeoutsUntilForgotten * state.settings.awaitReleaseTimeoutMs
  for (const old of neighbours.received.olderThan(beforeMs)) removeReceivedId(state, neighbours, old)
  if (!neighbours.received.isEmpty) scheduleExpiry(state)
}

/**
 * The message will not come again. `batch`: with which it is off the disk here, 0: it is. `vow`: where it went on to other
 * shards it is kept when these have forgotten it, too; until then it is known here, or nobody would tell them.
 */
export function removeReceivedId(
  state: BrokerState,
  neighbours: PeerTable,
  exchange: { readonly publisher: string; readonly packetId: PacketId },
): { batch: number; vow: CommitBarrier | undefined } {
  const { received, place } = neighbours
  const { publisher, packetId } = exchange
  const dealings = received.dealingsOf(publisher, packetId)
  const beyond = dealings?.beyond(place.own).filter((number) => number < place.count) ?? []
  if (dealings === undefined || beyond.length === 0) {
    if (received.release(publisher, packetId) !== 'on disk') return { batch: 0, vow: undefined }
    deleteRecord(state, { kind: 'forwarded', shard: place.own, publisher, packetId })
    return { batch: state.gathering.number, vow: undefined }
  }
  const peers = beyond.map((number) => neighbours.peer(number))
  const behind = [...dealings.entries()].flatMap(([, { kept }]) => kept ?? [])
  dealings.release ??= releaseOnFurtherShards(state, neighbours, { exchange, peers, behind })
  return { batch: 0, vow: dealings.release }
}

interface ForwardedRelease {
  readonly exchange: { readonly publisher: string; readonly packetId: PacketId }
  readonly peers: readonly Peer[]
  readonly behind: readonly CommitBarrier[]
}

function releaseOnFurtherShards(
  state: BrokerState,
  { received, place }: PeerTable,
  { exchange: { publisher, packetId }, peers, behind }: ForwardedRelease,
): CommitBarrier {
  const everywhere = new CommitBarrier()
  const beyond = new CommitBarrier()
  sendRelease(state, { kind: 'release', publisher, packetId }, { peers, behind, vow: beyond })
  beyond.whenKept(() => {
    if (received.release(publisher, packetId) !== 'on disk') return everywhere.mark()
    deleteRecord(state, { kind: 'forwarded', shard: place.own, publisher, packetId })
    state.untilBatch.push({ batch: state.gathering.number, vow: everywhere })
  })
  beyond.mark()
  return everywhere
}
