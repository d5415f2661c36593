import { RuleError } from '../values/index.ts'
import { characterEscapes } from './characters.ts'
import type { PatternReader } from './pattern-reader.ts'

/** The code point of an escape that stands for one character. `letter` was read. */
export function readEscapedCharacter(reader: PatternReader, letter: string): number {
  if (Object.hasOwn(characterEscapes, letter)) return characterEscapes[letter]
  if (letter === 'x') {
    const digits = reader.match(/\{([\dA-Fa-f]{1,6})\}|([\dA-Fa-f]{1,2})/y)
    const code = Number.parseInt(digits?.[1] ?? digits?.[2] ?? '0', 16)
    if (code <= 0x10_ff_ff) return code
    throw reader.createError('\\x names no character')
  }
  if (letter === '0') return 0
  if (/[1-9gk]/.test(letter)) throw reader.createError('back references are not supported')
  if (/[A-Za-z]/.test(letter)) throw new RuleError(`regular expression: \\${letter} is not supported`)
  return letter.codePointAt(0) ?? 0
}
