// Puts and deletes of one batch as adjacent bytes, before they are passed to the database together:
//
//   bytes:  key value | key | key value | ...
//   ends:   keyStart, keyEnd, valueEnd  (valueEnd = keyEnd: a delete)  for each

import { ByteWriter } from '../encoding/record-byte-writer.ts'

const initialBytes = 64 * 1_024
/** A list that grew beyond this releases its memory. */
const maxRetainedBytes = 4 * 1_024 * 1_024

/**
 * Collects operations. Write the key to `writer` after `begin`, then `endKey`, then the value, then `endValue`; or
 * `endDelete`.
 */
export class OperationList {
  writer = new ByteWriter(initialBytes)
  readonly #offsets: number[] = []
  #keyStart = 0

  get count(): number {
    return this.#offsets.length / 3
  }

  get keyStart(): number {
    return this.#keyStart
  }

  begin(): void {
    this.#keyStart = this.writer.length
  }

  endKey(): void {
    this.#offsets.push(this.#keyStart, this.writer.length)
  }

  endValue(): void {
    this.#offsets.push(this.writer.length)
  }

  endDelete(): void {
    const end = this.writer.length
    this.#offsets.push(this.#keyStart, end, end)
  }

  /** Deletes an existing key buffer. */
  delete(key: Buffer): void {
    this.begin()
    this.writer.rawBytes(key)
    this.endDelete()
  }

  /** Calls back for each operation in order. The buffers are valid until `clear`. */
  replay(put: (key: Buffer, value: Buffer) => void, remove: (key: Buffer) => void): void {
    const { bytes } = this.writer
    const offsets = this.#offsets
    for (let index = 0; index < offsets.length; index += 3) {
      const keyEnd = offsets[index + 1] ?? 0
      const valueEnd = offsets[index + 2] ?? 0
      const key = bytes.subarray(offsets[index], keyEnd)
      if (valueEnd === keyEnd) remove(key)
      else put(key, bytes.subarray(keyEnd, valueEnd))
    }
  }

  clear(): void {
    this.#offsets.length = 0
    this.writer.length = 0
    if (this.writer.bytes.length > maxRetainedBytes) this.writer = new ByteWriter(initialBytes)
  }
}
