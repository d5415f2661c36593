// The registry of exclusive subscriptions: requests from other shards, and responses for sessions of this shard.

import type { TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { OutputLists } from '../state/output-lists.ts'
import { resumeWaitingForPeers } from '../packets/handle-packet.ts'
import { handleExclusiveOutcome } from '../admin/admin-subscribe.ts'
import { announcement } from '../peers/exclusive-subscriptions.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { PeerExclusive, PeerExclusiveResponse } from '../model/peer-messages.ts'

export function handleExclusive(outputs: OutputLists, peers: PeerTable, peer: Peer, message: PeerExclusive): void {
  const { kind, requestId, filter, clientId } = message
  // Until all peers have announced what they hold, no filter can be granted. A release may follow a grant that is still
  // waiting, so it waits behind it.
  if (!peers.isReady && (kind === 'exclusive-released' || requestId !== announcement)) {
    peers.exclusive.deferred.push({ peer, message })
    return
  }
  if (kind === 'exclusive-released') return peers.exclusive.registry.release(filter, peer, clientId)
  const isGranted = peers.exclusive.registry.acquire(filter, peer, clientId)
  if (requestId === announcement) return
  outputs.peerSends.push({ to: peer.number, message: { kind: 'exclusive-response', requestId, isGranted } })
}

/** All peers have announced what they hold. */
export function handleDeferredExclusive(outputs: OutputLists, peers: PeerTable): void {
  if (peers.exclusive.deferred.length === 0 || !peers.isReady) return
  for (const { peer, message } of peers.exclusive.deferred.splice(0)) {
    handleExclusive(outputs, peers, peer, message)
  }
}

export function handleExclusiveResponse(state: BrokerState, { requestId, isGranted }: PeerExclusiveResponse): void {
  const command = state.peers.exclusive.commands.get(requestId)
  if (command !== undefined) {
    state.peers.exclusive.commands.delete(requestId)
    return handleExclusiveOutcome(state, command, isGranted ? 'given' : 'quota-exceeded')
  }
  const connection = state.peers.exclusive.requests.get(requestId)
  const wait = connection === undefined ? undefined : state.peers.exclusive.waits.get(connection)
  const filter = wait?.missing.get(requestId)
  state.peers.exclusive.requests.delete(requestId)
  if (wait === undefined || filter === undefined) return
  wait.missing.delete(requestId)
  if (isGranted) wait.given.add(filter)
  else wait.refused.add(filter)
  if (wait.missing.size === 0) resumeWaitingForPeers(state)
}

/**
 * A new peer owns a part of the registry. First of all it gets the filters that sessions of this shard hold, and those
 * that were granted and are not used yet.
 */
export function announceHeldFilters(state: Parts<'outputs' | 'peers' | 'subscriptions'>, peer: Peer): void {
  const announce = (filter: TopicFilter, clientId: string): void => {
    if (state.peers.findOwner(filter) !== peer) return
    state.outputs.peerSends.push({
      to: peer.number,
      message: { kind: 'exclusive-request', requestId: announcement, filter, clientId },
    })
  }
  for (const [filter, { clientId }] of state.subscriptions.exclusiveHolders) announce(filter, clientId)
  for (const { given, clientId } of state.peers.exclusive.waits.values())
    for (const filter of given) announce(filter, clientId)
}

/** Requests to the failed shard will have no response. Its own requests are not answered. */
export function dropExclusiveRequests(state: BrokerState, peer: Peer): void {
  state.peers.exclusive.deferred = state.peers.exclusive.deferred.filter((one) => one.peer !== peer)
  for (const [requestId, connection] of state.peers.exclusive.requests) {
    const filter = state.peers.exclusive.waits.get(connection)?.missing.get(requestId)
    if (filter === undefined || state.peers.findOwner(filter) !== peer) continue
    handleExclusiveResponse(state, { kind: 'exclusive-response', requestId, isGranted: false })
  }
  for (const [requestId, command] of state.peers.exclusive.commands) {
    if (state.peers.findOwner(command.exclusive) !== peer) continue
    state.peers.exclusive.commands.delete(requestId)
    handleExclusiveOutcome(state, command, 'shard-behind')
  }
}
