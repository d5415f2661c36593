// Backpressure from a peer that receives more slowly than clients publish for it: only those clients wait. A failed
// peer receives nothing until it is back; the messages stored for it have a limit.

import type { QoS, Topic } from '../../protocol/index.ts'
import type { BrokerRouter } from '../state/broker-state.ts'
import type { CoreSettings } from '../model/settings.ts'
import type { Parts } from '../state/parts.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import { ownerOf } from '../model/peer-messages.ts'

/** `wait`: until a peer can receive. `refuse`: the time is unknown. */
export type PublishPermit = 'go' | 'wait' | 'refuse'

/** Returns whether peers allow a client to publish on this topic now. */
export function publishPermitFor(
  state: Parts<'router' | 'settings'>,
  peerTable: PeerTable,
  publish: { topic: Topic; qos: QoS; retain: boolean },
): PublishPermit {
  let passage: PublishPermit = 'go'
  for (const peer of peerTable.peers) {
    const trouble = permitForPeer(state.settings, peer, publish.qos)
    if (trouble === 'go' || !isConcerned(state.router, peerTable, peer, publish)) continue
    if (!peer.isCongested) peer.hasPausedPublishers = true
    if (trouble === 'refuse') return 'refuse'
    passage = 'wait'
  }
  return passage
}

/** Returns whether no peer requires waiting, which is the usual case. */
export function everyPeerTakes(settings: CoreSettings, peerTable: PeerTable, qos: QoS): boolean {
  for (const peer of peerTable.peers) if (permitForPeer(settings, peer, qos) !== 'go') return false
  return true
}

function permitForPeer(settings: CoreSettings, peer: Peer, qos: QoS): PublishPermit {
  if (peer.isCongested) return 'wait'
  const { maxUnconfirmedMessages, maxUnconfirmedBytes } = settings
  const { length, bytes } = unconfirmedOf(peer)
  if (qos === 0 || (length < maxUnconfirmedMessages && bytes < maxUnconfirmedBytes)) return 'go'
  return peer.link === undefined ? 'refuse' : 'wait'
}

function unconfirmedOf({ outbox, uncommitted }: Peer): { length: number; bytes: number } {
  return { length: outbox.length + uncommitted.length, bytes: outbox.bytes + uncommitted.bytes }
}

function isConcerned(
  router: BrokerRouter,
  { shard }: PeerTable,
  peer: Peer,
  { topic, retain }: { topic: Topic; retain: boolean },
): boolean {
  const plan = router.planFor(topic)
  return (
    plan.peerMatches.some((part) => part.peer === peer) ||
    plan.crossShardGroups.some(({ onPeers }) => [...onPeers.members()].some(({ subscriber }) => subscriber === peer)) ||
    (retain && ownerOf(topic.name, shard.count) === peer.number)
  )
}

/** Returns whether the peer can receive again after publishers had to wait for it. */
export function resumeAfterBackpressure(settings: CoreSettings, peer: Peer): boolean {
  const { maxUnconfirmedMessages, maxUnconfirmedBytes } = settings
  const { length, bytes } = unconfirmedOf(peer)
  if (!peer.hasPausedPublishers || length * 2 > maxUnconfirmedMessages || bytes * 2 > maxUnconfirmedBytes) return false
  peer.hasPausedPublishers = false
  return true
}
