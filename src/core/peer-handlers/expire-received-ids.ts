// QoS 2 messages of other shards' clients that were never released: after a long time they are forgotten, as the shard
// of the client has done long before (mqtt.await_rel_timeout).

import type { BrokerState } from '../state/broker-state.ts'
import { sendRelease } from '../peers/qos2-forwarding.ts'
import { remove } from '../queues/persistent-queue.ts'
import type { PacketId } from '../../protocol/index.ts'
import type { Neighbours } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import { Vow } from '../model/commit-barrier.ts'

/** The client's own shard gives up first, and begins to count anew when it is restarted. */
const timeoutsUntilForgotten = 3
const subject = 'received elsewhere'

export function scheduleForgetting(state: BrokerState): void {
  const { awaitReleaseTimeoutMs } = state.settings
  if (awaitReleaseTimeoutMs === 0 || state.neighbours === undefined || state.neighbours.isForgettingScheduled) return
  state.neighbours.isForgettingScheduled = true
  state.deadlines.set('forget-received', subject, state.nowMs + awaitReleaseTimeoutMs)
}

export function forgetReceived(state: BrokerState): void {
  const { neighbours } = state
  if (neighbours === undefined) return
  neighbours.isForgettingScheduled = false
  const beforeMs = state.nowMs - timeoutsUntilForgotten * state.settings.awaitReleaseTimeoutMs
  for (const old of neighbours.received.olderThan(beforeMs)) forget(state, neighbours, old)
  if (!neighbours.received.isEmpty) scheduleForgetting(state)
}

/**
 * The message will not come again. `batch`: with which it is off the disk here, 0: it is. `vow`: where it went on to other
 * shards it is kept when these have forgotten it, too; until then it is known here, or nobody would tell them.
 */
export function forget(
  state: BrokerState,
  neighbours: Neighbours,
  exchange: { readonly publisher: string; readonly packetId: PacketId },
): { batch: number; vow: Vow | undefined } {
  const { received, place } = neighbours
  const { publisher, packetId } = exchange
  const dealings = received.dealingsOf(publisher, packetId)
  const beyond = dealings?.beyond(place.own).filter((number) => number < place.count) ?? []
  if (dealings === undefined || beyond.length === 0) {
    if (received.release(publisher, packetId) !== 'on disk') return { batch: 0, vow: undefined }
    remove(state, { kind: 'forwarded', shard: place.own, publisher, packetId })
    return { batch: state.gathering.number, vow: undefined }
  }
  const peers = beyond.map((number) => neighbours.peer(number))
  const behind = [...dealings.entries()].flatMap(([, { kept }]) => kept ?? [])
  dealings.release ??= forgetBeyond(state, neighbours, { exchange, peers, behind })
  return { batch: 0, vow: dealings.release }
}

interface Beyond {
  readonly exchange: { readonly publisher: string; readonly packetId: PacketId }
  readonly peers: readonly Peer[]
  readonly behind: readonly Vow[]
}

function forgetBeyond(
  state: BrokerState,
  { received, place }: Neighbours,
  { exchange: { publisher, packetId }, peers, behind }: Beyond,
): Vow {
  const everywhere = new Vow()
  const beyond = new Vow()
  sendRelease(state, { kind: 'release', publisher, packetId }, { peers, behind, vow: beyond })
  beyond.whenKept(() => {
    if (received.release(publisher, packetId) !== 'on disk') return everywhere.mark()
    remove(state, { kind: 'forwarded', shard: place.own, publisher, packetId })
    state.untilBatch.push({ batch: state.gathering.number, vow: everywhere })
  })
  beyond.mark()
  return everywhere
}
