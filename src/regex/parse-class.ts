// Character classes: `[a-z]`, `[^\d_]`, `[[:alpha:]]`.

import { combineTests, createExactTest, namedClasses, negateTest, createRangeTest, setEscapes } from './characters.ts'
import { readEscapedCharacter } from './escaped-character.ts'
import type { PatternReader } from './pattern-reader.ts'
import type { CharacterTest } from './regex-syntax.ts'

/** Parses a class whose `[` was read. */
export function parseClass(reader: PatternReader, ignoresCase: boolean): CharacterTest {
  const isNegated = reader.take('^')
  const tests: CharacterTest[] = []
  // A bracket in the first place is a character.
  if (reader.take(']')) tests.push(createExactTest(0x5d, ignoresCase))
  while (!reader.take(']')) tests.push(parseMember(reader, ignoresCase))
  return isNegated ? negateTest(combineTests(tests)) : combineTests(tests)
}

function parseMember(reader: PatternReader, ignoresCase: boolean): CharacterTest {
  const named = reader.match(/\[:(\^?)(\w+):\]/y)
  if (named !== undefined) return createNamedClass(reader, named[2], named[1] === '^')
  const first = parseCharacter(reader)
  if (typeof first === 'function') return first
  if (reader.match(/-(?!\])/y) === undefined) return createExactTest(first, ignoresCase)
  const last = parseCharacter(reader)
  // In `[a-\d]` the hyphen is a character.
  if (typeof last === 'function')
    return combineTests([createExactTest(first, ignoresCase), createExactTest(0x2d, ignoresCase), last])
  if (last < first) throw reader.createError('a range of characters ends below its start')
  return createRangeTest(first, last, ignoresCase)
}

function createNamedClass(reader: PatternReader, name: string, isNegated: boolean): CharacterTest {
  if (!Object.hasOwn(namedClasses, name)) throw reader.createError('unknown character class')
  return isNegated ? negateTest(namedClasses[name]) : namedClasses[name]
}

/** A code point, or the test of an escape that stands for several characters. */
function parseCharacter(reader: PatternReader): number | CharacterTest {
  const character = reader.next()
  if (character !== '\\') return character.codePointAt(0) ?? 0
  const letter = reader.next()
  if (letter === 'b') return 8
  return Object.hasOwn(setEscapes, letter) ? setEscapes[letter] : readEscapedCharacter(reader, letter)
}
