import type { ByteReader } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'

export function writeOptionalTime(writer: ByteWriter, timeMs: number | undefined): void {
  writer.byte(timeMs === undefined ? 0 : 1)
  if (timeMs !== undefined) writer.float(timeMs)
}

export function readOptionalTime(reader: ByteReader): number | undefined {
  return reader.byte() === 0 ? undefined : reader.float()
}
