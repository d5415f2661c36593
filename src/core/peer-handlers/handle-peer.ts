// Messages from other shards of the node: peer-messages.ts describes the exchange.

import type { BrokerState } from '../state/broker-state.ts'
import type { EnqueueParts, Parts } from '../state/parts.ts'
import { createAssertionError } from '../../protocol/index.ts'
import { resumeWaitingForPeers } from '../packets/handle-packet.ts'
import { repeatRetainedRequests } from '../peers/retained-from-peers.ts'
import { continueFullSync } from '../peers/sync-peers.ts'
import type { Input } from '../model/inputs.ts'
import type { Message } from '../messages/message.ts'
import { LinkState, type Peer } from '../state/peers/peer.ts'
import type { PeerMessage } from '../model/peer-messages.ts'
import type { PeerNumber } from '../model/peer-names.ts'
import { handlePeerCommit } from './handle-peer-commit.ts'
import {
  announceHeldFilters,
  handleDeferredExclusive,
  dropExclusiveRequests,
  handleExclusive,
  handleExclusiveResponse,
} from './handle-exclusive.ts'
import { handleReleaseRequest } from './expire-received-ids.ts'
import { handleForwarded, handlePlainPublish, handleReleased } from './handle-forwarded.ts'
import {
  cancelRequest,
  dropRetainedRequests,
  handleRetainedResponse,
  handleRetainedRequest,
  toRequestKey,
} from './handle-retained.ts'
import { removeCleanInterest, handleInterest, handleInterestSeen } from './handle-interest.ts'

type PeerInput = Extract<Input, { kind: 'peer-joined' | 'peer-left' | 'peer-message' | 'peer-congested' }>

export function handlePeer(state: BrokerState, input: PeerInput): void {
  const peer = state.peers.requirePeer(input.peer)
  switch (input.kind) {
    case 'peer-joined':
      return startLink(state, peer)
    case 'peer-left':
      return endLink(state, peer)
    case 'peer-congested':
      peer.isCongested = input.isCongested
      if (!input.isCongested) resumeWaitingForPeers(state)
      return
    case 'peer-message':
      return handleMessage(state, peer, input.message)
    default:
      input satisfies never
  }
}

/** Handles the most frequent message from a peer. */
export function handlePlainFromPeer(state: EnqueueParts & Parts<'router'>, from: PeerNumber, message: Message): void {
  const { link } = state.peers.requirePeer(from)
  if (link === undefined) throw createAssertionError(`shard ${from} sent a message before it joined`)
  handlePlainPublish(state, link, message)
}

/** Starts a new link: interest is sent again, message numbers start at 1, and unconfirmed messages are sent again. */
function startLink(state: BrokerState, peer: Peer): void {
  if (peer.link !== undefined) endLink(state, peer)
  peer.link = new LinkState(state.peers.interest.walk(), state.peers.interest.version)
  announceHeldFilters(state, peer)
  continueFullSync(state, peer, peer.link)
  peer.outbox.restart()
  repeatRetainedRequests(state, peer)
}

/** Ends a link. The interest of the peer's persistent sessions stays: messages for them are stored in the outbox. */
function endLink(state: BrokerState, peer: Peer): void {
  const { link } = peer
  if (link === undefined) return
  peer.link = undefined
  peer.isCongested = false
  removeCleanInterest(state, peer)
  dropRetainedRequests(state.retained, state.peers, peer)
  dropExclusiveRequests(state, peer)
  // The peer gets the whole interest before it accepts clients again.
  for (const { barrier } of link.awaited.takeAll()) barrier.arrive()
  resumeWaitingForPeers(state)
}

function handleMessage(state: BrokerState, peer: Peer, message: PeerMessage): void {
  const { link } = peer
  if (link === undefined) throw createAssertionError(`shard ${peer.number} sent a message before it joined`)
  switch (message.kind) {
    case 'publish':
      return handleForwarded(state, { from: peer.number, link }, message)
    case 'release':
      return handleReleased(state, link, message)
    case 'release-request':
      return handleReleaseRequest(state, peer, message)
    case 'interest':
      handleInterest(state, { peer, link }, message)
      if (message.isComplete) state.peers.exclusive.registry.removeSuspect(peer.number)
      return handleDeferredExclusive(state.outputs, state.peers)
    case 'interest-seen':
      handleInterestSeen(state.peers, { peer, link }, message)
      return handleDeferredExclusive(state.outputs, state.peers)
    case 'committed':
      return handlePeerCommit(state, peer, message)
    case 'retained-request':
      return handleRetainedRequest(state, peer, message)
    case 'retained-response':
      return handleRetainedResponse(state.retained, state.peers, message)
    case 'retained-cancelled':
      return cancelRequest(state.retained, state.peers, toRequestKey(peer, message.requestId))
    case 'exclusive-request':
    case 'exclusive-released':
      return handleExclusive(state.outputs, state.peers, peer, message)
    case 'exclusive-response':
      return handleExclusiveResponse(state, message)
    default:
      message satisfies never
  }
}
