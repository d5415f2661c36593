// State on other shards of the QoS 2 messages of one client, by packet identifier, until the client releases it.

import type { PacketId, ReasonCode } from '../../../protocol/index.ts'
import type { SharedAssignments } from './shared-assignments.ts'
import type { PeerNumber } from '../../model/peer-names.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'

export interface ForwardedPacketId {
  /** Peers that have the identifier. They are notified when it is released. */
  readonly peers: Set<PeerNumber>
  /** Destination by shared subscription. Undefined: no shared subscription, or unknown since a restart. */
  assignments: SharedAssignments | undefined
  /** Completes when all peers have the message. Undefined: not awaited, or unknown since a restart. */
  forwardBarrier: CommitBarrier | undefined
  /** Reason with which a shard refused the message, if the client disconnected before PUBREC. A duplicate gets the same reason. */
  readonly refusal: ReasonCode | undefined
  /** The barrier for which PUBREC, or PUBCOMP during the release, waits; undefined: it waits for nothing. */
  barrier: CommitBarrier | undefined
  /**
   * True if the identifier was stored before the broker started. It is then unknown which peers have the message. A
   * duplicate is sent to them again, and they detect whether they had it.
   */
  readonly isFromEarlierGeneration: boolean
  /** True if the identifier was released and not all peers have confirmed that. It cannot be used again yet. */
  readonly isBeingReleased: boolean
}

export class ForwardedPacketIds {
  readonly #ids = new Map<PacketId, ForwardedPacketId>()

  get(packetId: PacketId): ForwardedPacketId | undefined {
    return this.#ids.get(packetId)
  }

  /** Returns the entry of this packet identifier, which is created if it is new. */
  ensure(packetId: PacketId): ForwardedPacketId {
    const known = this.#ids.get(packetId)
    if (known !== undefined) return known
    const made: ForwardedPacketId = {
      peers: new Set(),
      assignments: undefined,
      forwardBarrier: undefined,
      refusal: undefined,
      barrier: undefined,
      isFromEarlierGeneration: false,
      isBeingReleased: false,
    }
    this.#ids.set(packetId, made)
    return made
  }

  /** Restores an identifier from its record. */
  restore(packetId: PacketId, peers: readonly PeerNumber[], assignments: SharedAssignments | undefined): void {
    const how = {
      forwardBarrier: undefined,
      refusal: undefined,
      barrier: undefined,
      isFromEarlierGeneration: true,
      isBeingReleased: false,
    }
    this.#ids.set(packetId, { peers: new Set(peers), assignments, ...how })
  }

  /** Called when the duplicate of a restored message was handled: the state is now known. */
  confirm(packetId: PacketId, refusal: ReasonCode | undefined): void {
    const known = this.#ids.get(packetId)
    if (known !== undefined)
      this.#ids.set(packetId, { ...known, refusal, barrier: undefined, isFromEarlierGeneration: false })
  }

  /** Marks the identifier as being released. `barrier` completes when all peers have released it. */
  release(packetId: PacketId, barrier: CommitBarrier): void {
    const how = {
      assignments: undefined,
      forwardBarrier: undefined,
      refusal: undefined,
      isFromEarlierGeneration: false,
      isBeingReleased: true,
    }
    this.#ids.set(packetId, { peers: new Set(), barrier, ...how })
  }

  delete(packetId: PacketId): void {
    this.#ids.delete(packetId)
  }

  listPacketIds(): PacketId[] {
    return [...this.#ids.keys()]
  }
}
