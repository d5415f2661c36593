// What became on other shards of the QoS 2 messages of one client, by packet id, until the client releases it.

import type { PacketId, ReasonCode } from '../../../protocol/index.ts'
import type { SharedAssignments } from './shared-assignments.ts'
import type { PeerNumber } from '../../model/peer-messages.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'

export interface ForwardedPacketId {
  /** Who has heard of it, and is to hear that it is over. */
  readonly peers: Set<PeerNumber>
  /** Of its shared subscriptions: where it went. Undefined: it was for none, or is of an earlier life that did not say so. */
  dealt: SharedAssignments | undefined
  /** Kept when all that were given it have it. Undefined: nobody waits for them, or it is of an earlier life. */
  spread: CommitBarrier | undefined
  /** A shard has not taken it, and its client was gone before it could be told: the answer when it is sent again. */
  readonly refusal: ReasonCode | undefined
  /** What its PUBREC, or while it is being released its PUBCOMP, waits for; undefined: for nothing any more. */
  barrier: CommitBarrier | undefined
  /**
   * It was in store when the broker started: nobody knows what the others have of it. The same PUBLISH again is sent to
   * them again, and they know whether they had it.
   */
  readonly isOfEarlierLife: boolean
  /** It is over, but the others have not all confirmed that they heard so: it is not free yet. */
  readonly isBeingReleased: boolean
}

export class ForwardedPacketIds {
  readonly #ids = new Map<PacketId, ForwardedPacketId>()

  get(packetId: PacketId): ForwardedPacketId | undefined {
    return this.#ids.get(packetId)
  }

  /** The one of this packet id, made if it is new. */
  of(packetId: PacketId): ForwardedPacketId {
    const known = this.#ids.get(packetId)
    if (known !== undefined) return known
    const made: ForwardedPacketId = {
      peers: new Set(),
      dealt: undefined,
      spread: undefined,
      refusal: undefined,
      barrier: undefined,
      isOfEarlierLife: false,
      isBeingReleased: false,
    }
    this.#ids.set(packetId, made)
    return made
  }

  /** Known from the disk alone: any shard may have heard of it. */
  restore(packetId: PacketId, peers: readonly PeerNumber[], dealt: SharedAssignments | undefined): void {
    const how = {
      spread: undefined,
      refusal: undefined,
      barrier: undefined,
      isOfEarlierLife: true,
      isBeingReleased: false,
    }
    this.#ids.set(packetId, { peers: new Set(peers), dealt, ...how })
  }

  /** What is known of it replaces that it was of an earlier life. */
  confirm(packetId: PacketId, refusal: ReasonCode | undefined): void {
    const known = this.#ids.get(packetId)
    if (known !== undefined) this.#ids.set(packetId, { ...known, refusal, barrier: undefined, isOfEarlierLife: false })
  }

  release(packetId: PacketId, barrier: CommitBarrier): void {
    const how = {
      dealt: undefined,
      spread: undefined,
      refusal: undefined,
      isOfEarlierLife: false,
      isBeingReleased: true,
    }
    this.#ids.set(packetId, { peers: new Set(), barrier, ...how })
  }

  delete(packetId: PacketId): void {
    this.#ids.delete(packetId)
  }

  packetIds(): PacketId[] {
    return [...this.#ids.keys()]
  }
}
