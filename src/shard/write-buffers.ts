// The buffers into which packets are written before they are handed to a stream. Those of the common size are used
// again and again; the sum of all that are in use is known, so that slow readers cannot take all memory.

/** One turn's packets for most connections; larger ones are made for the occasion. */
export const pooledBytes = 32_768
/** So many are kept for later at most: what a burst needed is given back. */
const maxPooled = 512

export class WriteBuffers {
  readonly #free: Buffer[] = []
  /** Bytes of all buffers that have been taken and not been given back, by capacity. */
  takenBytes = 0

  /** A buffer of at least so many bytes. */
  take(bytes: number): Buffer {
    const buffer =
      bytes <= pooledBytes ? (this.#free.pop() ?? Buffer.allocUnsafeSlow(pooledBytes)) : Buffer.allocUnsafeSlow(bytes)
    this.takenBytes += buffer.length
    return buffer
  }

  giveBack(buffer: Buffer): void {
    this.takenBytes -= buffer.length
    if (buffer.length === pooledBytes && this.#free.length < maxPooled) this.#free.push(buffer)
  }
}
