// Messages that the remote broker rejected, by the packet identifiers of the core. They outlive connections, because
// rejected messages are sent again.
//
// Some brokers disconnect because of a message that they cannot handle, and would get it again forever. If the reason
// is a packet (DISCONNECT of 5.0) and several were in flight, these are sent one at a time on the next connection: the
// one that causes another disconnection is identified and dropped.

import { reasonCodes, type PacketId } from '../protocol/index.ts'

/** Maximum rejections for temporary reasons, then the message is dropped. */
const maxRefusals = 5
/** Maximum disconnections because of a single in-flight message. */
const maxDisconnects = 2

export class RejectedMessages {
  readonly #rejections = new Map<PacketId, number>()
  readonly #disconnects = new Map<PacketId, number>()
  /** Number of messages of which one ended the connection. */
  suspects = 0

  /** Rejected for a temporary reason. Returns true if it may be sent again. */
  recordRejection(packetId: PacketId): boolean {
    const count = (this.#rejections.get(packetId) ?? 0) + 1
    if (count >= maxRefusals) return false
    this.#rejections.set(packetId, count)
    return true
  }

  /** The connection ended because of one of these. */
  recordDisconnect(packetIds: ReadonlySet<PacketId>): void {
    this.suspects = packetIds.size
    if (packetIds.size !== 1) return
    for (const packetId of packetIds) this.#disconnects.set(packetId, (this.#disconnects.get(packetId) ?? 0) + 1)
  }

  isDropped(packetId: PacketId): boolean {
    return this.#disconnects.size > 0 && (this.#disconnects.get(packetId) ?? 0) >= maxDisconnects
  }

  /** The message is complete or was dropped. */
  forget(packetId: PacketId): void {
    if (this.#rejections.size > 0) this.#rejections.delete(packetId)
    if (this.#disconnects.size > 0) this.#disconnects.delete(packetId)
  }
}

const reasonsOfPackets: ReadonlySet<number> = new Set([
  reasonCodes.malformedPacket,
  reasonCodes.protocolError,
  reasonCodes.topicNameInvalid,
  reasonCodes.packetTooLarge,
  reasonCodes.payloadFormatInvalid,
])

/** Returns whether the reason for the end of a connection is a sent packet. */
export function isForPacket(reason: number): boolean {
  return reasonsOfPackets.has(reason)
}
