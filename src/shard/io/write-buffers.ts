// The buffers into which packets are encoded before they are written. Buffers of the common size are reused. The sum of
// all used buffers is known, so that slow clients cannot use all memory.

/** Size for the packets of one turn of most connections; larger buffers are allocated individually. */
export const pooledBytes = 32_768
/** Payloads of this size are written from the memory of their message. It is larger than pooled buffers, so that none gets into the pool. */
export const referencedFromBytes = 65_536
/** Maximum number of pooled buffers. */
const maxPooled = 512
/**
 * If one turn writes to more connections, each further one starts with this size. With buffers of the common size, one
 * packet for each of 16,000 new connections used half a gigabyte, and the C library kept the memory in between.
 */
export const smallBytes = 1_024

export class WriteBuffers {
  readonly #free: Buffer[] = []
  #pooled = 0
  /** Capacity of all buffers in use. */
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

  /** Counts bytes that were not taken here, until `release`. */
  hold(buffer: Buffer): void {
    this.takenBytes += buffer.length
  }

  release(buffer: Buffer): void {
    this.takenBytes -= buffer.length
  }

  giveBack(buffer: Buffer): void {
    this.takenBytes -= buffer.length
    if (buffer.length === pooledBytes && this.#free.length < maxPooled) this.#free.push(buffer)
  }
}
