// QoS 2 messages from the client of one session, until their PUBREL.

import type { PacketId } from '../../../protocol/index.ts'
import type { RemainingReceivers } from '../../../records/index.ts'
import type { ForwardedPacketIds } from './forwarded-packet-ids.ts'
import { PacketIdSet } from './packet-id-set.ts'

/** A message that was delivered in part before the number of shards changed. */
export interface PartialMessage {
  readonly receivers: RemainingReceivers
  /** The client sent the message again, and it was delivered to the remaining receivers. */
  isRouted: boolean
  /** False: the shard of the publisher had not stored the message, so the packet identifier is accepted once more. */
  readonly isAccepted: boolean
  readonly restoredAtMs: number
}

export class IncomingMessages {
  /** Packet identifiers without PUBREL, with their time of arrival; undefined: there were none. */
  packetIds: PacketIdSet | undefined
  /** No packet identifier expires before this time. */
  nextExpiryAtMs: number
  /** Packet identifiers that peers know; undefined: there are none. */
  forwarded: ForwardedPacketIds | undefined
  /** By packet identifier; undefined: there is none. */
  partial: Map<PacketId, PartialMessage> | undefined
  /** The name of a clean session for peers; undefined until it is needed. */
  peerName: string | undefined

  constructor() {
    this.packetIds = undefined
    this.nextExpiryAtMs = 0
    this.forwarded = undefined
    this.partial = undefined
    this.peerName = undefined
  }

  ensurePacketIds(): PacketIdSet {
    this.packetIds ??= new PacketIdSet()
    return this.packetIds
  }

  /** Removes a packet identifier. Returns false if it is unknown. */
  release(packetId: PacketId): boolean {
    this.partial?.delete(packetId)
    return this.packetIds?.delete(packetId) === true
  }
}
