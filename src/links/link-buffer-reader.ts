// Reads the records of a link buffer, see link-buffer-writer.ts. This program writes and reads them, so an invalid record is an
// internal error.

import { createAssertionError } from '../protocol/index.ts'
import { linkBufferHeaderBytes, recordHeaderBytes } from './link-buffer-writer.ts'

const noBytes = Buffer.alloc(0)

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
      throw createAssertionError(`a link buffer of ${chunk.length} bytes has the length ${end} in its header`)
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
      throw createAssertionError(`a record at ${at} has no header in a link buffer of ${this.#end} bytes`)
    const bodyAt = at + recordHeaderBytes
    const recordEnd = bodyAt + readUint32(chunk, at + 1)
    if (recordEnd > this.#end)
      throw createAssertionError(`a record at ${at} ends at ${recordEnd} in a link buffer of ${this.#end} bytes`)
    this.at = bodyAt
    this.recordEnd = recordEnd
    return chunk[at]
  }

  /** Moves to the next record, whether all of this one was read or not. */
  endRecord(): void {
    this.at = this.recordEnd
  }

  uint8(): number {
    return this.chunk[this.#advance(1)]
  }

  uint32(): number {
    return readUint32(this.chunk, this.#advance(4))
  }

  float64(): number {
    return this.chunk.readDoubleLE(this.#advance(8))
  }

  /** Reads UTF-8 text after four bytes of length. */
  text(): string {
    const bytes = this.uint32()
    const start = this.#advance(bytes)
    return this.chunk.toString('utf8', start, start + bytes)
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

  #advance(bytes: number): number {
    const { at } = this
    if (at + bytes > this.recordEnd)
      throw createAssertionError(`${bytes} bytes at ${at} of a record that ends at ${this.recordEnd}`)
    this.at = at + bytes
    return at
  }
}

function readUint32(source: Buffer, at: number): number {
  return (source[at] | (source[at + 1] << 8) | (source[at + 2] << 16) | (source[at + 3] << 24)) >>> 0
}
