// The end of a link, and of a local shard. What follows from it takes a step for each filter and message of the peer, and a turn does
// `maxStepsAtOnce` of them, so that a peer with many does not occupy this shard. At once:
//
//   no link                 nothing is sent to the peer; publications choose other members of shared subscriptions
//   local: not in the table it is awaited nowhere, and its exclusive filters are free; a new shard of this name has another `Peer`
//
// In steps, in this order:
//
//   barriers of SUBACK ─► requests for retained messages ─► interest ─► exclusive filters ─► packet identifiers of its publishers
//   and beside them: messages for a local shard that were not confirmed (`pass-on-messages.ts`)

import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import { resumeWaitingForPeers } from '../packets/handle-packet.ts'
import { restartRequestsAfter } from '../peers/retained-from-peers.ts'
import type { LinkState, Peer } from '../state/peers/peer.ts'
import { removeReceivedId } from './expire-received-ids.ts'
import { dropExclusiveRequests, handleDeferredExclusive } from './handle-exclusive.ts'
import { removeEndedInterest } from './handle-interest.ts'
import { dropAwaitedMessages, dropRetainedRequests } from './handle-retained.ts'
import { passOnMessages } from './pass-on-messages.ts'

/** Maximum number of filters, messages and so on in one turn: about 2 ms. */
const maxStepsAtOnce = 1_000

/** Ends the link of a peer. The interest of persistent sessions of a stored peer stays: messages for them are stored in the outbox. */
export function endLink(state: BrokerState, peer: Peer): void {
  const { link } = peer
  if (peer.isLocal) state.peers.removeLocal(peer)
  if (link !== undefined) {
    peer.link = undefined
    peer.isCongested = false
    dropExclusiveRequests(state, peer)
    dropAwaitedMessages(state.peers, peer)
    restartRequestsAfter(state, peer)
    if (!peer.isLocal) reportVoidNumbers(state, peer)
  }
  state.peers.remainingSteps.push(completeEnd(state, peer, link))
  // A local shard that this shard awaited at its start may never have joined.
  state.peers.updateReadiness()
  handleDeferredExclusive(state.outputs, state.peers)
  continueRemainingSteps(state)
}

/** Peers may have numbers of messages for the failed shard that no longer mean anything. */
function reportVoidNumbers({ outputs, peers }: Parts<'outputs' | 'peers'>, failed: Peer): void {
  for (const { number, link } of peers.all)
    if (link !== undefined) outputs.peerSends.push({ to: number, message: { kind: 'numbers-void', of: failed.number } })
}

function* completeEnd(
  state: Parts<'batches' | 'outputs' | 'payloads' | 'peers' | 'retained' | 'router' | 'rules' | 'storage'>,
  peer: Peer,
  link: LinkState | undefined,
): Generator<void> {
  if (link !== undefined) {
    // A stored peer gets the whole interest before it accepts clients again.
    for (let next = link.awaited.shift(); next !== undefined; next = link.awaited.shift()) {
      next.barrier.arrive()
      yield
    }
    yield* dropRetainedRequests(state.retained, link)
  }
  yield* removeEndedInterest(state, peer)
  if (!peer.isLocal) return
  yield* state.peers.exclusive.registry.releaseUnannounced(peer)
  for (const exchange of state.peers.received.walkLocal(peer)) {
    removeReceivedId(state, exchange)
    yield
  }
  // The shard may have joined again meanwhile, as another peer.
  if (state.peers.find(peer.number) === undefined) state.peers.shard.names?.remove(peer.number)
}

/** Continues what remains after the end of links and after full syncs. */
export function continueRemainingSteps(state: BrokerState): void {
  const { departed, remainingSteps } = state.peers
  let left = maxStepsAtOnce
  for (; left > 0 && remainingSteps.length > 0; left--)
    if (remainingSteps[0].next().done === true) remainingSteps.shift()
  for (const peer of departed) {
    left = passOnMessages(state, peer, left)
    if (left <= 0) break
    departed.delete(peer)
  }
  resumeWaitingForPeers(state)
}
