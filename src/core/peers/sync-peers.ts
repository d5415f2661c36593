// Messages to peers that are sent once per turn, not once per message: the filters of sessions of this shard, the
// commits of the peers' messages, and stored messages for a peer that has restarted.

import type { OutputLists } from '../state/output-lists.ts'
import type { Parts } from '../state/parts.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { LinkState, Peer } from '../state/peers/peer.ts'
import type { Interest } from '../model/peer-messages.ts'

/** Maximum number of filters and of stored messages for one peer in one turn; then the other peers follow. */
const maxFiltersAtOnce = 1_000
const maxStoredAtOnce = 256

/** Called when the outputs of a turn are taken. */
export function syncPeers(state: Parts<'outputs' | 'peers'>): void {
  const { interest } = state.peers
  if (interest.hasChanges) {
    const changes = interest.takeChanges()
    for (const peer of state.peers.all) {
      if (peer.link !== undefined) sendInterest(state, peer, { changes, isFirst: false, isComplete: false })
    }
  }
  for (const peer of state.peers.all) {
    if (peer.link === undefined) continue
    if (peer.link.fullSync !== undefined) continueFullSync(state, peer, peer.link)
    const committed = peer.link.acks.take()
    if (committed !== undefined) state.outputs.peerSends.push({ to: peer.number, message: committed })
    if (peer.outbox.hasUnsent) sendStored(state.outputs, peer, peer.link)
  }
}

/** Returns whether `syncPeers` must be called again soon. */
export function hasUnsentState(peers: PeerTable): boolean {
  return peers.all.some(
    ({ link, outbox, isCongested }) =>
      link !== undefined && (link.fullSync !== undefined || (outbox.hasUnsent && !isCongested)),
  )
}

function sendInterest(
  state: Parts<'outputs' | 'peers'>,
  peer: Peer,
  interest: { changes: readonly Interest[]; isFirst: boolean; isComplete: boolean },
): void {
  const version = state.peers.interest.version
  if (peer.link !== undefined && interest.isComplete) {
    peer.link.completeVersion = version
    state.peers.updateReadiness()
  }
  state.outputs.peerSends.push({ to: peer.number, message: { kind: 'interest', version, ...interest } })
}

/** Sends the next slice of all filters to a new peer. The first slice is the first message on its link. */
export function continueFullSync(state: Parts<'outputs' | 'peers'>, peer: Peer, link: LinkState): void {
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

function sendStored(outputs: OutputLists, peer: Peer, link: LinkState): void {
  for (let count = 0; count < maxStoredAtOnce && !peer.isCongested; count++) {
    const message = peer.outbox.takeUnsent(link.sent + 1)
    if (message === undefined) return
    link.sent++
    outputs.peerSends.push({ to: peer.number, message })
  }
}
