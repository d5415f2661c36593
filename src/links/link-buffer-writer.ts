// Collects the records for a peer within one turn, one after the other in a link buffer:
//
//   buffer:  | bytes in use | record | record | ...
//   record:  | kind | bytes of the body | body |
//
// The memory of a link buffer is transferred to the receiver. If few bytes are in use, they are copied into memory of their size
// first, so that they do not cost a whole buffer.

/**
 * Usual size of a link buffer. A larger buffer would be sent later, and a message that is in use keeps the whole buffer in memory. With
 * a smaller one, more buffers would be needed.
 */
export const linkBufferBytes = 65_536
/** Up to this number of bytes, a copy costs less than new memory. */
const maxCopiedBytes = 16_384

export const linkBufferHeaderBytes = 4
export const recordHeaderBytes = 5

export class LinkBufferWriter {
  /** Offset of the next byte. */
  at = linkBufferHeaderBytes
  /** Bytes in use of all link buffers that were sent. */
  sentBytes = 0
  #buffer: Buffer = Buffer.allocUnsafeSlow(linkBufferBytes)
  #recordAt = 0
  readonly #send: (buffer: ArrayBuffer) => void

  constructor(send: (buffer: ArrayBuffer) => void) {
    this.#send = send
  }

  get isEmpty(): boolean {
    return this.at === linkBufferHeaderBytes
  }

  /**
   * Starts a record with a body of at most `bytes`. The caller writes into the returned buffer from `at` on, moves `at`,
   * and calls `end`. A record is never divided: one that is larger than a link buffer gets a buffer of its own.
   */
  begin(kind: number, bytes: number): Buffer {
    const needed = recordHeaderBytes + bytes
    if (this.at + needed > this.#buffer.length) this.#startNext(needed)
    const buffer = this.#buffer
    this.#recordAt = this.at
    buffer[this.at] = kind
    this.at += recordHeaderBytes
    return buffer
  }

  end(): void {
    writeUint32(this.#buffer, this.#recordAt + 1, this.at - this.#recordAt - recordHeaderBytes)
  }

  /** Sends the collected records, if there are any. */
  flush(): void {
    if (this.isEmpty) return
    const used = this.at
    const buffer = this.#buffer
    writeUint32(buffer, 0, used)
    this.sentBytes += used
    this.at = linkBufferHeaderBytes
    // `allocUnsafeSlow` uses no shared pool: the buffer can be transferred.
    const memory = buffer.buffer as ArrayBuffer
    if (used <= maxCopiedBytes) return this.#send(memory.slice(0, used))
    this.#buffer = Buffer.allocUnsafeSlow(linkBufferBytes)
    this.#send(memory)
  }

  #startNext(needed: number): void {
    this.flush()
    const bytes = linkBufferHeaderBytes + needed
    if (bytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(bytes)
  }
}

/** Writes a number below 2^32, little-endian. */
export function writeUint32(target: Buffer, at: number, value: number): void {
  target[at] = value
  target[at + 1] = value >>> 8
  target[at + 2] = value >>> 16
  target[at + 3] = value >>> 24
}
