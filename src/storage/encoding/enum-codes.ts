// Enumerated values, each stored as one byte, its index in a list: a value is never moved or removed.

import { DamagedRecord } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'

export function writeEnumCode<Word extends string>(writer: ByteWriter, values: readonly Word[], word: Word): void {
  writer.byte(values.indexOf(word))
}

/** Throws DamagedRecord. */
export function decodeEnumCode<Word extends string>(values: readonly Word[], number: number | undefined): Word {
  const word = number === undefined ? undefined : values[number]
  if (word === undefined) throw new DamagedRecord(`${number} is not a known code`)
  return word
}
