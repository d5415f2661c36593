// QoS 2 publications of other shards' clients that this shard has had, until their packet ids are released: what comes
// again (its shard has died, or this one) is passed over.
//
//   "lqzf3k9c device-7"  ids { 12, 13, 14 }   on disk { 12, 13 }       14 reached nobody here whose session is stored

import type { PacketId } from '../../protocol/index.ts'
import { PacketIdSet } from '../sessions/packet-id-set.ts'

interface Publisher {
  readonly ids: PacketIdSet
  readonly onDisk: PacketIdSet
}

export class ReceivedIds {
  readonly #publishers = new Map<string, Publisher>()

  get isEmpty(): boolean {
    return this.#publishers.size === 0
  }

  has(publisher: string, packetId: PacketId): boolean {
    return this.#publishers.get(publisher)?.ids.has(packetId) === true
  }

  add(publisher: string, packetId: PacketId, how: { isStored: boolean; nowMs: number }): void {
    let known = this.#publishers.get(publisher)
    if (known === undefined) {
      known = { ids: new PacketIdSet(), onDisk: new PacketIdSet() }
      this.#publishers.set(publisher, known)
    }
    known.ids.add(packetId, how.nowMs)
    if (how.isStored) known.onDisk.add(packetId, how.nowMs)
  }

  /** Whether it was there, and whether on disk. */
  release(publisher: string, packetId: PacketId): 'unknown' | 'in memory' | 'on disk' {
    const known = this.#publishers.get(publisher)
    if (known?.ids.delete(packetId) !== true) return 'unknown'
    if (known.ids.size === 0) this.#publishers.delete(publisher)
    return known.onDisk.delete(packetId) ? 'on disk' : 'in memory'
  }

  /** Those that came before `beforeMs`. */
  olderThan(beforeMs: number): { publisher: string; packetId: PacketId }[] {
    const old: { publisher: string; packetId: PacketId }[] = []
    for (const [publisher, { ids }] of this.#publishers) {
      for (const [packetId, sinceMs] of ids.entries()) if (sinceMs < beforeMs) old.push({ publisher, packetId })
    }
    return old
  }
}
