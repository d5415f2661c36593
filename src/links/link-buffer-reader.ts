// Takes posts apart again, see link-buffer-writer.ts. Both ends are this program: what does not fit is a mistake of ours.

import { failedAssertion } from '../protocol/index.ts'
import { linkBufferHeaderBytes, recordHeaderBytes } from './link-buffer-writer.ts'

const noBytes = Buffer.alloc(0)

export class LinkBufferReader {
  /** The post that is being read, whole: what is kept of it keeps all of it alive. */
  chunk: Buffer = noBytes
  at = 0
  /** Where the record ends that is being read. */
  recordEnd = 0
  #end = 0

  /** Bytes of the post that is being read. */
  get bufferBytes(): number {
    return this.#end
  }

  get isAtEnd(): boolean {
    return this.at === this.#end
  }

  open(post: ArrayBuffer): void {
    const chunk = Buffer.from(post)
    const end = chunk.length < linkBufferHeaderBytes ? 0 : readUint32(chunk, 0)
    if (end < linkBufferHeaderBytes || end > chunk.length)
      throw failedAssertion(`a post of ${chunk.length} bytes says that it has ${end}`)
    this.chunk = chunk
    this.at = linkBufferHeaderBytes
    this.recordEnd = this.at
    this.#end = end
  }

  /** Lets go of the post. */
  close(): void {
    this.chunk = noBytes
    this.at = 0
    this.recordEnd = 0
    this.#end = 0
  }

  /** The kind of the next record, whose body is `chunk[at, recordEnd)` from now on. */
  begin(): number {
    const { chunk, at } = this
    if (at + recordHeaderBytes > this.#end)
      throw failedAssertion(`a record at ${at} has no header in a post of ${this.#end} bytes`)
    const bodyAt = at + recordHeaderBytes
    const recordEnd = bodyAt + readUint32(chunk, at + 1)
    if (recordEnd > this.#end)
      throw failedAssertion(`a record at ${at} ends at ${recordEnd} in a post of ${this.#end} bytes`)
    this.at = bodyAt
    this.recordEnd = recordEnd
    return chunk[at]
  }

  /** The next record begins behind this one, whether all of it was read or not. */
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

  /** UTF-8 with four bytes of length in front. */
  text(): string {
    const bytes = this.uint32()
    const start = this.#advance(bytes)
    return this.chunk.toString('utf8', start, start + bytes)
  }

  /** A view of the post. */
  bytes(count: number): Buffer {
    const start = this.#advance(count)
    return this.chunk.subarray(start, start + count)
  }

  /** A view of what is left of the record. */
  rest(): Buffer {
    return this.bytes(this.recordEnd - this.at)
  }

  #advance(bytes: number): number {
    const { at } = this
    if (at + bytes > this.recordEnd)
      throw failedAssertion(`${bytes} bytes at ${at} of a record that ends at ${this.recordEnd}`)
    this.at = at + bytes
    return at
  }
}

function readUint32(source: Buffer, at: number): number {
  return (source[at] | (source[at + 1] << 8) | (source[at + 2] << 16) | (source[at + 3] << 24)) >>> 0
}
