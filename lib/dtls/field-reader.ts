// Reads the fields of handshake messages. A wrong length ends the handshake with decode_error.

import { HandshakeFailure } from './alerts.ts'

export class FieldReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  uint(bytes: number): number {
    return this.take(bytes).readUIntBE(0, bytes)
  }

  take(length: number): Buffer {
    if (length > this.left) throw new HandshakeFailure('decodeError', 'a handshake message is too short')
    const from = this.#at
    this.#at += length
    return this.#bytes.subarray(from, this.#at)
  }

  /** Reads a vector with a length of `lengthBytes` bytes. */
  vector(lengthBytes: number): Buffer {
    return this.take(this.uint(lengthBytes))
  }

  expectEnd(): void {
    if (this.left > 0) throw new HandshakeFailure('decodeError', 'a handshake message is too long')
  }
}

/** Returns a vector with its length before it. */
export function encodeVector(lengthBytes: number, content: Buffer): Buffer {
  const length = Buffer.alloc(lengthBytes)
  length.writeUIntBE(content.length, 0, lengthBytes)
  return Buffer.concat([length, content])
}

export function encodeUint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}
