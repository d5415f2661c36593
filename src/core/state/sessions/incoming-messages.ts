// QoS 2 messages from the client of one session, until their PUBREL.

import type { ForwardedPacketIds } from './forwarded-packet-ids.ts'
import { PacketIdSet } from './packet-id-set.ts'

export class IncomingMessages {
  /** Packet identifiers without PUBREL, with their time of arrival; undefined: there were none. */
  packetIds: PacketIdSet | undefined
  /** No packet identifier expires before this time. */
  nextExpiryAtMs: number
  /** Packet identifiers that peers know; undefined: there are none. */
  forwarded: ForwardedPacketIds | undefined
  /** The name of a clean session for peers; undefined until it is needed. */
  peerName: string | undefined

  constructor() {
    this.packetIds = undefined
    this.nextExpiryAtMs = 0
    this.forwarded = undefined
    this.peerName = undefined
  }

  unreleased(): PacketIdSet {
    this.packetIds ??= new PacketIdSet()
    return this.packetIds
  }
}
