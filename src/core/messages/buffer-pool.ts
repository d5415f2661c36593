// Buffers for bytes that outlive their chunk, taken from blocks of 64 KiB: one allocation for hundreds of small messages. A
// block lives as long as any message in it, so only short-lived messages (in flight, queued) use it.

const chunkBytes = 65_536

export class BufferPool {
  current: Buffer = Buffer.allocUnsafeSlow(chunkBytes)
  #used = 0

  /** Reserves `bytes` in `current`; returns their offset. */
  reserve(bytes: number): number {
    if (this.#used + bytes > this.current.length) {
      // More than a quarter of a block gets a buffer of its own, which later messages do not share.
      this.current = Buffer.allocUnsafeSlow(bytes > chunkBytes / 4 ? bytes : chunkBytes)
      this.#used = 0
    }
    const at = this.#used
    this.#used += bytes
    return at
  }
}
