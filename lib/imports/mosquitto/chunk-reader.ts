// Reads numbers and texts of mosquitto.db, in the order in which they are in the file.

import { InvalidArchive } from '../../../src/archives/index.ts'

/** Throws InvalidArchive if the bytes end too early. */
export class ChunkReader {
  readonly #bytes: Buffer
  #at: number
  readonly #end: number

  constructor(bytes: Buffer, from: number, end: number) {
    if (end > bytes.length) throw new InvalidArchive('its last chunk is truncated: mosquitto was writing the file')
    this.#bytes = bytes
    this.#at = from
    this.#end = end
  }

  /** Position in the file. */
  get at(): number {
    return this.#at
  }

  get left(): number {
    return this.#end - this.#at
  }

  /** Returns a part of the file, not a copy. */
  bytes(count: number): Buffer {
    if (count > this.left) throw new InvalidArchive(`the chunk at byte ${this.#at} is truncated`)
    this.#at += count
    return this.#bytes.subarray(this.#at - count, this.#at)
  }

  rest(): Buffer {
    return this.bytes(this.left)
  }

  uint8(): number {
    return this.bytes(1).readUInt8(0)
  }

  uint16(): number {
    return this.bytes(2).readUInt16BE(0)
  }

  uint32(): number {
    return this.bytes(4).readUInt32BE(0)
  }

  /** Reads an identifier, which mosquitto writes in little-endian order. */
  identifier(): bigint {
    return this.bytes(8).readBigUInt64LE(0)
  }

  /** Reads seconds in the form of the memory of mosquitto: little-endian, with 4 or 8 bytes. */
  seconds(size: 4 | 8): number {
    const bytes = this.bytes(size)
    return size === 4 ? bytes.readInt32LE(0) : Number(bytes.readBigInt64LE(0))
  }

  text(bytes: number): string {
    return this.bytes(bytes).toString('utf8')
  }

  /** Reads a text that follows its length. */
  sizedText(): string {
    return this.text(this.uint16())
  }
}
