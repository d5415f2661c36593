// The last step towards another shard: numbered, at once where that may be, else behind what waits in its outbox.

import type { BrokerState } from '../broker-state.ts'
import type { LinkState, Peer } from '../neighbours/peer.ts'
import type { PeerPublish, PeerRelease } from '../peer-messages.ts'

/** What nobody keeps: gone with the link if that breaks. */
export function sendNumbered(
  state: BrokerState,
  peer: Peer,
  link: LinkState,
  message: PeerPublish | PeerRelease,
): void {
  link.sent++
  state.peerSends.push({ to: peer.number, message })
}

/** What was just put into the outbox leaves at once, if nothing is in front of it. */
export function sendNext(state: BrokerState, peer: Peer): void {
  const { link, outbox } = peer
  if (link === undefined || peer.isCongested || outbox.unsentCount !== 1) return
  const message = outbox.takeUnsent(link.sent + 1)
  if (message !== undefined) sendNumbered(state, peer, link, message)
}
