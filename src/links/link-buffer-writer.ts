// What goes to a peer within one turn, one behind the other in one piece of memory:
//
//   post:    | bytes in use | record | record | ...
//   record:  | kind | bytes of the body | body |
//
// A post that is nearly full is handed over as it is and its memory is the receiver's; a small one is copied into a piece
// of just its size, so that a few bytes do not cost a whole piece.

/** A post is cut here: small enough to be passed on early and to be held by one that has a part of it, large enough to be rare. */
export const linkBufferBytes = 65_536
/** Up to here copying costs less than new memory. */
const copiedUpToBytes = 16_384

export const linkBufferHeaderBytes = 4
export const recordHeaderBytes = 5

export class LinkBufferWriter {
  /** Where the next byte goes. */
  at = linkBufferHeaderBytes
  /** Bytes of all posts so far. */
  sentBytes = 0
  #buffer: Buffer = Buffer.allocUnsafeSlow(linkBufferBytes)
  #recordAt = 0
  readonly #send: (send: ArrayBuffer) => void

  constructor(send: (send: ArrayBuffer) => void) {
    this.#send = send
  }

  get isEmpty(): boolean {
    return this.at === linkBufferHeaderBytes
  }

  /**
   * Begins a record whose body takes `bytes` at most: fill the buffer that is given back from `at` on, moving `at` along, then
   * say `end`. A record is never divided: one that is larger than a post has a post of its own.
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

  /** Hands over what there is. */
  flush(): void {
    if (this.isEmpty) return
    const used = this.at
    const buffer = this.#buffer
    writeUint32(buffer, 0, used)
    this.sentBytes += used
    this.at = linkBufferHeaderBytes
    // `allocUnsafeSlow` has memory of its own: the buffer is all of it.
    const memory = buffer.buffer as ArrayBuffer
    if (used <= copiedUpToBytes) return this.#send(memory.slice(0, used))
    this.#buffer = Buffer.allocUnsafeSlow(linkBufferBytes)
    this.#send(memory)
  }

  #startNext(needed: number): void {
    this.flush()
    const bytes = linkBufferHeaderBytes + needed
    if (bytes > this.#buffer.length) this.#buffer = Buffer.allocUnsafeSlow(bytes)
  }
}

/** Little-endian, below 2^32. */
export function writeUint32(target: Buffer, at: number, value: number): void {
  target[at] = value
  target[at + 1] = value >>> 8
  target[at + 2] = value >>> 16
  target[at + 3] = value >>> 24
}
