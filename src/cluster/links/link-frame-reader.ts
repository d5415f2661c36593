// Finds the frames in the chunks of a connection, see link-frames.ts. A frame within one chunk is a view of it; others are copied once.

import { LinkFailure } from './link-failure.ts'
import { frameHeaderBytes } from './link-frames.ts'

export interface LinkFrame {
  readonly kind: number
  /** Valid until the next call of the reader. */
  readonly body: Buffer
}

const lengthBytes = 4
const noBytes: Buffer = Buffer.alloc(0)

export class LinkFrameReader {
  /** Of kind and body. It grows with the state of the connection. */
  maxFrameBytes: number
  #chunk = noBytes
  #at = 0
  readonly #header = Buffer.alloc(frameHeaderBytes)
  #headerBytes = 0
  /** The body of a frame that spans chunks. */
  #body: Buffer | undefined
  #bodyBytes = 0

  constructor(maxFrameBytes: number) {
    this.maxFrameBytes = maxFrameBytes
  }

  /** Adds bytes. Call `next` until it returns undefined before the next chunk. */
  push(chunk: Buffer): void {
    this.#chunk = this.#at === this.#chunk.length ? chunk : Buffer.concat([this.#chunk.subarray(this.#at), chunk])
    this.#at = 0
  }

  /** Returns the next complete frame. Throws `LinkFailure` for a length that is not allowed. */
  next(): LinkFrame | undefined {
    if (!this.#readHeader()) return undefined
    const bodyBytes = this.#header.readUInt32LE(0) - 1
    const kind = this.#header[lengthBytes]
    const body = this.#body === undefined ? this.#takeBody(bodyBytes) : this.#fillBody(this.#body)
    if (body === undefined) return undefined
    this.#headerBytes = 0
    this.#body = undefined
    return { kind, body }
  }

  #readHeader(): boolean {
    while (this.#headerBytes < frameHeaderBytes) {
      if (this.#at === this.#chunk.length) return false
      this.#header[this.#headerBytes++] = this.#chunk[this.#at++]
      if (this.#headerBytes === lengthBytes) this.#checkLength(this.#header.readUInt32LE(0))
    }
    return true
  }

  #checkLength(bytes: number): void {
    if (bytes === 0) throw new LinkFailure('bad-frame', 'a frame has the length 0')
    if (bytes > this.maxFrameBytes) {
      throw new LinkFailure('frame-too-long', `a frame has ${bytes} bytes; maximum ${this.maxFrameBytes} in this state`)
    }
  }

  #takeBody(bytes: number): Buffer | undefined {
    if (this.#chunk.length - this.#at >= bytes) {
      this.#at += bytes
      return this.#chunk.subarray(this.#at - bytes, this.#at)
    }
    this.#bodyBytes = 0
    this.#body = Buffer.allocUnsafe(bytes)
    return this.#fillBody(this.#body)
  }

  #fillBody(body: Buffer): Buffer | undefined {
    const copied = this.#chunk.copy(body, this.#bodyBytes, this.#at)
    this.#at += copied
    this.#bodyBytes += copied
    return this.#bodyBytes === body.length ? body : undefined
  }
}

/** A cursor over the body of one frame. Reading beyond its end is a failure of the connection. */
export class LinkBodyReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get hasMore(): boolean {
    return this.#at < this.#bytes.length
  }

  uint8(): number {
    return this.#bytes[this.#advance(1)]
  }

  uint16(): number {
    return this.#bytes.readUInt16LE(this.#advance(2))
  }

  uint32(): number {
    return this.#bytes.readUInt32LE(this.#advance(4))
  }

  uint48(): number {
    return this.#bytes.readUIntLE(this.#advance(6), 6)
  }

  float64(): number {
    return this.#bytes.readDoubleLE(this.#advance(8))
  }

  /** Returns a view. */
  bytes(count: number): Buffer {
    const at = this.#advance(count)
    return this.#bytes.subarray(at, at + count)
  }

  text(maxBytes: number): string {
    const bytes = this.uint16()
    if (bytes > maxBytes) throw new LinkFailure('bad-frame', `a text has ${bytes} bytes; maximum ${maxBytes}`)
    const at = this.#advance(bytes)
    return this.#bytes.toString('utf8', at, at + bytes)
  }

  /** Returns a view of the rest. */
  rest(): Buffer {
    return this.bytes(this.#bytes.length - this.#at)
  }

  expectEnd(): void {
    if (this.hasMore) throw new LinkFailure('bad-frame', 'a frame has bytes after its last field')
  }

  #advance(bytes: number): number {
    const at = this.#at
    if (at + bytes > this.#bytes.length) throw new LinkFailure('bad-frame', 'a frame ends within a field')
    this.#at = at + bytes
    return at
  }
}
