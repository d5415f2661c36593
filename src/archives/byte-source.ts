// Reads a stream of chunks in portions of a requested size.

export class ByteSource {
  readonly #pieces: AsyncIterator<Buffer>
  #piece: Buffer
  #bytesRead: number

  constructor(pieces: AsyncIterable<Buffer>) {
    this.#pieces = pieces[Symbol.asyncIterator]()
    this.#piece = Buffer.alloc(0)
    this.#bytesRead = 0
  }

  /** Number of bytes that were returned so far. */
  get bytesRead(): number {
    return this.#bytesRead
  }

  /** Returns between 1 and `maxBytes` bytes, as they arrive; undefined: the stream has ended. */
  async readSome(maxBytes: number): Promise<Buffer | undefined> {
    while (this.#piece.length === 0) {
      const next = await this.#pieces.next()
      if (next.done === true) return undefined
      this.#piece = next.value
    }
    const taken = this.#piece.subarray(0, maxBytes)
    this.#piece = this.#piece.subarray(taken.length)
    this.#bytesRead += taken.length
    return taken
  }

  /** Returns exactly `bytes` bytes; undefined: the stream ends before. */
  async readExactly(bytes: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = []
    for (let missing = bytes; missing > 0;) {
      const part = await this.readSome(missing)
      if (part === undefined) return undefined
      parts.push(part)
      missing -= part.length
    }
    return Buffer.concat(parts, bytes)
  }

  /** Called when no more bytes are needed. */
  async end(): Promise<void> {
    await this.#pieces.return?.()
  }
}
