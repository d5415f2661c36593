// Frames of a connection between two nodes:
//
//   | length (4 bytes, of kind and body) | kind (1 byte) | body |
//
// All numbers are little-endian. Numbered frames begin with their number (6 bytes): 1, 2, 3 ... of one run of a link thread to another. They
// are repeated after a reconnect, so each arrives once. The others mean something on their connection only.

import { createAssertionError } from '../../protocol/index.ts'

export const linkFrameKinds = {
  // Before the other side is authenticated.
  challenge: 1,
  proof: 2,
  // Once, after authentication.
  hello: 3,
  // On data connections: the number of the last frame that this side has of the other one.
  resume: 4,
  confirm: 5,
  /** The sender ends the connection, and says why. */
  end: 6,
  /** On heartbeat connections. */
  heartbeat: 7,
  // Numbered.
  shardUp: 16,
  shardDown: 17,
  channelData: 18,
  channelEnd: 19,
} as const

export const firstNumberedKind = linkFrameKinds.shardUp

/** The length field and the kind. */
export const frameHeaderBytes = 5
export const frameNumberBytes = 6

/** Writes one frame. The caller knows the size of its body, at most. */
export class LinkFrameWriter {
  readonly #target: Buffer
  #at = frameHeaderBytes

  constructor(kind: number, maxBodyBytes: number) {
    this.#target = Buffer.allocUnsafe(frameHeaderBytes + maxBodyBytes)
    this.#target[4] = kind
  }

  uint8(value: number): this {
    this.#at = this.#target.writeUInt8(value, this.#at)
    return this
  }

  uint16(value: number): this {
    this.#at = this.#target.writeUInt16LE(value, this.#at)
    return this
  }

  uint32(value: number): this {
    this.#at = this.#target.writeUInt32LE(value, this.#at)
    return this
  }

  /** A number below 2^48. */
  uint48(value: number): this {
    this.#at = this.#target.writeUIntLE(value, this.#at, 6)
    return this
  }

  float64(value: number): this {
    this.#at = this.#target.writeDoubleLE(value, this.#at)
    return this
  }

  bytes(bytes: Uint8Array): this {
    this.#target.set(bytes, this.#at)
    this.#at += bytes.length
    return this
  }

  /** Two bytes of length, and the text in UTF-8. */
  text(text: string): this {
    const bytes = Buffer.byteLength(text)
    this.uint16(bytes)
    this.#at += this.#target.write(text, this.#at)
    return this
  }

  /** Returns the frame. `followingBytes`: of the body, which the caller sends after it. */
  end(followingBytes = 0): Buffer {
    if (this.#at > this.#target.length) throw createAssertionError(`a frame has more than ${this.#target.length} bytes`)
    this.#target.writeUInt32LE(this.#at - 4 + followingBytes, 0)
    return this.#target.subarray(0, this.#at)
  }
}
