// Packets that clients have begun and not ended, of all connections of a shard together. Each may be as large as
// `mqtt.max_packet_size` allows, so that a thousand clients that end none of theirs would hold gigabytes.
//
//   | least lately got on | ... | most lately got on |     sum of what they hold <= limit
//     '-- given up where the sum is larger
//
// Who gets on with its packet goes to the end of the line. So whoever holds room and does nothing with it goes first, then
// who is slowest, and an honest client is only reached by those who send faster than it does. To have them wait instead
// would not do: who is not read from never ends its packet, and nothing becomes free.

import { ProtocolError } from '../../protocol/index.ts'
import type { ClientOutput } from './client-output.ts'

/** Less than this costs no more than a connection does, and is not counted: so is what one chunk leaves of small packets. */
const countedFromBytes = 1_024
/** So much more of a packet is progress; a byte now and then is none. */
const stepBytes = 4_096

interface PartialPacket {
  heldBytes: number
  /** How much had come when it last got on. */
  markBytes: number
}

export class PartialPackets {
  readonly #limitBytes: number
  readonly #tellFault: (outlet: ClientOutput, fault: ProtocolError) => void
  /** In the order in which they last got on. */
  readonly #line = new Map<ClientOutput, PartialPacket>()
  #heldBytes = 0

  /** `tellFault`: nothing more of it will be read, and its client is to be told so. */
  constructor(limitBytes: number, tellFault: (outlet: ClientOutput, fault: ProtocolError) => void) {
    this.#limitBytes = limitBytes
    this.#tellFault = tellFault
  }

  /** Of all of them. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Its decoder has read what there is. Costs nothing where that ends with the end of a packet. */
  noteRead(outlet: ClientOutput): void {
    if (outlet.decoder.begunBytes >= countedFromBytes || this.#line.size > 0) this.note(outlet)
  }

  /** More of a packet has come, or its end. */
  note(outlet: ClientOutput): void {
    const begunBytes = outlet.begunBytes
    const begun = this.#line.get(outlet)
    if (begunBytes < countedFromBytes) return this.#remove(outlet, begun)
    const counted = begun ?? { heldBytes: 0, markBytes: begunBytes }
    if (begun === undefined || isProgress(begun, begunBytes)) this.#moveToEnd(outlet, counted, begunBytes)
    const { begunRoomBytes } = outlet
    this.#heldBytes += begunRoomBytes - counted.heldBytes
    counted.heldBytes = begunRoomBytes
    this.#makeRoom()
  }

  /** It is gone, or another shard has it. */
  forget(outlet: ClientOutput): void {
    this.#remove(outlet, this.#line.get(outlet))
  }

  #moveToEnd(outlet: ClientOutput, begun: PartialPacket, begunBytes: number): void {
    begun.markBytes = begunBytes
    this.#line.delete(outlet)
    this.#line.set(outlet, begun)
  }

  /** One alone is never given up: its packet is no larger than a packet may be. */
  #makeRoom(): void {
    while (this.#heldBytes > this.#limitBytes && this.#line.size > 1) {
      const [[outlet, begun]] = this.#line
      this.#remove(outlet, begun)
      this.#giveUp(outlet)
    }
  }

  #giveUp(outlet: ClientOutput): void {
    const text = `${this.#limitBytes} bytes of unfinished packets are here, and others get on faster with theirs`
    const fault = new ProtocolError('quotaExceeded', text)
    const { connection, decoder, stream } = outlet
    decoder.giveUp(fault)
    // Where another shard has the connection, its client hears nothing of us but the end. Who was told and goes on is cut off.
    if (connection === undefined || connection.now.state === 'closing') stream.destroy()
    else this.#tellFault(outlet, fault)
  }

  #remove(outlet: ClientOutput, begun: PartialPacket | undefined): void {
    if (begun === undefined) return
    this.#line.delete(outlet)
    this.#heldBytes -= begun.heldBytes
  }
}

/** Another packet is progress as well: the one before it has ended. */
function isProgress({ markBytes }: PartialPacket, begunBytes: number): boolean {
  return begunBytes >= markBytes + stepBytes || begunBytes < markBytes
}
