// What comes from the other shards of the node: see peer-messages.ts for the play.

import type { BrokerState } from '../broker-state.ts'
import { assert, failedAssertion } from '../../protocol/index.ts'
import { resumeWaiting } from '../connections/handle-packet.ts'
import { askAnew } from '../delivery/retained-elsewhere.ts'
import { tellOn } from '../delivery/tell-peers.ts'
import type { Input } from '../inputs.ts'
import type { Message } from '../message.ts'
import type { Neighbours } from '../neighbours/neighbours.ts'
import { LinkState, type Peer } from '../neighbours/peer.ts'
import type { PeerMessage, PeerNumber } from '../peer-messages.ts'
import { handleCommittedElsewhere } from './handle-committed-elsewhere.ts'
import {
  announceHeld,
  answerDeferred,
  forgetExclusive,
  handleExclusive,
  handleExclusiveVerdict,
} from './handle-exclusive.ts'
import { handleForwarded, handlePlain, handleReleased } from './handle-forwarded.ts'
import {
  forgetQuestion,
  forgetQuestions,
  handleRetainedFound,
  handleRetainedWanted,
  questionKey,
} from './handle-retained.ts'
import { forgetClean, handleInterest, handleInterestSeen } from './handle-interest.ts'

type PeerInput = Extract<Input, { kind: 'peer-joined' | 'peer-left' | 'peer-message' | 'peer-congested' }>

export function handlePeer(state: BrokerState, input: PeerInput): void {
  const { neighbours } = state
  assert(neighbours !== undefined, 'the only shard of a node has no peers')
  const peer = neighbours.peer(input.peer)
  switch (input.kind) {
    case 'peer-joined':
      return join(state, neighbours, peer)
    case 'peer-left':
      return leave(state, neighbours, peer)
    case 'peer-congested':
      peer.isCongested = input.isCongested
      if (!input.isCongested) resumeWaiting(state)
      return
    case 'peer-message':
      return handleMessage(state, neighbours, peer, input.message)
    default:
      input satisfies never
  }
}

/** What nearly every message is that comes from another shard. */
export function handlePassed(state: BrokerState, from: PeerNumber, message: Message): void {
  const { neighbours } = state
  assert(neighbours !== undefined, 'the only shard of a node has no peers')
  const { link } = neighbours.peer(from)
  if (link === undefined) throw failedAssertion(`shard ${from} speaks, and has not joined`)
  handlePlain(state, link, message)
}

/** Everything begins anew: what it is told, what both count, and what it has not confirmed. */
function join(state: BrokerState, neighbours: Neighbours, peer: Peer): void {
  if (peer.link !== undefined) leave(state, neighbours, peer)
  peer.link = new LinkState(neighbours.interest.walk(), neighbours.interest.version)
  announceHeld(state, neighbours, peer)
  tellOn(state, peer, peer.link)
  peer.outbox.startAnew()
  askAnew(state, neighbours, peer)
}

/** What its stored sessions want stays, and is kept for them. */
function leave(state: BrokerState, neighbours: Neighbours, peer: Peer): void {
  const { link } = peer
  if (link === undefined) return
  peer.link = undefined
  peer.isCongested = false
  forgetClean(state, peer)
  forgetQuestions(state, neighbours, peer)
  forgetExclusive(state, neighbours, peer)
  // Before it has clients again it learns all of our interest.
  for (const { vow } of link.awaited.takeAll()) vow.mark()
  resumeWaiting(state)
}

function handleMessage(state: BrokerState, neighbours: Neighbours, peer: Peer, message: PeerMessage): void {
  const { link } = peer
  if (link === undefined) throw failedAssertion(`shard ${peer.number} speaks, and has not joined`)
  switch (message.kind) {
    case 'publish':
      return handleForwarded(state, neighbours, { from: peer.number, link }, message)
    case 'release':
      return handleReleased(state, neighbours, link, message)
    case 'interest':
      handleInterest(state, neighbours, { peer, link }, message)
      if (message.isComplete) neighbours.exclusive.forgetDoubtful(peer.number)
      return answerDeferred(state, neighbours)
    case 'interest-seen':
      handleInterestSeen(peer, link, message)
      return answerDeferred(state, neighbours)
    case 'committed':
      return handleCommittedElsewhere(state, peer, message)
    case 'retained-wanted':
      return handleRetainedWanted(state, neighbours, peer, message)
    case 'retained-found':
      return handleRetainedFound(state, neighbours, message)
    case 'retained-cancelled':
      return forgetQuestion(state, neighbours, questionKey(peer, message.question))
    case 'exclusive-wanted':
    case 'exclusive-given-back':
      return handleExclusive(state, neighbours, peer, message)
    case 'exclusive-verdict':
      return handleExclusiveVerdict(state, neighbours, message)
    default:
      message satisfies never
  }
}
