// Packet identifiers of QoS 2 messages from clients of other shards whose release has not arrived, because a shard
// failed before it sent it. After a long time this shard queries the client's shard whether the session still uses them.

import type { ExchangeParts, Parts, ReleaseParts } from '../state/parts.ts'
import { parsePeerName, ensurePeerName, sendRelease } from '../peers/qos2-forwarding.ts'
import { computeOwnerShard, type PeerReleaseRequest } from '../model/peer-messages.ts'
import { deleteRecord } from '../queues/persistent-queue.ts'
import type { PacketId } from '../../protocol/index.ts'
import type { Peer } from '../state/peers/peer.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'

const timeoutsUntilExpiry = 3
/** Maximum number of identifiers in one tick, because each costs a record or a message to a peer. The next part follows after the delay. */
const maxExpiriesPerTick = 1_000
const nextPartDelayMs = 1_000
/** Subject of the deadline: there is one for all identifiers. */
const subject = 'received packet identifiers'

export function scheduleExpiry(state: Parts<'deadlines' | 'nowMs' | 'peers' | 'settings'>): void {
  const { awaitReleaseTimeoutMs } = state.settings
  if (awaitReleaseTimeoutMs === 0 || state.peers.received.isExpiryScheduled) return
  state.peers.received.isExpiryScheduled = true
  state.deadlines.set('expire-received-ids', subject, state.nowMs + awaitReleaseTimeoutMs)
}

/** Expires packet identifiers older than three times mqtt.await_rel_timeout, or sends a query about them to their shard. */
export function expireReceivedIds(state: ExchangeParts & Parts<'deadlines' | 'sessions'>): void {
  state.peers.received.isExpiryScheduled = false
  const beforeMs = state.nowMs - timeoutsUntilExpiry * state.settings.awaitReleaseTimeoutMs
  const old = state.peers.received.findOlderThan(beforeMs)
  for (const exchange of old.slice(0, maxExpiriesPerTick)) expireReceivedId(state, exchange)
  if (old.length > maxExpiriesPerTick) {
    state.peers.received.isExpiryScheduled = true
    state.deadlines.set('expire-received-ids', subject, state.nowMs + nextPartDelayMs)
  } else if (!state.peers.received.isEmpty) {
    scheduleExpiry(state)
  }
}

interface Exchange {
  readonly publisher: string
  readonly packetId: PacketId
}

/** A client may send its PUBLISH again as long as its session exists, so the shard of the session decides. */
function expireReceivedId(state: ReleaseParts & Parts<'nowMs' | 'sessions'>, exchange: Exchange): void {
  const { publisher, packetId } = exchange
  const clientId = parsePeerName(publisher)
  if (clientId === undefined) return void removeReceivedId(state, exchange)
  const owner = computeOwnerShard(clientId, state.peers.shard.count)
  if (owner === state.peers.shard.own) {
    // After a change of node.shards the session may be on this shard.
    if (!holdsPacketId(state, clientId, exchange)) removeReceivedId(state, exchange)
    return
  }
  // The age starts again, so that the next request follows after the same time, not at each tick.
  state.peers.received.add(publisher, packetId, { isStored: false, nowMs: state.nowMs })
  if (state.peers.requirePeer(owner).link !== undefined)
    state.outputs.peerSends.push({ to: owner, message: { kind: 'release-request', publisher, packetId } })
}

export function handleReleaseRequest(
  state: ReleaseParts & Parts<'sessions'>,
  peer: Peer,
  { publisher, packetId }: PeerReleaseRequest,
): void {
  const clientId = parsePeerName(publisher)
  if (clientId !== undefined && holdsPacketId(state, clientId, { publisher, packetId })) return
  const message = { kind: 'release', publisher, packetId } as const
  sendRelease(state, message, { peers: [peer], behind: [], barrier: new CommitBarrier() })
}

function holdsPacketId(state: Parts<'ids' | 'sessions'>, clientId: string, { publisher, packetId }: Exchange): boolean {
  const session = state.sessions.get(clientId)
  if (session === undefined || ensurePeerName(state.ids, session) !== publisher) return false
  return session.incoming.packetIds?.has(packetId) === true || session.incoming.forwarded?.get(packetId) !== undefined
}

/**
 * Removes a packet identifier whose message will not be sent again. `batch`: the batch that deletes its record here, 0 if
 * there is none. If the message went on to other shards, the barrier completes only after they removed it too. Until
 * then the identifier stays known here, so that a later release reaches them.
 */
export function removeReceivedId(
  state: Parts<'batches' | 'outputs' | 'payloads' | 'peers' | 'storage'>,
  exchange: { readonly publisher: string; readonly packetId: PacketId },
): { batch: number; barrier: CommitBarrier | undefined } {
  const { received, shard: place } = state.peers
  const { publisher, packetId } = exchange
  const assignments = received.findAssignments(publisher, packetId)
  // Local shards may have left, and after a change of `node.shards` others may not exist.
  const peers = assignments?.listOtherShards(place.own).flatMap((number) => state.peers.find(number) ?? []) ?? []
  if (assignments === undefined || peers.length === 0) {
    if (received.release(publisher, packetId) !== 'on disk') return { batch: 0, barrier: undefined }
    deleteRecord(state.batches, { kind: 'forwarded', shard: place.own, publisher, packetId })
    return { batch: state.batches.openBatch.number, barrier: undefined }
  }
  const behind = [...assignments.entries()].flatMap(([, { barrier }]) => barrier ?? [])
  assignments.release ??= releaseOnFurtherShards(state, { exchange, peers, behind })
  return { batch: 0, barrier: assignments.release }
}

interface ForwardedRelease {
  readonly exchange: { readonly publisher: string; readonly packetId: PacketId }
  readonly peers: readonly Peer[]
  readonly behind: readonly CommitBarrier[]
}

function releaseOnFurtherShards(
  state: Parts<'batches' | 'outputs' | 'payloads' | 'peers' | 'storage'>,
  { exchange: { publisher, packetId }, peers, behind }: ForwardedRelease,
): CommitBarrier {
  const { received, shard: place } = state.peers
  const everywhere = new CommitBarrier()
  const beyond = new CommitBarrier()
  sendRelease(state, { kind: 'release', publisher, packetId }, { peers, behind, barrier: beyond })
  beyond.runWhenComplete(() => {
    if (received.release(publisher, packetId) !== 'on disk') return everywhere.arrive()
    deleteRecord(state.batches, { kind: 'forwarded', shard: place.own, publisher, packetId })
    state.storage.barriersByBatch.push({ batch: state.batches.openBatch.number, barrier: everywhere })
  })
  beyond.arrive()
  return everywhere
}
