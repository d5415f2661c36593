// What the remote broker did not take, by the packet ids of our core. It outlives connections, for what was refused comes again
// with the next one.
//
// Some brokers end the connection for a message that they do not bear, and it would come again for ever. Where they say that
// it was for a packet (DISCONNECT of 5.0) and several were on their way, those go one at a time in the next connection: the
// one for which it ends again is known, and is given up.

import { reasonCodes, type PacketId } from '../protocol/index.ts'

/** So often a message may be refused for reasons that pass. Then it is given up. */
const maxRefusals = 5
/** So often the connection may end for a message that was alone on its way. */
const maxDisconnects = 2

export class RejectedMessages {
  readonly #rejections = new Map<PacketId, number>()
  readonly #disconnects = new Map<PacketId, number>()
  /** The connection has ended for one of so many messages. */
  suspects = 0

  /** Refused for a reason that passes. True: it may come again. */
  recordRejection(packetId: PacketId): boolean {
    const count = (this.#rejections.get(packetId) ?? 0) + 1
    if (count >= maxRefusals) return false
    this.#rejections.set(packetId, count)
    return true
  }

  /** The connection has ended for one of these. */
  recordDisconnect(packetIds: ReadonlySet<PacketId>): void {
    this.suspects = packetIds.size
    if (packetIds.size !== 1) return
    for (const packetId of packetIds) this.#disconnects.set(packetId, (this.#disconnects.get(packetId) ?? 0) + 1)
  }

  isDropped(packetId: PacketId): boolean {
    return this.#disconnects.size > 0 && (this.#disconnects.get(packetId) ?? 0) >= maxDisconnects
  }

  /** It is through, in one way or another. */
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

/** Whether a connection that ended for this reason ended for what was sent. */
export function isForPacket(reason: number): boolean {
  return reasonsOfPackets.has(reason)
}
