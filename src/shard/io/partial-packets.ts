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
 * Incomplete packets below this size are not counted, because a connection itself costs as much. Small packets whose end is in the next
 * chunk are among them.
 */
const minCountedBytes = 1_024
/** Number of further bytes that count as progress. A client that sends single bytes makes no progress. */
const minProgressBytes = 4_096

interface PartialPacket {
  heldBytes: number
  /** Number of bytes received at the last progress. */
  bytesAtProgress: number
}

export class PartialPackets {
  readonly #maxBytes: number
  readonly #reportFault: (output: ClientOutput, fault: ProtocolError) => void
  /** Incomplete packets in the order of their last progress. */
  readonly #byProgress = new Map<ClientOutput, PartialPacket>()
  #heldBytes = 0

  /** `reportFault`: disconnects the client with the reason. Nothing more is read from its connection. */
  constructor(maxBytes: number, reportFault: (output: ClientOutput, fault: ProtocolError) => void) {
    this.#maxBytes = maxBytes
    this.#reportFault = reportFault
  }

  /** Memory of all counted incomplete packets, in bytes. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Called when the decoder has read the available bytes. Costs nothing if they end with a complete packet. */
  updateAfterRead(output: ClientOutput): void {
    if (output.decoder.partialBytes >= minCountedBytes || this.#byProgress.size > 0) this.update(output)
  }

  /** Called when more bytes of an incomplete packet have arrived, or its end. */
  update(output: ClientOutput): void {
    const partialBytes = output.partialBytes
    const partial = this.#byProgress.get(output)
    if (partialBytes < minCountedBytes) return this.#remove(output, partial)
    const counted = partial ?? { heldBytes: 0, bytesAtProgress: partialBytes }
    if (partial === undefined || isProgress(partial, partialBytes)) this.#moveToEnd(output, counted, partialBytes)
    const { partialMemoryBytes } = output
    this.#heldBytes += partialMemoryBytes - counted.heldBytes
    counted.heldBytes = partialMemoryBytes
    this.#rejectSlowest()
  }

  /** Called when the connection was closed, or was relayed to another shard. */
  forget(output: ClientOutput): void {
    this.#remove(output, this.#byProgress.get(output))
  }

  #moveToEnd(output: ClientOutput, partial: PartialPacket, partialBytes: number): void {
    partial.bytesAtProgress = partialBytes
    this.#byProgress.delete(output)
    this.#byProgress.set(output, partial)
  }

  /** Disconnects the slowest clients. A single incomplete packet is never rejected, because it is within the maximum packet size. */
  #rejectSlowest(): void {
    while (this.#heldBytes > this.#maxBytes && this.#byProgress.size > 1) {
      const [[output, partial]] = this.#byProgress
      this.#remove(output, partial)
      this.#reject(output)
    }
  }

  #reject(output: ClientOutput): void {
    const text = `incomplete packets of all clients use their limit of ${this.#maxBytes} bytes, and this client makes least progress`
    const fault = new ProtocolError('quotaExceeded', text)
    const { connection, decoder, stream } = output
    decoder.stop(fault)
    // If another shard has the connection, the client only sees the end of the stream. A client that got the reason and
    // continues to send is closed.
    if (connection === undefined || connection.now.state === 'closing') stream.destroy()
    else this.#reportFault(output, fault)
  }

  #remove(output: ClientOutput, partial: PartialPacket | undefined): void {
    if (partial === undefined) return
    this.#byProgress.delete(output)
    this.#heldBytes -= partial.heldBytes
  }
}

/** Returns whether a client made progress. The start of a further packet is progress as well, because the packet before it is complete. */
function isProgress({ bytesAtProgress }: PartialPacket, partialBytes: number): boolean {
  return partialBytes >= bytesAtProgress + minProgressBytes || partialBytes < bytesAtProgress
}
