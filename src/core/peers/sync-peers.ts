// What is said to the other shards once in a turn and not for each message: which filters sessions here hold, how far
// what came from them is safe, and what was kept for one that is back.

import type { BrokerState } from '../state/broker-state.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { LinkState, Peer } from '../state/peers/peer.ts'
import type { Interest } from '../model/peer-messages.ts'

/** So many filters in one telling of everything at most, and so many kept messages to one peer; then the others turn. */
const maxFiltersAtOnce = 1_000
const maxKeptAtOnce = 256

/** Called when the outputs of a turn are taken. */
export function syncPeers(state: BrokerState, peerTable: PeerTable): void {
  const { interest } = peerTable
  if (interest.hasChanges) {
    const changes = interest.takeChanges()
    for (const peer of peerTable.peers) {
      if (peer.link !== undefined) sendInterest(state, peer, { changes, isFirst: false, isComplete: false })
    }
  }
  for (const peer of peerTable.peers) {
    if (peer.link === undefined) continue
    if (peer.link.fullSync !== undefined) continueFullSync(state, peer, peer.link)
    const committed = peer.link.acks.take()
    if (committed !== undefined) state.peerSends.push({ to: peer.number, message: committed })
    if (peer.outbox.hasUnsent) sendStored(state, peer, peer.link)
  }
}

/** `tellPeers` is to be called again soon: not everything has been said. */
export function hasUnsentState(peerTable: PeerTable): boolean {
  return peerTable.peers.some(
    ({ link, outbox, isCongested }) =>
      link !== undefined && (link.fullSync !== undefined || (outbox.hasUnsent && !isCongested)),
  )
}

function sendInterest(
  state: BrokerState,
  peer: Peer,
  what: { changes: readonly Interest[]; isFirst: boolean; isComplete: boolean },
): void {
  const version = state.peerTable?.interest.version ?? 0
  if (peer.link !== undefined && what.isComplete) peer.link.completeVersion = version
  state.peerSends.push({ to: peer.number, message: { kind: 'interest', version, ...what } })
}

/** The next slice of everything, for a peer that is new. The first is the first word on its link. */
export function continueFullSync(state: BrokerState, peer: Peer, link: LinkState): void {
  const changes: Interest[] = []
  while (changes.length < maxFiltersAtOnce) {
    const next = link.fullSync?.next()
    if (next === undefined) {
      link.fullSync = undefined
      break
    }
    const { interest } = next[1]
    if (interest !== undefined) changes.push(interest)
  }
  const isFirst = !link.hasStartedSync
  link.hasStartedSync = true
  sendInterest(state, peer, { changes, isFirst, isComplete: link.fullSync === undefined })
}

function sendStored(state: BrokerState, peer: Peer, link: LinkState): void {
  for (let count = 0; count < maxKeptAtOnce && !peer.isCongested; count++) {
    const message = peer.outbox.takeUnsent(link.sent + 1)
    if (message === undefined) return
    link.sent++
    state.peerSends.push({ to: peer.number, message })
  }
}
