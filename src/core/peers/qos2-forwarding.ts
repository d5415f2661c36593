// QoS 2 on its way to other shards: each message of a client is known there by the name of its session and its packet
// id, and taken once, whatever dies, until the id is released. The id is the client's again only when it is forgotten
// everywhere, or a new message under it would be taken for the old one.

import type { PacketId } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { PeerRelease } from '../model/peer-messages.ts'
import { ForwardedPacketIds } from '../state/sessions/forwarded-packet-ids.ts'
import type { Session } from '../state/sessions/session.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { sendInTurn, sendNext } from './send-to-peer.ts'

/**
 * No other session has this name, not even a later one of the same client: what was never released of a session that is
 * gone must not swallow a message of the next.
 */
export function peerNameOf(state: BrokerState, session: Session): string {
  // A stored session is the same after a restart, and so is its name. Others do not outlive this life of the shard.
  if (session.stored !== undefined) return `${session.createdAtMs.toString(36)} ${session.clientId}`
  session.peerName ??= `${state.identity}.${state.nextSerial().toString(36)} ${session.clientId}`
  return session.peerName
}

/** The client ID in `peerNameOf`; undefined: the name of one message without a session (send-to-peer.ts). */
export function clientIdOfPeerName(name: string): string | undefined {
  const space = name.indexOf(' ')
  return space === -1 ? undefined : name.slice(space + 1)
}

/** The peer has been told of this packet id. */
export function recordForwarded(session: Session, packetId: PacketId, peer: Peer): void {
  session.forwardedPacketIds ??= new ForwardedPacketIds()
  session.forwardedPacketIds.of(packetId).peers.add(peer.number)
}

/**
 * Tells all who have heard of the packet id that it is over. The vow is kept when they have it on disk; undefined: nobody
 * has heard of it, and it may be used again at once.
 */
export function releaseOnPeers(state: BrokerState, session: Session, packetId: PacketId): CommitBarrier | undefined {
  const { peerTable } = state
  if (peerTable === undefined) return undefined
  const known = session.forwardedPacketIds?.get(packetId)
  if (known !== undefined) {
    if (known.isBeingReleased) return known.barrier
    return sendReleased(state, session, { packetId, peers: [...known.peers].map((one) => peerTable.peer(one)) })
  }
  // It may be of an earlier life of this shard, in which its release may not have reached everybody.
  return session.isRestored ? sendReleased(state, session, { packetId, peers: peerTable.peers }) : undefined
}

function sendReleased(
  state: BrokerState,
  session: Session,
  { packetId, peers }: { packetId: PacketId; peers: readonly Peer[] },
): CommitBarrier | undefined {
  if (peers.length === 0) {
    session.forwardedPacketIds?.delete(packetId)
    return undefined
  }
  const barrier = new CommitBarrier()
  session.forwardedPacketIds ??= new ForwardedPacketIds()
  const spread = session.forwardedPacketIds.get(packetId)?.spread
  session.forwardedPacketIds.release(packetId, barrier)
  const message: PeerRelease = { kind: 'release', publisher: peerNameOf(state, session), packetId }
  sendRelease(state, message, { peers, behind: spread === undefined ? [] : [spread], barrier })
  barrier.whenComplete(() => session.forwardedPacketIds?.delete(packetId))
  barrier.arrive()
  return barrier
}

/**
 * To each of the peers; the vow waits for them. Not before `behind` is kept, which says that they have what they were sent under the
 * packet id: were both under way, a peer could take in both and die before it says so, and be sent both again.
 */
export function sendRelease(
  state: BrokerState,
  message: PeerRelease,
  { peers, behind, barrier }: { peers: readonly Peer[]; behind: readonly CommitBarrier[]; barrier: CommitBarrier },
): void {
  const all = new CommitBarrier()
  for (const one of behind) {
    all.expect()
    one.whenComplete(() => all.arrive())
  }
  barrier.expect()
  all.whenComplete(() => {
    for (const peer of peers) release(state, peer, message, barrier)
    barrier.arrive()
  })
  all.arrive()
}

/** In its place: what nobody waits for may not have left yet. */
function release(state: BrokerState, peer: Peer, message: PeerRelease, barrier: CommitBarrier): void {
  barrier.expect()
  sendInTurn(state, peer, { message: undefined, isDecided: true }, () => {
    peer.outbox.push(message, barrier)
    sendNext(state, peer)
  })
}

/** The session is over: nothing of it is to be remembered anywhere. */
export function releaseAllOnPeers(state: BrokerState, session: Session): void {
  for (const packetId of session.forwardedPacketIds?.packetIds() ?? []) releaseOnPeers(state, session, packetId)
}
