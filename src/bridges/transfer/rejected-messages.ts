// Messages that the remote broker rejected, by the packet identifiers of the core. They outlive connections, because
// rejected messages are sent again.
//
// Some brokers disconnect because of a message that they cannot handle, and would get it again forever. If the reason
// is a packet (DISCONNECT of 5.0) and several were in flight, these are sent one at a time on the next connection: the
// one that causes another disconnection is identified and dropped.

import { reasonCodes, type PacketId } from '../../protocol/index.ts'

/** Number of rejections for a temporary reason after which a message is dropped. */
const maxRejections = 5
/** If the remote broker disconnects this many times while a message is the only one in flight, the message is dropped. */
const maxDisconnects = 2

export class RejectedMessages {
  readonly #rejections = new Map<PacketId, number>()
  readonly #disconnects = new Map<PacketId, number>()
  /** Number of messages in flight when a packet ended the last connection: one of them is the cause. */
  candidates = 0

  /** Counts a rejection for a temporary reason. Returns true if the message may be sent again. */
  recordRejection(packetId: PacketId): boolean {
    const count = (this.#rejections.get(packetId) ?? 0) + 1
    if (count >= maxRejections) return false
    this.#rejections.set(packetId, count)
    return true
  }

  /** The connection ended because of one of these messages. If there is only one, the disconnection is counted for it. */
  recordDisconnect(packetIds: ReadonlySet<PacketId>): void {
    this.candidates = packetIds.size
    if (packetIds.size !== 1) return
    for (const packetId of packetIds) this.#disconnects.set(packetId, (this.#disconnects.get(packetId) ?? 0) + 1)
  }

  mustDrop(packetId: PacketId): boolean {
    return this.#disconnects.size > 0 && (this.#disconnects.get(packetId) ?? 0) >= maxDisconnects
  }

  /** The message is complete or was dropped. */
  forget(packetId: PacketId): void {
    if (this.#rejections.size > 0) this.#rejections.delete(packetId)
    if (this.#disconnects.size > 0) this.#disconnects.delete(packetId)
  }
}

const packetReasons: ReadonlySet<number> = new Set([
  reasonCodes.malformedPacket,
  reasonCodes.protocolError,
  reasonCodes.topicNameInvalid,
  reasonCodes.packetTooLarge,
  reasonCodes.payloadFormatInvalid,
])

/** Returns whether a DISCONNECT with this reason code was caused by a packet that was sent. */
export function isPacketReason(reason: number): boolean {
  return packetReasons.has(reason)
}
