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
  readonly #reportFault: (output: ClientOutput, fault: ProtocolError) => void
  /** In the order in which they last got on. */
  readonly #byProgress = new Map<ClientOutput, PartialPacket>()
  #heldBytes = 0

  /** `tellFault`: nothing more of it will be read, and its client is to be told so. */
  constructor(limitBytes: number, reportFault: (output: ClientOutput, fault: ProtocolError) => void) {
    this.#limitBytes = limitBytes
    this.#reportFault = reportFault
  }

  /** Of all of them. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Its decoder has read what there is. Costs nothing where that ends with the end of a packet. */
  noteRead(output: ClientOutput): void {
    if (output.decoder.partialBytes >= countedFromBytes || this.#byProgress.size > 0) this.note(output)
  }

  /** More of a packet has come, or its end. */
  note(output: ClientOutput): void {
    const begunBytes = output.partialBytes
    const begun = this.#byProgress.get(output)
    if (begunBytes < countedFromBytes) return this.#remove(output, begun)
    const counted = begun ?? { heldBytes: 0, markBytes: begunBytes }
    if (begun === undefined || isProgress(begun, begunBytes)) this.#moveToEnd(output, counted, begunBytes)
    const { partialMemoryBytes } = output
    this.#heldBytes += partialMemoryBytes - counted.heldBytes
    counted.heldBytes = partialMemoryBytes
    this.#rejectSlowest()
  }

  /** It is gone, or another shard has it. */
  forget(output: ClientOutput): void {
    this.#remove(output, this.#byProgress.get(output))
  }

  #moveToEnd(output: ClientOutput, begun: PartialPacket, begunBytes: number): void {
    begun.markBytes = begunBytes
    this.#byProgress.delete(output)
    this.#byProgress.set(output, begun)
  }

  /** One alone is never given up: its packet is no larger than a packet may be. */
  #rejectSlowest(): void {
    while (this.#heldBytes > this.#limitBytes && this.#byProgress.size > 1) {
      const [[output, begun]] = this.#byProgress
      this.#remove(output, begun)
      this.#reject(output)
    }
  }

  #reject(output: ClientOutput): void {
    const text = `${this.#limitBytes} bytes of unfinished packets are here, and others get on faster with theirs`
    const fault = new ProtocolError('quotaExceeded', text)
    const { connection, decoder, stream } = output
    decoder.stop(fault)
    // Where another shard has the connection, its client hears nothing of us but the end. Who was told and goes on is cut off.
    if (connection === undefined || connection.now.state === 'closing') stream.destroy()
    else this.#reportFault(output, fault)
  }

  #remove(output: ClientOutput, begun: PartialPacket | undefined): void {
    if (begun === undefined) return
    this.#byProgress.delete(output)
    this.#heldBytes -= begun.heldBytes
  }
}

/** Another packet is progress as well: the one before it has ended. */
function isProgress({ markBytes }: PartialPacket, begunBytes: number): boolean {
  return begunBytes >= markBytes + stepBytes || begunBytes < markBytes
}
