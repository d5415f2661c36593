// Words of a fixed list, each as the byte that is its place there: on disk a word is never moved and never taken out.

import { DamagedRecord } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'

export function writeEnumCode<Word extends string>(writer: ByteWriter, words: readonly Word[], word: Word): void {
  writer.byte(words.indexOf(word))
}

/** Throws DamagedRecord. */
export function enumValueOf<Word extends string>(words: readonly Word[], number: number | undefined): Word {
  const word = number === undefined ? undefined : words[number]
  if (word === undefined) throw new DamagedRecord(`${number} stands for nothing here`)
  return word
}
