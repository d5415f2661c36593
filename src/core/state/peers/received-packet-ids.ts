// Packet identifiers of QoS 2 messages that this shard received from clients of other shards, until they are released.
// Duplicates, sent after a failure of either shard, are ignored.
//
//   "lqzf3k9c device-7"  ids { 12, 13, 14 }   on disk { 12, 13 }       14 had no persistent receiver here
//                        assignments of 13: $share/press/# to shard 2   no member was left here: shard 2 has 13, too

import type { PacketId } from '../../../protocol/index.ts'
import { PacketIdSet } from '../sessions/packet-id-set.ts'
import type { SharedAssignments } from '../sessions/shared-assignments.ts'
import type { Peer } from './peer.ts'

interface Publisher {
  readonly ids: PacketIdSet
  readonly onDisk: PacketIdSet
  /** Destination of the messages of shared subscriptions. */
  assignments: Map<PacketId, SharedAssignments> | undefined
  /** Local shard of the session. Undefined: another shard, or unknown since a restart. */
  local: Peer | undefined
}

export class ReceivedPacketIds {
  readonly #publishers = new Map<string, Publisher>()
  readonly #publishersByLocal = new Map<Peer, Set<string>>()
  /** The deadline for identifiers that were not released is set. */
  isExpiryScheduled = false

  get isEmpty(): boolean {
    return this.#publishers.size === 0
  }

  has(publisher: string, packetId: PacketId): boolean {
    return this.#publishers.get(publisher)?.ids.has(packetId) === true
  }

  isOnDisk(publisher: string, packetId: PacketId): boolean {
    return this.#publishers.get(publisher)?.onDisk.has(packetId) === true
  }

  findAssignments(publisher: string, packetId: PacketId): SharedAssignments | undefined {
    return this.#publishers.get(publisher)?.assignments?.get(packetId)
  }

  /** `isStored`: the packet identifier is on disk now, or was before. */
  add(
    publisher: string,
    packetId: PacketId,
    options: { isStored: boolean; nowMs: number; assignments?: SharedAssignments | undefined },
  ): void {
    let known = this.#publishers.get(publisher)
    if (known === undefined) {
      known = { ids: new PacketIdSet(), onDisk: new PacketIdSet(), assignments: undefined, local: undefined }
      this.#publishers.set(publisher, known)
    }
    known.ids.add(packetId, options.nowMs)
    if (options.isStored) known.onDisk.add(packetId, options.nowMs)
    if (options.assignments === undefined) return
    known.assignments ??= new Map()
    known.assignments.set(packetId, options.assignments)
  }

  /** Deletes a packet identifier. Returns whether it was known, and where. */
  release(publisher: string, packetId: PacketId): 'unknown' | 'in memory' | 'on disk' {
    const known = this.#publishers.get(publisher)
    if (known?.ids.delete(packetId) !== true) return 'unknown'
    known.assignments?.delete(packetId)
    if (known.ids.size === 0) this.#forget(publisher, known)
    return known.onDisk.delete(packetId) ? 'on disk' : 'in memory'
  }

  /** The session of the publisher is on a local shard: when that has left, nothing releases its identifiers. */
  recordLocal(publisher: string, peer: Peer): void {
    const known = this.#publishers.get(publisher)
    if (known === undefined || known.local === peer) return
    known.local = peer
    const publishers = this.#publishersByLocal.get(peer) ?? new Set()
    this.#publishersByLocal.set(peer, publishers.add(publisher))
  }

  /** Enumerates the identifiers of clients of a local shard. Those that were returned may be deleted meanwhile. */
  *walkLocal(peer: Peer): Generator<{ publisher: string; packetId: PacketId }> {
    for (const publisher of this.#publishersByLocal.get(peer) ?? []) {
      const { ids } = this.#publishers.get(publisher) ?? {}
      for (const [packetId] of ids?.entries() ?? []) yield { publisher, packetId }
    }
  }

  #forget(publisher: string, { local }: Publisher): void {
    this.#publishers.delete(publisher)
    const publishers = local === undefined ? undefined : this.#publishersByLocal.get(local)
    publishers?.delete(publisher)
    if (local !== undefined && publishers?.size === 0) this.#publishersByLocal.delete(local)
  }

  /** Returns the packet identifiers that arrived before `beforeMs`. */
  findOlderThan(beforeMs: number): { publisher: string; packetId: PacketId }[] {
    const old: { publisher: string; packetId: PacketId }[] = []
    for (const [publisher, { ids }] of this.#publishers) {
      for (const [packetId, sinceMs] of ids.entries()) if (sinceMs < beforeMs) old.push({ publisher, packetId })
    }
    return old
  }
}
