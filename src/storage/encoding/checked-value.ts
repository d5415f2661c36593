// What all values of the database have:
//
//   version u8 | fields of the kind | CRC-32 of key, version and fields
//
// The checksum includes the key: a value under a wrong key is damaged, too.

import { crc32 } from 'node:zlib'
import { ByteReader, DamagedRecord } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'

/**
 * Version of internal entries: generations and batch numbers. Records are written in the newest version of `readers`.
 */
export const newestVersion = 1

const checksumBytes = 4

/** Completes a value whose key starts at `keyStart`: appends the checksum. */
export function writeChecksum(writer: ByteWriter, keyStart: number): void {
  writer.uint32(crc32(writer.bytes.subarray(keyStart, writer.length)))
}

/** Throws DamagedRecord if the checksum at the end of the value does not match key and value. */
export function verifyChecksum(key: Buffer, value: Buffer): void {
  const bodyBytes = value.length - checksumBytes
  if (bodyBytes < 1) throw new DamagedRecord('the value is too short')
  const found = crc32(value.subarray(0, bodyBytes), crc32(key))
  if (found !== value.readUInt32BE(bodyBytes)) throw new DamagedRecord('the checksum is wrong')
}

/** Returns a reader of the fields, after checking version and checksum. Throws DamagedRecord, RecordTooNew. */
export function openValue(key: Buffer, value: Buffer): { version: number; reader: ByteReader } {
  verifyChecksum(key, value)
  const version = value[0] ?? 0
  return { version, reader: new ByteReader(value, 1, value.length - checksumBytes) }
}
