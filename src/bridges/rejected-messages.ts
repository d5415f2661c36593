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
const maxBlames = 2

export class Refusals {
  readonly #refused = new Map<PacketId, number>()
  readonly #blamed = new Map<PacketId, number>()
  /** The connection has ended for one of so many messages. */
  suspects = 0

  /** Refused for a reason that passes. True: it may come again. */
  refuse(packetId: PacketId): boolean {
    const count = (this.#refused.get(packetId) ?? 0) + 1
    if (count >= maxRefusals) return false
    this.#refused.set(packetId, count)
    return true
  }

  /** The connection has ended for one of these. */
  blame(packetIds: ReadonlySet<PacketId>): void {
    this.suspects = packetIds.size
    if (packetIds.size !== 1) return
    for (const packetId of packetIds) this.#blamed.set(packetId, (this.#blamed.get(packetId) ?? 0) + 1)
  }

  isGivenUp(packetId: PacketId): boolean {
    return this.#blamed.size > 0 && (this.#blamed.get(packetId) ?? 0) >= maxBlames
  }

  /** It is through, in one way or another. */
  forget(packetId: PacketId): void {
    if (this.#refused.size > 0) this.#refused.delete(packetId)
    if (this.#blamed.size > 0) this.#blamed.delete(packetId)
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
