// Reads the fields of one packet in order. A field that is not complete is read as 0 or empty, and sets `isTruncated`: the
// caller checks that once, after all fields, and rejects the packet.

const noBytes = Buffer.alloc(0)

export class FieldReader {
  readonly #body: Buffer
  #at = 0
  isTruncated = false

  constructor(body: Buffer) {
    this.#body = body
  }

  /** Number of bytes that are not read yet. */
  get remaining(): number {
    return this.#body.length - this.#at
  }

  uint8(): number {
    return this.#take(1)?.readUInt8(0) ?? 0
  }

  uint16(): number {
    return this.#take(2)?.readUInt16BE(0) ?? 0
  }

  uint32(): number {
    return this.#take(4)?.readUInt32BE(0) ?? 0
  }

  bytes(count: number): Buffer {
    return this.#take(count) ?? noBytes
  }

  rest(): Buffer {
    return this.bytes(this.remaining)
  }

  /** The reason code at the end of a packet, which may be omitted; then it is 0 (success). */
  readReasonCode(): number {
    return this.remaining === 0 ? 0 : this.uint8()
  }

  #take(count: number): Buffer | undefined {
    if (this.remaining < count) {
      this.isTruncated = true
      return undefined
    }
    this.#at += count
    return this.#body.subarray(this.#at - count, this.#at)
  }
}
