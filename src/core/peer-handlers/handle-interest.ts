// The interest of a peer, as it reports it, and its confirmations of this shard's interest.

import type { Parts } from '../state/parts.ts'
import { toSentCounts } from '../peers/retained-from-peers.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { KnownInterest, LinkState, Peer } from '../state/peers/peer.ts'
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
    link.hasInterestOfPeer = true
    state.peers.remainingSteps.push(removeUnconfirmedInterest(state, peer, link))
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

/** Removes interest and exclusive filters from before the restart that the peer did not report again, one with each step. */
function* removeUnconfirmedInterest(
  state: Parts<'peers' | 'router' | 'rules'>,
  peer: Peer,
  link: LinkState,
): Generator<void> {
  const { syncNumber } = peer
  for (const [, known] of walkEntries(peer)) {
    // If the link has ended, the next full sync removes the rest.
    if (peer.link !== link) return
    if (known.syncNumber < syncNumber) removeInterest(state, peer, known.interest.filter)
    yield
  }
  yield* state.peers.exclusive.registry.releaseUnannounced(peer)
}

/**
 * The link of the peer has ended: only its persistent sessions will return, and none of a local shard. Removes the interest of the others, one filter
 * with each step. What the peer reports on its next link meanwhile has a later number and stays.
 */
export function* removeEndedInterest(state: Parts<'peers' | 'router' | 'rules'>, peer: Peer): Generator<void> {
  const last = peer.syncNumber
  for (const [filter, { interest, syncNumber }] of walkEntries(peer)) {
    if (syncNumber <= last) {
      if (peer.isLocal || interest.storedMembers === 0) removeInterest(state, peer, interest.filter)
      else {
        const stored = { ...interest, members: isShared(interest) ? 0 : interest.storedMembers }
        peer.known.set(filter, { interest: stored, syncNumber })
        state.router.setInterest(peer, interest.filter, stored)
      }
    }
    yield
  }
}

function* walkEntries(peer: Peer): Generator<[filter: string, known: KnownInterest]> {
  const walk = peer.known.walk()
  for (let next = walk.next(); next !== undefined; next = walk.next()) yield next
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
