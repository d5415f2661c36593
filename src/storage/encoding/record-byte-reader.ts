// Reads what ByteWriter wrote. Reading past the end, or an impossible value, throws DamagedRecord.

/** The bytes of a record are not what was written. */
export class DamagedRecord extends Error {}

/** The record was written by a newer Godwit than this. */
export class RecordTooNew extends Error {}

/** Reads numbers, text and bytes in order. Blobs are copies and do not refer to `bytes`. */
export class ByteReader {
  readonly bytes: Buffer
  readonly end: number
  at: number

  constructor(bytes: Buffer, at = 0, end = bytes.length) {
    this.bytes = bytes
    this.at = at
    this.end = end
  }

  byte(): number {
    return this.bytes[this.#take(1)] ?? 0
  }

  uint16(): number {
    return this.bytes.readUInt16BE(this.#take(2))
  }

  uint48(): number {
    return this.bytes.readUIntBE(this.#take(6), 6)
  }

  uint64(): number {
    const at = this.#take(8)
    return this.#checkSafeInteger(this.bytes.readUInt32BE(at) * 0x1_0000_0000 + this.bytes.readUInt32BE(at + 4))
  }

  float(): number {
    return this.bytes.readDoubleBE(this.#take(8))
  }

  varint(): number {
    let value = 0
    let scale = 1
    for (;;) {
      const next = this.byte()
      value += (next & 0x7f) * scale
      if (next < 0x80) return this.#checkSafeInteger(value)
      scale *= 0x80
      if (scale > Number.MAX_SAFE_INTEGER) throw new DamagedRecord('a number is too long')
    }
  }

  blob(): Buffer {
    const count = this.varint()
    const start = this.#take(count)
    return Buffer.from(this.bytes.subarray(start, start + count))
  }

  text(): string {
    const count = this.varint()
    const start = this.#take(count)
    return this.bytes.toString('utf8', start, start + count)
  }

  /** Reads the rest as UTF-8. */
  restAsText(): string {
    const start = this.at
    this.at = this.end
    return this.bytes.toString('utf8', start, this.end)
  }

  /** Checks that nothing is left. */
  expectEnd(): void {
    if (this.at !== this.end) throw new DamagedRecord(`${this.end - this.at} bytes are left over`)
  }

  #take(count: number): number {
    const start = this.at
    if (start + count > this.end) throw new DamagedRecord('the record ends too early')
    this.at = start + count
    return start
  }

  #checkSafeInteger(value: number): number {
    if (value > Number.MAX_SAFE_INTEGER) throw new DamagedRecord('a number is too large')
    return value
  }
}
