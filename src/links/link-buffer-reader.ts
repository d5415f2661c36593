// Reads the records of a link buffer, see link-buffer-writer.ts, and their fields, see field-writer.ts. Everything is bounded by the record:
// no length in it leads to more memory or time than its bytes. Invalid bytes are a `LinkDecodeError`.

import type { PeerName } from '../core/index.ts'
import { parseTopicFilter, type PacketId, type TopicFilter } from '../protocol/index.ts'
import { peerNameTags } from './field-writer.ts'
import { linkBufferHeaderBytes, recordHeaderBytes } from './link-buffer-writer.ts'
import { LinkDecodeError } from './link-decode-error.ts'

const noBytes = Buffer.alloc(0)
const maxNumberBytes = 8
const maxPacketId = 65_535
const lifeBytes = 8

export class LinkBufferReader {
  /** The whole link buffer that is being read: a view of a part keeps all of it in memory. */
  chunk: Buffer = noBytes
  at = 0
  /** End of the record that is being read. */
  recordEnd = 0
  #end = 0

  /** Bytes of the link buffer that is being read. */
  get bufferBytes(): number {
    return this.#end
  }

  get isAtEnd(): boolean {
    return this.at === this.#end
  }

  open(buffer: ArrayBuffer): void {
    const chunk = Buffer.from(buffer)
    const end = chunk.length < linkBufferHeaderBytes ? 0 : readUint32(chunk, 0)
    if (end < linkBufferHeaderBytes || end > chunk.length)
      throw new LinkDecodeError(`a link buffer of ${chunk.length} bytes has the length ${end} in its header`)
    this.chunk = chunk
    this.at = linkBufferHeaderBytes
    this.recordEnd = this.at
    this.#end = end
  }

  /** Releases the link buffer. */
  close(): void {
    this.chunk = noBytes
    this.at = 0
    this.recordEnd = 0
    this.#end = 0
  }

  /** Returns the kind of the next record, whose body is `chunk[at, recordEnd)` from now on. */
  begin(): number {
    const { chunk, at } = this
    if (at + recordHeaderBytes > this.#end)
      throw new LinkDecodeError(`a record at ${at} has no header in a link buffer of ${this.#end} bytes`)
    const bodyAt = at + recordHeaderBytes
    const recordEnd = bodyAt + readUint32(chunk, at + 1)
    if (recordEnd > this.#end)
      throw new LinkDecodeError(`a record at ${at} ends at ${recordEnd} in a link buffer of ${this.#end} bytes`)
    this.at = bodyAt
    this.recordEnd = recordEnd
    return chunk[at]
  }

  /** Moves to the next record, whether all of this one was read or not. */
  endRecord(): void {
    this.at = this.recordEnd
  }

  /** Called when the record must have been read completely. */
  expectEnd(): void {
    const left = this.recordEnd - this.at
    if (left > 0) throw new LinkDecodeError(`a record has ${left} bytes after its last field`)
  }

  uint8(): number {
    return this.chunk[this.#advance(1)]
  }

  /** Reads a byte of flags of which only those of `known` may be set. */
  flags(known: number): number {
    const flags = this.uint8()
    if ((flags & ~known) !== 0) throw new LinkDecodeError(`a record has unknown flags: ${flags}`)
    return flags
  }

  uint32(): number {
    return readUint32(this.chunk, this.#advance(4))
  }

  /** Reads an integer from 0 to `max`, by default 2^53 - 1. */
  number(max = Number.MAX_SAFE_INTEGER): number {
    let value = 0
    let factor = 1
    for (let count = 0; count < maxNumberBytes; count++) {
      const byte = this.uint8()
      value += (byte & 0x7f) * factor
      factor *= 0x80
      if (byte >= 0x80) continue
      if (value > max) throw new LinkDecodeError(`the number ${value} is above ${max}`)
      return value
    }
    throw new LinkDecodeError(`a number at ${this.at} has more than ${maxNumberBytes} bytes`)
  }

  float64(): number {
    return this.chunk.readDoubleLE(this.#advance(8))
  }

  /** Reads a time or a duration: a finite number that is not negative. */
  duration(): number {
    const value = this.float64()
    if (Number.isFinite(value) && value >= 0) return value
    throw new LinkDecodeError(`${value} is not a time`)
  }

  /** Reads UTF-8 text after four bytes of length. */
  text(): string {
    const bytes = this.uint32()
    const start = this.#advance(bytes)
    return this.chunk.toString('utf8', start, start + bytes)
  }

  /** Filters come from SUBSCRIBE, so only damaged ones are refused. */
  filter(): TopicFilter {
    const text = this.text()
    const filter = parseTopicFilter(text)
    if (filter === undefined || filter !== text)
      throw new LinkDecodeError(`a text of ${text.length} characters is not a topic filter`)
    return filter
  }

  packetId(): PacketId {
    const packetId = this.number(maxPacketId)
    if (packetId === 0) throw new LinkDecodeError('a packet identifier is 0')
    return packetId
  }

  /** Returns a view of the link buffer. */
  bytes(count: number): Buffer {
    const start = this.#advance(count)
    return this.chunk.subarray(start, start + count)
  }

  /** Returns a view of the rest of the record. */
  rest(): Buffer {
    return this.bytes(this.recordEnd - this.at)
  }

  peer(): PeerName {
    const tag = this.uint8()
    if (tag === peerNameTags.stored) return { stored: this.uint8() }
    if (tag !== peerNameTags.local) throw new LinkDecodeError(`the name of a shard has the unknown tag ${tag}`)
    const life = this.bytes(lifeBytes).toString('hex')
    const threadAt = this.#advance(2)
    return { life, thread: this.chunk[threadAt] | (this.chunk[threadAt + 1] << 8) }
  }

  /** Reads a list whose items have at least `minItemBytes`, so that its length is checked before memory is used for it. */
  list<T>(minItemBytes: number, read: () => T): T[] {
    const count = this.number()
    if (count * minItemBytes > this.recordEnd - this.at)
      throw new LinkDecodeError(`a list of ${count} items does not fit into its record`)
    const items: T[] = []
    for (let index = 0; index < count; index++) items.push(read())
    return items
  }

  #advance(bytes: number): number {
    const { at } = this
    if (at + bytes > this.recordEnd)
      throw new LinkDecodeError(`${bytes} bytes at ${at} of a record that ends at ${this.recordEnd}`)
    this.at = at + bytes
    return at
  }
}

function readUint32(source: Buffer, at: number): number {
  return (source[at] | (source[at + 1] << 8) | (source[at + 2] << 16) | (source[at + 3] << 24)) >>> 0
}
