// Writes records of a link, except for published messages, which `PublishWriter` writes in runs.

import type { LinkBufferWriter } from './link-buffer-writer.ts'
import { writeUint32 } from './link-buffer-writer.ts'
import { writeClone } from './peer-message-records.ts'
import type { PublishWriter } from './publish-writer.ts'

const uint32Bytes = 4
const idBytes = 4

export class LinkRecordWriter {
  readonly #writer: LinkBufferWriter
  readonly #publishWriter: PublishWriter
  readonly #markDirty: () => void

  constructor(writer: LinkBufferWriter, publishWriter: PublishWriter, markDirty: () => void) {
    this.#writer = writer
    this.#publishWriter = publishWriter
    this.#markDirty = markDirty
  }

  writeEmpty(kind: number): void {
    this.#begin()
    this.#writer.begin(kind, 0)
    this.#writer.end()
  }

  writeNumber(kind: number, value: number): void {
    this.#begin()
    const target = this.#writer.begin(kind, uint32Bytes)
    this.#putUint32(target, value)
    this.#writer.end()
  }

  writeNumbers(kind: number, relay: number, bytes: number): void {
    this.#begin()
    const target = this.#writer.begin(kind, idBytes + uint32Bytes)
    this.#putUint32(target, relay)
    this.#putUint32(target, bytes)
    this.#writer.end()
  }

  writeBytes(kind: number, relay: number, bytes: Buffer): void {
    this.#begin()
    const target = this.#writer.begin(kind, idBytes + bytes.length)
    this.#putUint32(target, relay)
    bytes.copy(target, this.#writer.at)
    this.#writer.at += bytes.length
    this.#writer.end()
  }

  writeClone(kind: number, value: object): void {
    this.#begin()
    writeClone(this.#writer, kind, value)
  }

  #begin(): void {
    this.#markDirty()
    this.#publishWriter.endRun()
  }

  #putUint32(target: Buffer, value: number): void {
    writeUint32(target, this.#writer.at, value)
    this.#writer.at += uint32Bytes
  }
}
