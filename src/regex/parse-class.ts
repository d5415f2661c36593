// Character classes: `[a-z]`, `[^\d_]`, `[[:alpha:]]`.

import { anyOf, exactly, namedClasses, not, range, setEscapes } from './characters.ts'
import { escapedCharacter } from './escaped-character.ts'
import type { PatternReader } from './pattern-reader.ts'
import type { CharacterTest } from './syntax.ts'

/** Parses a class whose `[` was read. */
export function parseClass(reader: PatternReader, ignoresCase: boolean): CharacterTest {
  const isNegated = reader.take('^')
  const tests: CharacterTest[] = []
  // A bracket in the first place is a character.
  if (reader.take(']')) tests.push(exactly(0x5d, ignoresCase))
  while (!reader.take(']')) tests.push(parseMember(reader, ignoresCase))
  return isNegated ? not(anyOf(tests)) : anyOf(tests)
}

function parseMember(reader: PatternReader, ignoresCase: boolean): CharacterTest {
  const named = reader.match(/\[:(\^?)(\w+):\]/y)
  if (named !== undefined) return namedClass(reader, named[2], named[1] === '^')
  const first = parseCharacter(reader)
  if (typeof first === 'function') return first
  if (reader.match(/-(?!\])/y) === undefined) return exactly(first, ignoresCase)
  const last = parseCharacter(reader)
  // In `[a-\d]` the hyphen is a character.
  if (typeof last === 'function') return anyOf([exactly(first, ignoresCase), exactly(0x2d, ignoresCase), last])
  if (last < first) throw reader.error('a range of characters ends below its start')
  return range(first, last, ignoresCase)
}

function namedClass(reader: PatternReader, name: string, isNegated: boolean): CharacterTest {
  if (!Object.hasOwn(namedClasses, name)) throw reader.error('unknown character class')
  return isNegated ? not(namedClasses[name]) : namedClasses[name]
}

/** A code point, or the test of an escape that stands for several characters. */
function parseCharacter(reader: PatternReader): number | CharacterTest {
  const character = reader.next()
  if (character !== '\\') return character.codePointAt(0) ?? 0
  const letter = reader.next()
  if (letter === 'b') return 8
  return Object.hasOwn(setEscapes, letter) ? setEscapes[letter] : escapedCharacter(reader, letter)
}
