// QoS 2 messages of other shards' clients that were never released: after a long time they are forgotten, as the shard
// of the client has done long before (mqtt.await_rel_timeout).

import type { BrokerState } from '../broker-state.ts'
import { remove } from '../delivery/stored-queue.ts'

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
  for (const { publisher, packetId } of neighbours.received.olderThan(beforeMs)) {
    const released = neighbours.received.release(publisher, packetId)
    if (released === 'on disk') remove(state, { kind: 'forwarded', shard: neighbours.place.own, publisher, packetId })
  }
  if (!neighbours.received.isEmpty) scheduleForgetting(state)
}
