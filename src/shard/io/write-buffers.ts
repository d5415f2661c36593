// The buffers into which packets are encoded before they are written. Buffers of the pooled size are reused. The sum of
// all used buffers is counted, so that slow clients cannot use all memory.

/** Size for the packets of one turn of most connections; larger buffers are allocated individually. */
export const pooledBytes = 32_768
/**
 * Payloads of at least this size are written from the memory of their message, without a copy. It is larger than a pooled buffer, so that no
 * payload gets into the pool.
 */
export const minReferencedBytes = 65_536
/** Maximum number of pooled buffers. */
const maxPooled = 512
/**
 * Size of buffers when all pooled ones are in use. With buffers of the pooled size, one packet for each of 16,000 new connections
 * used half a gigabyte, which the C library did not return to the operating system.
 */
export const smallBytes = 1_024

export class WriteBuffers {
  readonly #free: Buffer[] = []
  #pooled = 0
  /** Capacity of all buffers in use, in bytes. */
  takenBytes = 0

  /** Returns a buffer of at least this size. */
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

  /** Releases the unused buffers; further ones are allocated when needed. */
  forget(): void {
    this.#pooled -= this.#free.length
    this.#free.length = 0
  }

  /** Counts a buffer that was not taken here as in use, until `release` or `returnBuffer`. */
  countInUse(buffer: Buffer): void {
    this.takenBytes += buffer.length
  }

  release(buffer: Buffer): void {
    this.takenBytes -= buffer.length
  }

  /** Ends the use of a buffer. A buffer of the pooled size is reused. */
  returnBuffer(buffer: Buffer): void {
    this.takenBytes -= buffer.length
    if (buffer.length === pooledBytes && this.#free.length < maxPooled) this.#free.push(buffer)
  }
}
