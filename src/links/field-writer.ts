// Collects the fields of one record whose size is not known before. `LinkBufferReader` has a function to read each kind of field.
//
//   number   1 to 8 bytes, 7 bits in each, the lowest first; the highest bit of a byte says that another one follows
//   text     four bytes of length, UTF-8
//   peer     0, number of the stored shard (1 byte)   or   1, life (8 bytes), thread (2 bytes)

import { assert } from '../protocol/index.ts'
import type { PeerName } from '../core/index.ts'
import { writeUint32, type LinkBufferWriter } from './link-buffer-writer.ts'

/** A larger buffer is not kept. */
const keptBytes = 65_536
const firstBytes = 1_024
const float64Bytes = 8
const lifeBytes = 8

export const peerNameTags = { stored: 0, local: 1 } as const

export class FieldWriter {
  #buffer = Buffer.allocUnsafeSlow(firstBytes)
  #length = 0

  get length(): number {
    return this.#length
  }

  putUint8(value: number): this {
    const at = this.#advance(1)
    this.#buffer[at] = value
    return this
  }

  /** Writes an integer from 0 to 2^53 - 1. */
  putNumber(value: number): this {
    assert(Number.isSafeInteger(value) && value >= 0, 'a number for a peer is negative or above 2^53 - 1')
    let rest = value
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) this.putUint8((rest % 0x80) | 0x80)
    return this.putUint8(rest)
  }

  putFloat64(value: number): this {
    const at = this.#advance(float64Bytes)
    this.#buffer.writeDoubleLE(value, at)
    return this
  }

  putText(value: string): this {
    const bytes = Buffer.byteLength(value)
    const at = this.#advance(4 + bytes)
    writeUint32(this.#buffer, at, bytes)
    this.#buffer.write(value, at + 4)
    return this
  }

  /** Writes four bytes of length, then the bytes. */
  putBytes(value: Uint8Array): this {
    const at = this.#advance(4 + value.length)
    writeUint32(this.#buffer, at, value.length)
    this.#buffer.set(value, at + 4)
    return this
  }

  putPeer(name: PeerName): this {
    if ('stored' in name) return this.putUint8(peerNameTags.stored).putUint8(name.stored)
    this.putUint8(peerNameTags.local)
    const at = this.#advance(lifeBytes + 2)
    this.#buffer.write(name.life, at, 'hex')
    this.#buffer.writeUInt16LE(name.thread, at + lifeBytes)
    return this
  }

  /** Writes the length of the list, and each item. */
  putList<T>(items: readonly T[], write: (item: T) => void): this {
    this.putNumber(items.length)
    for (const item of items) write(item)
    return this
  }

  /** Appends the fields to a record that was begun with `LinkBufferWriter.begin`, and forgets them. */
  moveTo(writer: LinkBufferWriter, target: Buffer): void {
    this.#buffer.copy(target, writer.at, 0, this.#length)
    writer.at += this.#length
    this.clear()
  }

  /** Writes a record with these fields, and forgets them. */
  writeRecord(writer: LinkBufferWriter, kind: number): void {
    this.moveTo(writer, writer.begin(kind, this.#length))
    writer.end()
  }

  clear(): void {
    this.#length = 0
    if (this.#buffer.length > keptBytes) this.#buffer = Buffer.allocUnsafeSlow(firstBytes)
  }

  #advance(bytes: number): number {
    const at = this.#length
    const needed = at + bytes
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2))
      this.#buffer.copy(larger, 0, 0, at)
      this.#buffer = larger
    }
    this.#length = needed
    return at
  }
}
