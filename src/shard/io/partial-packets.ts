// Limits the memory of incomplete packets of all connections of a shard together. Each may be as large as
// `mqtt.max_packet_size`, so a thousand clients that complete none could use gigabytes.
//
//   | least recent progress | ... | most recent progress |     sum of their bytes <= limit
//     '-- disconnected if the sum is larger
//
// A client that makes progress moves to the end of the list. So clients without progress are disconnected first, then the slowest;
// a regular client is only affected by clients that send faster. Pausing them instead would not help: a client that is not read from
// never completes its packet, so no memory is freed.

import { ProtocolError } from '../../protocol/index.ts'
import type { ClientOutput } from './client-output.ts'

/**
 * Smaller ones are not counted, because a connection itself costs as much. They include the small packets of one chunk.
 */
const countedFromBytes = 1_024
/** Minimum progress in bytes; single bytes are none. */
const stepBytes = 4_096

interface PartialPacket {
  heldBytes: number
  /** Bytes received at its last progress. */
  markBytes: number
}

export class PartialPackets {
  readonly #limitBytes: number
  readonly #reportFault: (output: ClientOutput, fault: ProtocolError) => void
  /** In the order of their last progress. */
  readonly #byProgress = new Map<ClientOutput, PartialPacket>()
  #heldBytes = 0

  /** `reportFault`: nothing more of it will be read, and its client must be told. */
  constructor(limitBytes: number, reportFault: (output: ClientOutput, fault: ProtocolError) => void) {
    this.#limitBytes = limitBytes
    this.#reportFault = reportFault
  }

  /** Bytes of all of them. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** The decoder has read the available bytes. Costs nothing if these end with a complete packet. */
  noteRead(output: ClientOutput): void {
    if (output.decoder.partialBytes >= countedFromBytes || this.#byProgress.size > 0) this.note(output)
  }

  /** More bytes of a packet have arrived, or its end. */
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

  /** The connection is closed, or another shard has it. */
  forget(output: ClientOutput): void {
    this.#remove(output, this.#byProgress.get(output))
  }

  #moveToEnd(output: ClientOutput, begun: PartialPacket, begunBytes: number): void {
    begun.markBytes = begunBytes
    this.#byProgress.delete(output)
    this.#byProgress.set(output, begun)
  }

  /** A single one is never disconnected, because its packet is within the maximum packet size. */
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
    // If another shard has the connection, its client only sees the end of the stream. A client that was told and
    // continues to send is disconnected.
    if (connection === undefined || connection.now.state === 'closing') stream.destroy()
    else this.#reportFault(output, fault)
  }

  #remove(output: ClientOutput, begun: PartialPacket | undefined): void {
    if (begun === undefined) return
    this.#byProgress.delete(output)
    this.#heldBytes -= begun.heldBytes
  }
}

/** A further packet is progress as well, because the one before it is complete. */
function isProgress({ markBytes }: PartialPacket, begunBytes: number): boolean {
  return begunBytes >= markBytes + stepBytes || begunBytes < markBytes
}
