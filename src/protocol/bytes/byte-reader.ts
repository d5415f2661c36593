// A cursor over the body of one packet. Reading beyond its end is an error of the peer.

import { ProtocolError } from '../reasons/protocol-error.ts'
import { decodeText } from './text.ts'

export class ByteReader {
  readonly bytes: Buffer
  at: number
  /** Exclusive. While a property section is read, this is the end of the section. */
  end: number

  constructor(bytes: Buffer, start: number, end: number) {
    this.bytes = bytes
    this.at = start
    this.end = end
  }

  get hasMore(): boolean {
    return this.at < this.end
  }

  uint8(field: string): number {
    const at = this.advance(1, field)
    return this.bytes[at]
  }

  uint16(field: string): number {
    const at = this.advance(2, field)
    return (this.bytes[at] << 8) | this.bytes[at + 1]
  }

  uint32(field: string): number {
    const at = this.advance(4, field)
    return this.bytes.readUInt32BE(at)
  }

  /** A variable byte integer: at most four bytes, and the fewest that hold it [MQTT5-1.5.5-1]. */
  variableInteger(field: string): number {
    let value = 0
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.uint8(field)
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) {
        if (byte === 0 && shift > 0) throw new ProtocolError('malformedPacket', `${field} is longer than it need be`)
        return value
      }
    }
    throw new ProtocolError('malformedPacket', `${field} is longer than four bytes`)
  }

  /** Two bytes of length, then UTF-8 (see `decodeText` for what is refused). */
  text(field: string): string {
    const length = this.uint16(field)
    const at = this.advance(length, field)
    return decodeText(this.bytes, at, at + length, field)
  }

  /** Reads two bytes of length and that number of bytes. They are copied, because they are used longer than the chunk. */
  binary(field: string): Buffer {
    const length = this.uint16(field)
    const at = this.advance(length, field)
    return Buffer.from(this.bytes.subarray(at, at + length))
  }

  /** Throws if there are bytes after the last field: the standard has no such field in this packet. */
  expectEnd(packet: string): void {
    if (this.at !== this.end) throw new ProtocolError('malformedPacket', `${packet} has bytes after its last field`)
  }

  private advance(length: number, field: string): number {
    const at = this.at
    if (at + length > this.end) throw new ProtocolError('malformedPacket', `${field} runs past the end of the packet`)
    this.at = at + length
    return at
  }
}
