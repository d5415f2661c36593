// Limits the memory of incomplete packets of all connections of a shard together. A packet may be as large as
// `mqtt.max_packet_size`, so a thousand clients that complete no packet could use gigabytes.
//
//   | least recent progress | ... | most recent progress |     sum of their bytes <= limit
//     '-- disconnected if the sum is larger
//
// A client that makes progress moves to the end of the list. So clients without progress are disconnected first, then the slowest;
// a regular client is only affected by clients that send faster. Pausing them instead would not help: a client that is paused
// never completes its packet, so no memory is freed.

import { ProtocolError } from '../../protocol/index.ts'
import type { ClientOutput } from './client-output.ts'

/**
 * Incomplete packets below this size are not counted, because a connection itself costs as much. They include small packets within one chunk.
 */
const countedFromBytes = 1_024
/** Number of bytes that count as progress. Single bytes do not count. */
const stepBytes = 4_096

interface PartialPacket {
  heldBytes: number
  /** Number of bytes received at the last progress. */
  markBytes: number
}

export class PartialPackets {
  readonly #limitBytes: number
  readonly #reportFault: (output: ClientOutput, fault: ProtocolError) => void
  /** Incomplete packets in the order of their last progress. */
  readonly #byProgress = new Map<ClientOutput, PartialPacket>()
  #heldBytes = 0

  /** `reportFault`: disconnects the client with the reason. Nothing more is read from its connection. */
  constructor(limitBytes: number, reportFault: (output: ClientOutput, fault: ProtocolError) => void) {
    this.#limitBytes = limitBytes
    this.#reportFault = reportFault
  }

  /** Memory of all counted incomplete packets, in bytes. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Called when the decoder has read the available bytes. Costs nothing if they end with a complete packet. */
  noteRead(output: ClientOutput): void {
    if (output.decoder.partialBytes >= countedFromBytes || this.#byProgress.size > 0) this.note(output)
  }

  /** Called when more bytes of an incomplete packet have arrived, or its end. */
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

  /** Called when the connection was closed, or was relayed to another shard. */
  forget(output: ClientOutput): void {
    this.#remove(output, this.#byProgress.get(output))
  }

  #moveToEnd(output: ClientOutput, begun: PartialPacket, begunBytes: number): void {
    begun.markBytes = begunBytes
    this.#byProgress.delete(output)
    this.#byProgress.set(output, begun)
  }

  /** Disconnects the slowest clients. A single incomplete packet is never rejected, because it is within the maximum packet size. */
  #rejectSlowest(): void {
    while (this.#heldBytes > this.#limitBytes && this.#byProgress.size > 1) {
      const [[output, begun]] = this.#byProgress
      this.#remove(output, begun)
      this.#reject(output)
    }
  }

  #reject(output: ClientOutput): void {
    const text = `incomplete packets of all clients use their limit of ${this.#limitBytes} bytes, and this client makes least progress`
    const fault = new ProtocolError('quotaExceeded', text)
    const { connection, decoder, stream } = output
    decoder.stop(fault)
    // If another shard has the connection, the client only sees the end of the stream. A client that got the reason and
    // continues to send is closed.
    if (connection === undefined || connection.now.state === 'closing') stream.destroy()
    else this.#reportFault(output, fault)
  }

  #remove(output: ClientOutput, begun: PartialPacket | undefined): void {
    if (begun === undefined) return
    this.#byProgress.delete(output)
    this.#heldBytes -= begun.heldBytes
  }
}

/** Returns whether a client made progress. The start of a further packet is progress as well, because the packet before it is complete. */
function isProgress({ markBytes }: PartialPacket, begunBytes: number): boolean {
  return begunBytes >= markBytes + stepBytes || begunBytes < markBytes
}
