// QoS 2 messages to other shards. A peer identifies a message of a client by the name of its session and its packet
// identifier. The peer accepts the message once, despite failures, until the identifier is released. The client may reuse the
// identifier only after all shards removed it. Otherwise a peer would treat a new message as a duplicate.

import type { PacketId } from '../../protocol/index.ts'
import type { Parts, ReleaseParts } from '../state/parts.ts'
import type { UniqueIds } from '../state/unique-ids.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { PeerRelease } from '../model/peer-messages.ts'
import { ForwardedPacketIds } from '../state/sessions/forwarded-packet-ids.ts'
import type { Session } from '../state/sessions/session.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { sendInTurn, sendNext } from './send-to-peer.ts'

/**
 * Returns a name that no other session has, not even a later session of the same client: an identifier of an ended
 * session that was never released must not suppress a message of the next session.
 */
export function ensurePeerName(ids: UniqueIds, session: Session): string {
  // A persistent session keeps its name after a restart. Other sessions do not survive the shard.
  if (session.stored !== undefined) return toPeerName(session)
  session.incoming.peerName ??= `${ids.nextName()} ${session.clientId}`
  return session.incoming.peerName
}

/** Returns the name of a persistent session. */
export function toPeerName({ createdAtMs, clientId }: { createdAtMs: number; clientId: string }): string {
  return `${createdAtMs.toString(36)} ${clientId}`
}

/** Returns the client ID in `ensurePeerName`; undefined for the name of one message without a session (send-to-peer.ts). */
export function parsePeerName(name: string): string | undefined {
  const space = name.indexOf(' ')
  return space === -1 ? undefined : name.slice(space + 1)
}

/** Records that the peer has this packet identifier. */
export function recordForwarded(session: Session, packetId: PacketId, peer: Peer): void {
  session.incoming.forwarded ??= new ForwardedPacketIds()
  session.incoming.forwarded.ensure(packetId).peers.add(peer.number)
}

/**
 * Notifies all peers that have the packet identifier, so that they remove it. The barrier completes when they have committed that.
 * Returns undefined if no peer has the identifier: then it may be reused at once.
 */
export function releaseOnPeers(state: ReleaseParts, session: Session, packetId: PacketId): CommitBarrier | undefined {
  const known = session.incoming.forwarded?.get(packetId)
  if (known !== undefined) {
    if (known.isBeingReleased) return known.barrier
    return sendReleased(state, session, {
      packetId,
      // Local shards may have left.
      peers: [...known.peers].flatMap((one) => state.peers.find(one) ?? []),
    })
  }
  // The message may be from before the restart of this shard, and the release may not have reached all peers.
  return session.restored !== undefined ? sendReleased(state, session, { packetId, peers: state.peers.all }) : undefined
}

function sendReleased(
  state: ReleaseParts,
  session: Session,
  { packetId, peers }: { packetId: PacketId; peers: readonly Peer[] },
): CommitBarrier | undefined {
  if (peers.length === 0) {
    session.incoming.forwarded?.delete(packetId)
    return undefined
  }
  const barrier = new CommitBarrier()
  session.incoming.forwarded ??= new ForwardedPacketIds()
  const forwardBarrier = session.incoming.forwarded.get(packetId)?.forwardBarrier
  session.incoming.forwarded.release(packetId, barrier)
  const message: PeerRelease = { kind: 'release', publisher: ensurePeerName(state.ids, session), packetId }
  sendRelease(state, message, { peers, behind: forwardBarrier === undefined ? [] : [forwardBarrier], barrier })
  barrier.runWhenComplete(() => session.incoming.forwarded?.delete(packetId))
  barrier.arrive()
  return barrier
}

/**
 * Sends the release to each peer; `barrier` waits for the peers. The release waits for `behind`, which completes when the peers have the
 * messages with this identifier. If a message and its release were sent together, a peer could commit both, fail before it confirms them,
 * and get both again.
 */
export function sendRelease(
  state: Parts<'batches' | 'outputs' | 'payloads' | 'storage'>,
  message: PeerRelease,
  { peers, behind, barrier }: { peers: readonly Peer[]; behind: readonly CommitBarrier[]; barrier: CommitBarrier },
): void {
  const all = new CommitBarrier()
  for (const one of behind) {
    all.expect()
    one.runWhenComplete(() => all.arrive())
  }
  barrier.expect()
  all.runWhenComplete(() => {
    for (const peer of peers) release(state, peer, message, barrier)
    barrier.arrive()
  })
  all.arrive()
}

/** Sends the release behind messages that still wait for the peer. */
function release(
  state: Parts<'batches' | 'outputs' | 'payloads' | 'storage'>,
  peer: Peer,
  message: PeerRelease,
  barrier: CommitBarrier,
): void {
  barrier.expect()
  sendInTurn(state, peer, { message: undefined, isCommitted: true }, () => {
    peer.addToOutbox(message, barrier)
    sendNext(state.outputs, peer)
  })
}

/** Called when the session has ended. Releases all its packet identifiers on the peers. */
export function releaseAllOnPeers(state: ReleaseParts, session: Session): void {
  for (const packetId of session.incoming.forwarded?.listPacketIds() ?? []) releaseOnPeers(state, session, packetId)
}
