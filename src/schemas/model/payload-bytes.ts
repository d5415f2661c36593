// Bytes of binary formats: a reader that never reads beyond the end, and a writer that grows within a budget.

import { type Budget, toBuffer, makeInteger, RuleError } from '../../values/index.ts'

/** An exact integer of the rule language. */
export type Integer = number | bigint

/** Bytes of a variable-length integer of 64 bits. */
const maxVarintBytes = 10
/** Bytes whose bits fit into a number exactly. */
const exactVarintBytes = 7

/** Reads from `at` to `end`. Throws RuleError if the data ends too early. */
export class PayloadReader {
  readonly #bytes: Buffer
  at = 0
  end: number

  constructor(bytes: Uint8Array) {
    this.#bytes = toBuffer(bytes)
    this.end = bytes.length
  }

  get left(): number {
    return this.end - this.at
  }

  #advance(count: number): number {
    if (count > this.end - this.at)
      throw new RuleError(`the data ends too early: ${count} bytes are missing at byte ${this.at}`)
    const start = this.at
    this.at += count
    return start
  }

  byte(): number {
    return this.#bytes[this.#advance(1)]
  }

  /** An unsigned integer in groups of seven bits, the lowest first. Bits above 64 are ignored. */
  varint(): Integer {
    let value = 0
    let factor = 1
    for (let count = 0; count < exactVarintBytes; count++) {
      const byte = this.byte()
      value += (byte & 0x7f) * factor
      if (byte < 0x80) return value
      factor *= 128
    }
    let large = BigInt(value)
    for (let count = exactVarintBytes; count < maxVarintBytes; count++) {
      const byte = this.byte()
      large |= BigInt(byte & 0x7f) << BigInt(7 * count)
      if (byte < 0x80) return makeInteger(BigInt.asUintN(64, large))
    }
    throw new RuleError(`the integer at byte ${this.at - maxVarintBytes} has more than ${maxVarintBytes} bytes`)
  }

  /** A signed integer of 64 bits, in zigzag form: 0, -1, 1, -2, … */
  zigzag(): Integer {
    return decodeZigzag(this.varint())
  }

  /** A length that the data can have. */
  length(): number {
    const length = this.varint()
    if (typeof length === 'number' && length <= this.left) return length
    throw new RuleError(`the data ends too early: a length is ${length}, and ${this.left} bytes are left`)
  }

  /** A copy: the bytes that were read may be used for something else later. */
  take(count: number): Buffer {
    const start = this.#advance(count)
    return Buffer.from(this.#bytes.subarray(start, start + count))
  }

  skip(count: number): void {
    this.#advance(count)
  }

  float(): number {
    return this.#bytes.readFloatLE(this.#advance(4))
  }

  double(): number {
    return this.#bytes.readDoubleLE(this.#advance(8))
  }

  unsigned32(): number {
    return this.#bytes.readUInt32LE(this.#advance(4))
  }

  signed32(): number {
    return this.#bytes.readInt32LE(this.#advance(4))
  }

  unsigned64(): Integer {
    return makeInteger(this.#bytes.readBigUInt64LE(this.#advance(8)))
  }

  signed64(): Integer {
    return makeInteger(this.#bytes.readBigInt64LE(this.#advance(8)))
  }
}

/** Returns the signed integer of an unsigned one in zigzag form. */
export function decodeZigzag(value: Integer): Integer {
  if (typeof value === 'bigint') return makeInteger((value >> 1n) ^ -(value & 1n))
  return value % 2 === 0 ? value / 2 : -(value + 1) / 2
}

/** Counts each byte against the budget before it is written. */
export class PayloadWriter {
  readonly #budget: Budget
  #bytes = Buffer.allocUnsafe(64)
  #length = 0

  constructor(budget: Budget) {
    this.#budget = budget
  }

  get length(): number {
    return this.#length
  }

  /** Takes back what was written after `length` was that. */
  truncate(length: number): void {
    this.#length = length
  }

  toBytes(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length))
  }

  #grow(count: number): number {
    this.#budget.countCreated(count)
    const start = this.#length
    if (start + count > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(2 * this.#bytes.length, start + count))
      this.#bytes.copy(larger, 0, 0, start)
      this.#bytes = larger
    }
    this.#length = start + count
    return start
  }

  byte(value: number): void {
    const at = this.#grow(1)
    this.#bytes[at] = value
  }

  raw(bytes: Uint8Array): void {
    const at = this.#grow(bytes.length)
    this.#bytes.set(bytes, at)
  }

  /** A negative integer is written as 64 bits. */
  varint(value: Integer): void {
    if (typeof value === 'bigint' || value < 0) {
      let large = BigInt.asUintN(64, BigInt(value))
      for (; large > 0x7fn; large >>= 7n) this.byte(Number(large & 0x7fn) | 0x80)
      this.byte(Number(large))
      return
    }
    let small = value
    for (; small > 0x7f; small = Math.floor(small / 128)) this.byte((small % 128) | 0x80)
    this.byte(small)
  }

  zigzag(value: Integer): void {
    const large = BigInt(value)
    const encoded = BigInt.asUintN(64, (large << 1n) ^ (large >> 63n))
    this.varint(makeInteger(encoded))
  }

  float(value: number): void {
    const at = this.#grow(4)
    this.#bytes.writeFloatLE(value, at)
  }

  double(value: number): void {
    const at = this.#grow(8)
    this.#bytes.writeDoubleLE(value, at)
  }

  fixed32(value: Integer): void {
    const at = this.#grow(4)
    this.#bytes.writeUInt32LE(Number(BigInt.asUintN(32, BigInt(value))), at)
  }

  fixed64(value: Integer): void {
    const at = this.#grow(8)
    this.#bytes.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)), at)
  }
}
