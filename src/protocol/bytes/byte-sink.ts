// The target of encoded packets. The same code measures a packet with a counter and writes it with a writer, so that the two
// always agree.

import { assert, createAssertionError } from './assert.ts'

/** The largest variable byte integer, and so the largest remaining length. */
export const maxVariableInteger = 268_435_455

/** Returns the length of `value` as a variable byte integer: 1 to 4 bytes. */
export function measureVariableInteger(value: number): number {
  if (value < 0x80) return 1
  if (value < 0x4000) return 2
  if (value < 0x200000) return 3
  // The condition is also false for NaN.
  if (!(value <= maxVariableInteger)) throw createAssertionError(`${value} is too large for a variable byte integer`)
  return 4
}

/** Writes `value` as a variable byte integer; returns the offset after it. */
export function writeVariableInteger(value: number, target: Buffer, at: number): number {
  let rest = value
  let next = at
  while (rest >= 0x80) {
    target[next++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  target[next++] = rest
  return next
}

export interface ByteSink {
  uint8(value: number): void
  uint16(value: number): void
  uint32(value: number): void
  variableInteger(value: number): void
  /** Writes two bytes of length and the text in UTF-8. More than 65,535 bytes are an internal error. */
  text(text: string): void
  /** Writes two bytes of length and the bytes. More than 65,535 bytes are an internal error. */
  binary(bytes: Uint8Array): void
}

export class ByteCounter implements ByteSink {
  bytes = 0

  uint8(): void {
    this.bytes += 1
  }

  uint16(): void {
    this.bytes += 2
  }

  uint32(): void {
    this.bytes += 4
  }

  variableInteger(value: number): void {
    this.bytes += measureVariableInteger(value)
  }

  text(text: string): void {
    this.bytes += 2 + Buffer.byteLength(text)
  }

  binary(bytes: Uint8Array): void {
    this.bytes += 2 + bytes.length
  }
}

export class ByteWriter implements ByteSink {
  readonly target: Buffer
  at: number

  constructor(target: Buffer, at: number) {
    this.target = target
    this.at = at
  }

  uint8(value: number): void {
    this.target[this.at++] = value
  }

  uint16(value: number): void {
    this.at = this.target.writeUInt16BE(value, this.at)
  }

  uint32(value: number): void {
    this.at = this.target.writeUInt32BE(value, this.at)
  }

  variableInteger(value: number): void {
    this.at = writeVariableInteger(value, this.target, this.at)
  }

  text(text: string): void {
    const length = this.target.write(text, this.at + 2)
    assert(length <= 0xffff, 'a text on the wire has at most 65,535 bytes')
    this.uint16(length)
    this.at += length
  }

  binary(bytes: Uint8Array): void {
    assert(bytes.length <= 0xffff, 'binary data on the wire has at most 65,535 bytes')
    this.uint16(bytes.length)
    this.target.set(bytes, this.at)
    this.at += bytes.length
  }
}
