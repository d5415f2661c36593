// Backpressure from a peer that receives more slowly than clients publish for it. Only these clients wait. A peer that failed
// receives nothing until it has restarted; meanwhile, the number of messages stored for it is limited.

import type { QoS, Topic } from '../../protocol/index.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts } from '../state/parts.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'

/** `wait`: the packet waits until the peer can receive. `refuse`: it is unknown when the peer can receive. */
export type PublishPermit = 'go' | 'wait' | 'refuse'

/** Returns whether peers allow a client to publish on this topic now. */
export function decidePublishPermit(
  state: Parts<'peers' | 'router' | 'settings'>,
  publish: { topic: Topic; qos: QoS; retain: boolean },
): PublishPermit {
  let permit: PublishPermit = 'go'
  for (const peer of state.peers.all) {
    const permitOfPeer = decidePeerPermit(state.settings, peer, publish.qos)
    if (permitOfPeer === 'go' || !isConcerned(state, peer, publish)) continue
    if (!peer.isCongested) peer.hasPausedPublishers = true
    if (permitOfPeer === 'refuse') return 'refuse'
    permit = 'wait'
  }
  return permit
}

/** Returns whether every peer can receive messages, which is the usual case. */
export function canForwardToAllPeers(settings: CoreSettings, peers: PeerTable, qos: QoS): boolean {
  for (const peer of peers.all) if (decidePeerPermit(settings, peer, qos) !== 'go') return false
  return true
}

function decidePeerPermit(settings: CoreSettings, peer: Peer, qos: QoS): PublishPermit {
  if (peer.isCongested) return 'wait'
  const { maxUnconfirmedMessages, maxUnconfirmedBytes } = settings
  const { length, bytes } = countUnconfirmed(peer)
  if (qos === 0 || (length < maxUnconfirmedMessages && bytes < maxUnconfirmedBytes)) return 'go'
  return peer.link === undefined ? 'refuse' : 'wait'
}

function countUnconfirmed({ outbox, uncommitted }: Peer): { length: number; bytes: number } {
  return { length: outbox.length + uncommitted.length, bytes: outbox.bytes + uncommitted.bytes }
}

function isConcerned(
  { peers, router }: Parts<'peers' | 'router'>,
  peer: Peer,
  { topic, retain }: { topic: Topic; retain: boolean },
): boolean {
  const plan = router.resolvePlan(topic)
  return (
    plan.peerMatches.some((part) => part.peer === peer) ||
    plan.crossShardGroups.some(({ onPeers }) =>
      [...onPeers.iterateMembers()].some(({ subscriber }) => subscriber === peer),
    ) ||
    (retain && peers.findOwner(topic.name) === peer)
  )
}

/** Returns true once when a peer for which publishers wait can receive again. */
export function resumeAfterBackpressure(settings: CoreSettings, peer: Peer): boolean {
  const { maxUnconfirmedMessages, maxUnconfirmedBytes } = settings
  const { length, bytes } = countUnconfirmed(peer)
  if (!peer.hasPausedPublishers || length * 2 > maxUnconfirmedMessages || bytes * 2 > maxUnconfirmedBytes) return false
  peer.hasPausedPublishers = false
  return true
}
