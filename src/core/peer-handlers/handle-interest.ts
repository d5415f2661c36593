// The interest of a peer, as it reports it, and its confirmations of this shard's interest.

import type { Parts } from '../state/parts.ts'
import { toSentCounts } from '../peers/retained-from-peers.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { LinkState, Peer } from '../state/peers/peer.ts'
import type { Interest, PeerInterest, PeerInterestSeen } from '../model/peer-messages.ts'
import type { TopicFilter } from '../../protocol/index.ts'

export function handleInterest(
  state: Parts<'outputs' | 'peers' | 'router' | 'rules'>,
  { peer, link }: { peer: Peer; link: LinkState },
  message: PeerInterest,
): void {
  // The interest from before its restart stays valid until it has reported everything; otherwise its persistent
  // sessions would miss messages.
  if (message.isFirst) peer.syncNumber++
  for (const interest of message.changes) applyInterest(state, peer, interest)
  // A publisher may wait for a full session that has unsubscribed, or for a shared subscription that has a new member.
  if (message.changes.length > 0) state.rules.hasActionCapacity = true
  if (message.isComplete) {
    removeUnconfirmedInterest(state, peer)
    link.hasInterestOfPeer = true
    state.peers.updateReadiness()
  }
  const sent = state.peers.countSentToEach()
  state.outputs.peerSends.push({ to: peer.number, message: { kind: 'interest-seen', version: message.version, sent } })
}

function applyInterest(state: Parts<'peers' | 'router' | 'rules'>, peer: Peer, interest: Interest): void {
  const { filter } = interest
  if (interest.members === 0 && interest.storedMembers === 0) return removeInterest(state, peer, filter)
  countFull(state.peers, peer, filter, interest.isFull)
  peer.recordInterest(filter, interest)
  state.router.setInterest(peer, filter, interest)
}

function countFull(peers: PeerTable, peer: Peer, filter: TopicFilter, isFull: boolean): void {
  const wasFull = peer.known.get(filter)?.interest.isFull === true
  if (wasFull !== isFull) peers.fullFilters += isFull ? 1 : -1
}

function removeInterest(state: Parts<'peers' | 'router' | 'rules'>, peer: Peer, filter: TopicFilter): void {
  countFull(state.peers, peer, filter, false)
  state.rules.hasActionCapacity = true
  if (peer.known.delete(filter)) state.router.setInterest(peer, filter, undefined)
}

/** Removes interest from before the restart that the peer did not report again. */
function removeUnconfirmedInterest(state: Parts<'peers' | 'router' | 'rules'>, peer: Peer): void {
  for (const { interest, syncNumber } of listKnownInterest(peer)) {
    if (syncNumber !== peer.syncNumber) removeInterest(state, peer, interest.filter)
  }
}

/** The peer has failed: only its persistent sessions will return. */
export function removeCleanInterest(state: Parts<'peers' | 'router' | 'rules'>, peer: Peer): void {
  for (const { interest } of listKnownInterest(peer)) {
    if (interest.storedMembers === 0) removeInterest(state, peer, interest.filter)
    else applyInterest(state, peer, { ...interest, members: isShared(interest) ? 0 : interest.storedMembers })
  }
}

function listKnownInterest(peer: Peer): { interest: Interest; syncNumber: number }[] {
  const all: { interest: Interest; syncNumber: number }[] = []
  const walk = peer.known.walk()
  for (let next = walk.next(); next !== undefined; next = walk.next()) all.push(next[1])
  return all
}

function isShared({ filter }: Interest): boolean {
  return filter.startsWith('$share/')
}

export function handleInterestSeen(
  peers: PeerTable,
  { peer, link }: { peer: Peer; link: LinkState },
  message: PeerInterestSeen,
): void {
  link.seenVersion = Math.max(link.seenVersion, message.version)
  peers.updateReadiness()
  for (let next = link.awaited.peek(); next !== undefined; next = link.awaited.peek()) {
    if (next.version > link.seenVersion) return
    link.awaited.shift()
    if (next.marks !== undefined) next.marks.sentBy.set(peer.number, toSentCounts(message.sent))
    next.barrier.arrive()
  }
}
