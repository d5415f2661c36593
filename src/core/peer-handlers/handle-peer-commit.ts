// A peer has committed messages of this shard: what waited for them continues.

import type { BrokerState } from '../state/broker-state.ts'
import { resumeWaitingForPeers } from '../packets/handle-packet.ts'
import { resumeAfterBackpressure } from '../peers/peer-backpressure.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { PeerCommitted } from '../model/peer-messages.ts'

export function handlePeerCommit(state: BrokerState, peer: Peer, committed: PeerCommitted): void {
  let hasReleased = false
  for (const { number, barrier, message } of peer.outbox.takeConfirmed(committed)) {
    const refusal = committed.refused?.find((one) => one.number === number)
    barrier?.arrive(refusal?.reason)
    hasReleased ||= message.kind === 'release'
  }
  // Publishers may wait for space in the outbox, or for their packet identifier.
  if (resumeAfterBackpressure(state.settings, peer) || hasReleased) resumeWaitingForPeers(state)
}
