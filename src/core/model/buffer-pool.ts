// Room for bytes that outlive their chunk, handed out from 64 KiB at a time: one allocation for hundreds of small
// messages. A slab lives as long as any message in it, so only what leaves soon (in flight, waiting) goes here.

const chunkBytes = 65_536

export class BufferPool {
  current: Buffer = Buffer.allocUnsafeSlow(chunkBytes)
  #used = 0

  /** Room for so many bytes in `current`, at the offset given back. */
  reserve(bytes: number): number {
    if (this.#used + bytes > this.current.length) {
      // What is larger than a quarter of a slab gets a buffer of its own, which the next small one does not share.
      this.current = Buffer.allocUnsafeSlow(bytes > chunkBytes / 4 ? bytes : chunkBytes)
      this.#used = 0
    }
    const at = this.#used
    this.#used += bytes
    return at
  }
}
