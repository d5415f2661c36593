// Writes records of a link, except for published messages, which `PublishWriter` writes in runs.

import type { LinkBufferWriter } from './link-buffer-writer.ts'
import { writeUint32 } from './link-buffer-writer.ts'
import type { FieldWriter } from './field-writer.ts'
import type { PublishWriter } from './publish-writer.ts'

const uint32Bytes = 4
const idBytes = 4

export class LinkRecordWriter {
  readonly #writer: LinkBufferWriter
  readonly #publishWriter: PublishWriter
  readonly #fields: FieldWriter
  readonly #markDirty: () => void

  constructor(
    target: { writer: LinkBufferWriter; publishes: PublishWriter; fields: FieldWriter },
    markDirty: () => void,
  ) {
    this.#writer = target.writer
    this.#publishWriter = target.publishes
    this.#fields = target.fields
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

  /** Writes a record of a relay with the fields that `write` adds. */
  writeFields(kind: number, relay: number, write: (fields: FieldWriter) => void): void {
    this.#begin()
    this.#fields.putNumber(relay)
    write(this.#fields)
    this.#fields.writeRecord(this.#writer, kind)
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
