// Writes bytes into one growing buffer. Offsets stay valid while it grows; subarrays are taken after everything is written.
//
//   varint    7 bits per byte, lowest first, the high bit means "more follows"; up to 2^53 - 1
//   text      varint of its length in bytes, then UTF-8
//   blob      varint of its length, then the bytes
//   float     8 bytes, big-endian (times: exact for every number)

const shortTextUnits = 64

/** Writes numbers, text and bytes into a buffer that grows by doubling. */
export class ByteWriter {
  bytes: Buffer
  length = 0

  constructor(initialBytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(initialBytes)
  }

  /** Ensures space for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count
    if (needed <= this.bytes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  byte(value: number): void {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  uint16(value: number): void {
    this.reserve(2)
    this.bytes[this.length++] = value >>> 8
    this.bytes[this.length++] = value
  }

  uint32(value: number): void {
    this.reserve(4)
    const { bytes } = this
    bytes[this.length++] = value >>> 24
    bytes[this.length++] = value >>> 16
    bytes[this.length++] = value >>> 8
    bytes[this.length++] = value
  }

  /** Six bytes, big-endian: so keys sort as the numbers do. */
  uint48(value: number): void {
    this.uint16(Math.floor(value / 0x1_0000_0000))
    this.uint32(value >>> 0)
  }

  /** Eight bytes, big-endian, of a safe integer. */
  uint64(value: number): void {
    this.uint32(Math.floor(value / 0x1_0000_0000))
    this.uint32(value >>> 0)
  }

  float(value: number): void {
    this.reserve(8)
    this.length = this.bytes.writeDoubleBE(value, this.length)
  }

  varint(value: number): void {
    this.reserve(8)
    let rest = value
    while (rest > 0x7f) {
      this.bytes[this.length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.bytes[this.length++] = rest
  }

  blob(value: Uint8Array): void {
    this.varint(value.length)
    this.rawBytes(value)
  }

  /** Bytes without a length before them. */
  rawBytes(value: Uint8Array): void {
    this.reserve(value.length)
    this.bytes.set(value, this.length)
    this.length += value.length
  }

  text(value: string): void {
    if (value.length <= shortTextUnits && this.#writeShortText(value)) return
    const byteCount = Buffer.byteLength(value)
    this.varint(byteCount)
    this.rawText(value, byteCount)
  }

  /** UTF-8 without a length before it. */
  rawText(value: string, byteCount = Buffer.byteLength(value)): void {
    this.reserve(byteCount)
    this.length += this.bytes.write(value, this.length, byteCount)
  }

  /**
   * Most topics and client IDs are short and ASCII: a loop is faster than two calls into the runtime. Returns false
   * otherwise.
   */
  #writeShortText(value: string): boolean {
    const count = value.length
    this.reserve(1 + count)
    const { bytes } = this
    const start = this.length + 1
    for (let index = 0; index < count; index++) {
      const unit = value.charCodeAt(index)
      if (unit > 0x7f) return false
      bytes[start + index] = unit
    }
    bytes[this.length] = count
    this.length = start + count
    return true
  }
}
