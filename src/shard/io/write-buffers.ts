// The buffers into which packets are written before they are handed to a stream. Those of the common size are used
// again and again; the sum of all that are in use is known, so that slow readers cannot take all memory.

/** One turn's packets for most connections; larger ones are made for the occasion. */
export const pooledBytes = 32_768
/** So many of them there are at most. */
const maxPooled = 512
/**
 * Where more connections are written to in one turn, each further one begins with so much. An answer to each of 16,000 that come at
 * once took half a gigabyte in buffers of the common size, and the C library kept what was between them.
 */
const smallBytes = 1_024

export class WriteBuffers {
  readonly #free: Buffer[] = []
  #pooled = 0
  /** Bytes of all buffers that have been taken and not been given back, by capacity. */
  takenBytes = 0

  /** A buffer of at least so many bytes. */
  take(bytes: number): Buffer {
    const buffer = bytes <= pooledBytes ? (this.#free.pop() ?? this.#make(bytes)) : Buffer.allocUnsafeSlow(bytes)
    this.takenBytes += buffer.length
    return buffer
  }

  #make(bytes: number): Buffer {
    if (this.#pooled >= maxPooled) return Buffer.allocUnsafeSlow(Math.max(bytes, smallBytes))
    this.#pooled++
    return Buffer.allocUnsafeSlow(pooledBytes)
  }

  /** Those that wait to be used again go back to the system; further ones are made when they are needed. */
  forget(): void {
    this.#pooled -= this.#free.length
    this.#free.length = 0
  }

  giveBack(buffer: Buffer): void {
    this.takenBytes -= buffer.length
    if (buffer.length === pooledBytes && this.#free.length < maxPooled) this.#free.push(buffer)
  }
}
