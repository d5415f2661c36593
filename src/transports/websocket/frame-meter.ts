// Finds the ends of messages in the bytes of a WebSocket (RFC 6455 5.2), to count the memory of incomplete ones.
//
//   | header | payload | header | payload |     a message: its frames up to the final one
//      '-- 2 bytes, 0, 2 or 8 of length, 4 of mask. Control frames may come between those of a message
//
// The library reports complete messages only. Invalid frames are counted, too: the library reports them.

/** Overhead of a chunk that waits for the rest of its message: there may be many small ones. */
const bytesPerChunk = 256

const finalBit = 0x80
const controlBit = 0x08
const maskBit = 0x80
const lengthBits = 0x7f
const lengthOf2Bytes = 126
const lengthOf8Bytes = 127
const maskBytes = 4

export class FrameMeter {
  /** Memory of an incomplete message. */
  #heldBytes = 0
  #isFinal = false
  #isControl = false
  /** Received bytes of the current header; 0: the next byte starts one. */
  #headerBytes = 0
  /** End of the length field, and end of the header. */
  #lengthEnd = 0
  #headerEnd = 0
  /** Remaining bytes of the frame's payload. */
  #payloadBytes = 0

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Handles the next bytes. */
  measureChunk(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length) at = this.#isInHeader ? this.#readHeader(chunk, at) : this.#passPayload(chunk, at)
    if (this.#heldBytes > 0) this.#heldBytes += bytesPerChunk
  }

  get #isInHeader(): boolean {
    return this.#headerBytes === 0 || this.#headerBytes < this.#headerEnd
  }

  #readHeader(chunk: Buffer, start: number): number {
    let at = start
    while (at < chunk.length && this.#isInHeader) this.#readHeaderByte(chunk[at++] ?? 0)
    if (!this.#isControl) this.#heldBytes += at - start
    if (!this.#isInHeader && this.#payloadBytes === 0) this.#endFrame()
    return at
  }

  #readHeaderByte(byte: number): void {
    const place = this.#headerBytes++
    if (place === 0) {
      this.#isFinal = (byte & finalBit) !== 0
      this.#isControl = (byte & controlBit) !== 0
      // At least; the next byte determines it.
      this.#headerEnd = 2
    } else if (place === 1) {
      const length = byte & lengthBits
      this.#lengthEnd = length === lengthOf2Bytes ? 4 : length === lengthOf8Bytes ? 10 : 2
      this.#payloadBytes = length < lengthOf2Bytes ? length : 0
      this.#headerEnd = this.#lengthEnd + ((byte & maskBit) === 0 ? 0 : maskBytes)
    } else if (place < this.#lengthEnd) {
      this.#payloadBytes = this.#payloadBytes * 256 + byte
    }
  }

  #passPayload(chunk: Buffer, start: number): number {
    const bytes = Math.min(this.#payloadBytes, chunk.length - start)
    this.#payloadBytes -= bytes
    if (!this.#isControl) this.#heldBytes += bytes
    if (this.#payloadBytes === 0) this.#endFrame()
    return start + bytes
  }

  #endFrame(): void {
    this.#headerBytes = 0
    if (this.#isFinal && !this.#isControl) this.#heldBytes = 0
  }
}
