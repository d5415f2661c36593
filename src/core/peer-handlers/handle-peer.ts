// Messages from other shards of the node: peer-messages.ts describes the exchange.

import type { BrokerState } from '../state/broker-state.ts'
import type { EnqueueParts, Parts } from '../state/parts.ts'
import { createAssertionError } from '../../protocol/index.ts'
import { resumeWaitingForPeers } from '../packets/handle-packet.ts'
import { repeatRetainedRequests, restartVoidRequests } from '../peers/retained-from-peers.ts'
import { continueFullSync } from '../peers/sync-peers.ts'
import type { Input } from '../model/inputs.ts'
import type { Message } from '../messages/message.ts'
import { LinkState, type Peer } from '../state/peers/peer.ts'
import type { PeerMessage } from '../model/peer-messages.ts'
import { isStoredShard, type PeerNumber } from '../model/peer-names.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import { continueRemainingSteps, endLink } from './end-link.ts'
import { handlePeerCommit } from './handle-peer-commit.ts'
import {
  announceHeldFilters,
  handleDeferredExclusive,
  handleExclusive,
  handleExclusiveResponse,
} from './handle-exclusive.ts'
import { handleReleaseRequest } from './expire-received-ids.ts'
import { handleForwarded, handlePlainPublish, handleReleased } from './handle-forwarded.ts'
import { cancelRequest, handleRetainedResponse, handleRetainedRequest } from './handle-retained.ts'
import { handleInterest, handleInterestSeen } from './handle-interest.ts'

type PeerInput = Extract<Input, { kind: 'peer-joined' | 'peer-left' | 'peer-message' | 'peer-congested' }>

export function handlePeer(state: BrokerState, input: PeerInput): void {
  const { peers } = state
  if (input.kind === 'peer-joined') return startLink(state, peers.find(input.peer) ?? joinLocal(peers, input.peer))
  const peer = peers.requirePeer(input.peer)
  switch (input.kind) {
    case 'peer-left':
      if (peer.link !== undefined || peer.isLocal) endLink(state, peer)
      return
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

function joinLocal(peers: PeerTable, number: PeerNumber): Peer {
  if (isStoredShard(number)) throw createAssertionError(`shard ${number} does not exist, or is this shard`)
  return peers.addLocal(number)
}

/** Handles the most frequent message from a peer. */
export function handlePlainFromPeer(state: EnqueueParts & Parts<'router'>, from: PeerNumber, message: Message): void {
  const { link } = state.peers.requirePeer(from)
  if (link === undefined) throw createAssertionError(`shard ${from} sent a message before it joined`)
  handlePlainPublish(state, link, message)
}

/** Starts a new link: interest is sent again, message numbers start at 1, and unconfirmed messages are sent again. */
function startLink(state: BrokerState, peer: Peer): void {
  if (peer.link !== undefined) return restartLink(state, peer)
  peer.link = new LinkState(state.peers.interest.walk(), state.peers.interest.version)
  announceHeldFilters(state, peer)
  continueFullSync(state, peer, peer.link)
  peer.outbox.restart()
  repeatRetainedRequests(state, peer)
}

/** The end of the earlier link was not reported. */
function restartLink(state: BrokerState, peer: Peer): void {
  endLink(state, peer)
  startLink(state, peer.isLocal ? joinLocal(state.peers, peer.number) : peer)
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
      if (message.isComplete) continueRemainingSteps(state)
      return handleDeferredExclusive(state.outputs, state.peers)
    case 'interest-seen':
      handleInterestSeen(state.peers, { peer, link }, message)
      return handleDeferredExclusive(state.outputs, state.peers)
    case 'committed':
      return handlePeerCommit(state, peer, message)
    case 'retained-request':
      return handleRetainedRequest(state.retained, peer, message)
    case 'retained-response':
      return handleRetainedResponse(state.retained, state.peers, message)
    case 'retained-cancelled':
      return cancelRequest(state.retained, link, message.requestId)
    case 'numbers-void':
      return restartVoidRequests(state, peer, message.of)
    case 'exclusive-request':
    case 'exclusive-released':
      return handleExclusive(state.outputs, state.peers, peer, message)
    case 'exclusive-response':
      return handleExclusiveResponse(state, message)
    default:
      message satisfies never
  }
}
