// The book of exclusive subscriptions: asked by other shards, and answers for sessions here.

import type { TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { resumeWaitingForPeers } from '../packets/handle-packet.ts'
import { handleExclusiveOutcome } from '../admin/admin-subscribe.ts'
import { announcement } from '../peers/exclusive-subscriptions.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import { ownerOf, type PeerExclusive, type PeerExclusiveResponse } from '../model/peer-messages.ts'

export function handleExclusive(state: BrokerState, neighbours: PeerTable, peer: Peer, message: PeerExclusive): void {
  const { kind, question, filter, clientId } = message
  // Before all others have said what they hold, nobody can be told that something is free. What is given back meanwhile
  // may be what has not been given yet: it keeps its place behind that.
  if (!neighbours.isReady && (kind === 'exclusive-given-back' || question !== announcement)) {
    neighbours.exclusiveDeferred.push({ peer: peer.number, message })
    return
  }
  if (kind === 'exclusive-given-back') return neighbours.exclusive.giveBack(filter, peer.number, clientId)
  const isGiven = neighbours.exclusive.take(filter, peer.number, clientId)
  if (question === announcement) return
  state.peerSends.push({ to: peer.number, message: { kind: 'exclusive-verdict', question, isGiven } })
}

/** This shard knows what the others hold. */
export function answerDeferredExclusive(state: BrokerState, neighbours: PeerTable): void {
  if (neighbours.exclusiveDeferred.length === 0 || !neighbours.isReady) return
  for (const { peer, message } of neighbours.exclusiveDeferred.splice(0)) {
    handleExclusive(state, neighbours, neighbours.peer(peer), message)
  }
}

export function handleExclusiveResponse(
  state: BrokerState,
  neighbours: PeerTable,
  { question, isGiven }: PeerExclusiveResponse,
): void {
  const command = neighbours.exclusiveCommands.get(question)
  if (command !== undefined) {
    neighbours.exclusiveCommands.delete(question)
    return handleExclusiveOutcome(state, neighbours, command, isGiven ? 'given' : 'quota-exceeded')
  }
  const connection = neighbours.exclusiveAsked.get(question)
  const wait = connection === undefined ? undefined : neighbours.exclusiveWaits.get(connection)
  const filter = wait?.missing.get(question)
  neighbours.exclusiveAsked.delete(question)
  if (wait === undefined || filter === undefined) return
  wait.missing.delete(question)
  if (isGiven) wait.given.add(filter)
  else wait.refused.add(filter)
  if (wait.missing.size === 0) resumeWaitingForPeers(state)
}

/**
 * It keeps a part of the book, and is new: what sessions here hold of that is said first of all, with what they have been
 * given and have not made use of yet.
 */
export function announceHeldFilters(state: BrokerState, neighbours: PeerTable, peer: Peer): void {
  const announce = (filter: TopicFilter, clientId: string): void => {
    if (ownerOf(filter, neighbours.place.count) !== peer.number) return
    state.peerSends.push({
      to: peer.number,
      message: { kind: 'exclusive-wanted', question: announcement, filter, clientId },
    })
  }
  for (const [filter, { clientId }] of state.exclusive) announce(filter, clientId)
  for (const { given, clientId } of neighbours.exclusiveWaits.values())
    for (const filter of given) announce(filter, clientId)
}

/** What it was asked nobody answers any more. */
export function dropExclusiveRequests(state: BrokerState, neighbours: PeerTable, peer: Peer): void {
  const { count } = neighbours.place
  neighbours.exclusive.doubt(peer.number)
  neighbours.exclusiveDeferred = neighbours.exclusiveDeferred.filter((one) => one.peer !== peer.number)
  for (const [question, connection] of neighbours.exclusiveAsked) {
    const filter = neighbours.exclusiveWaits.get(connection)?.missing.get(question)
    if (filter === undefined || ownerOf(filter, count) !== peer.number) continue
    handleExclusiveResponse(state, neighbours, { kind: 'exclusive-verdict', question, isGiven: false })
  }
  for (const [question, command] of neighbours.exclusiveCommands) {
    if (ownerOf(command.exclusive, count) !== peer.number) continue
    neighbours.exclusiveCommands.delete(question)
    handleExclusiveOutcome(state, neighbours, command, 'shard-behind')
  }
}
