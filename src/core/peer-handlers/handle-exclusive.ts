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
import { ownerOf, type PeerExclusive, type PeerExclusiveResponse } from '../model/peer-messages.ts'

export function handleExclusive(outputs: OutputLists, peerTable: PeerTable, peer: Peer, message: PeerExclusive): void {
  const { kind, requestId, filter, clientId } = message
  // Until all peers have announced what they hold, no filter can be granted. A release may follow a grant that is still
  // waiting, so it waits behind it.
  if (!peerTable.isReady && (kind === 'exclusive-released' || requestId !== announcement)) {
    peerTable.exclusiveDeferred.push({ peer: peer.number, message })
    return
  }
  if (kind === 'exclusive-released') return peerTable.exclusive.release(filter, peer.number, clientId)
  const isGranted = peerTable.exclusive.acquire(filter, peer.number, clientId)
  if (requestId === announcement) return
  outputs.peerSends.push({ to: peer.number, message: { kind: 'exclusive-response', requestId, isGranted } })
}

/** All peers have announced what they hold. */
export function handleDeferredExclusive(outputs: OutputLists, peerTable: PeerTable): void {
  if (peerTable.exclusiveDeferred.length === 0 || !peerTable.isReady) return
  for (const { peer, message } of peerTable.exclusiveDeferred.splice(0)) {
    handleExclusive(outputs, peerTable, peerTable.peer(peer), message)
  }
}

export function handleExclusiveResponse(
  state: BrokerState,
  peerTable: PeerTable,
  { requestId, isGranted }: PeerExclusiveResponse,
): void {
  const command = peerTable.exclusiveCommands.get(requestId)
  if (command !== undefined) {
    peerTable.exclusiveCommands.delete(requestId)
    return handleExclusiveOutcome(state, peerTable, command, isGranted ? 'given' : 'quota-exceeded')
  }
  const connection = peerTable.exclusiveRequests.get(requestId)
  const wait = connection === undefined ? undefined : peerTable.exclusiveWaits.get(connection)
  const filter = wait?.missing.get(requestId)
  peerTable.exclusiveRequests.delete(requestId)
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
export function announceHeldFilters(state: Parts<'outputs' | 'subscriptions'>, peerTable: PeerTable, peer: Peer): void {
  const announce = (filter: TopicFilter, clientId: string): void => {
    if (ownerOf(filter, peerTable.shard.count) !== peer.number) return
    state.outputs.peerSends.push({
      to: peer.number,
      message: { kind: 'exclusive-request', requestId: announcement, filter, clientId },
    })
  }
  for (const [filter, { clientId }] of state.subscriptions.exclusiveHolders) announce(filter, clientId)
  for (const { given, clientId } of peerTable.exclusiveWaits.values())
    for (const filter of given) announce(filter, clientId)
}

/** Requests to the failed shard will have no response. */
export function dropExclusiveRequests(state: BrokerState, peerTable: PeerTable, peer: Peer): void {
  const { count } = peerTable.shard
  peerTable.exclusive.suspectShard(peer.number)
  peerTable.exclusiveDeferred = peerTable.exclusiveDeferred.filter((one) => one.peer !== peer.number)
  for (const [requestId, connection] of peerTable.exclusiveRequests) {
    const filter = peerTable.exclusiveWaits.get(connection)?.missing.get(requestId)
    if (filter === undefined || ownerOf(filter, count) !== peer.number) continue
    handleExclusiveResponse(state, peerTable, { kind: 'exclusive-response', requestId, isGranted: false })
  }
  for (const [requestId, command] of peerTable.exclusiveCommands) {
    if (ownerOf(command.exclusive, count) !== peer.number) continue
    peerTable.exclusiveCommands.delete(requestId)
    handleExclusiveOutcome(state, peerTable, command, 'shard-behind')
  }
}
