// Reads the fields of one packet in turn. Beyond its end it is broken, and what was read does not count.

const none = Buffer.alloc(0)

export class Fields {
  readonly #body: Buffer
  #at = 0
  isBroken = false

  constructor(body: Buffer) {
    this.#body = body
  }

  get left(): number {
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
    return this.#take(count) ?? none
  }

  rest(): Buffer {
    return this.bytes(this.left)
  }

  /** The last field, which may be left out: success. */
  reasonCode(): number {
    return this.left === 0 ? 0 : this.uint8()
  }

  #take(count: number): Buffer | undefined {
    if (this.left < count) {
      this.isBroken = true
      return undefined
    }
    this.#at += count
    return this.#body.subarray(this.#at - count, this.#at)
  }
}
