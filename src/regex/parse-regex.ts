// Parses regular expressions with the syntax of PCRE, except what needs backtracking: back references, lookaround,
// atomic groups and possessive quantifiers.

import { createLimitError, maxExpressionDepth } from '../values/index.ts'
import { maxRegexInstructions } from './regex-limits.ts'
import { createExactTest, isLineFeed, negateTest, createPropertyTest, setEscapes } from './characters.ts'
import { readEscapedCharacter } from './escaped-character.ts'
import { parseClass } from './parse-class.ts'
import { PatternReader } from './pattern-reader.ts'
import type { Anchor, CharacterTest, RegexNode } from './regex-syntax.ts'

interface Flags {
  readonly ignoresCase: boolean
  /** Whether `.` takes line feeds. */
  readonly dotTakesAll: boolean
  /** Whether `^` and `$` match at lines. */
  readonly byLine: boolean
}

export interface ParsedRegex {
  readonly root: RegexNode
  /** Number of groups, with the whole match. */
  readonly groups: number
}

export function parseRegex(pattern: string): ParsedRegex {
  const parser = new RegexParser(pattern)
  return parser.parse()
}

class RegexParser {
  readonly #reader: PatternReader
  #groups = 1
  #depth = 0
  #flags: Flags = { ignoresCase: false, dotTakesAll: false, byLine: false }

  constructor(pattern: string) {
    this.#reader = new PatternReader(pattern)
  }

  parse(): ParsedRegex {
    const root = this.#parseChoice()
    if (!this.#reader.isAtEnd) throw this.#reader.createError('unexpected )')
    return { root, groups: this.#groups }
  }

  #parseChoice(): RegexNode {
    if (++this.#depth > maxExpressionDepth) {
      throw createLimitError('regular expression: too many nested groups', 'maxExpressionDepth', maxExpressionDepth)
    }
    const flags = this.#flags
    const options = [this.#parseSequence()]
    while (this.#reader.take('|')) options.push(this.#parseSequence())
    this.#flags = flags
    this.#depth--
    return options.length === 1 ? options[0] : { kind: 'choice', options }
  }

  #parseSequence(): RegexNode {
    const parts: RegexNode[] = []
    while (!this.#reader.isAtEnd && !this.#reader.is('|') && !this.#reader.is(')')) {
      const atom = this.#parseAtom()
      if (atom !== undefined) parts.push(this.#parseQuantified(atom))
    }
    return parts.length === 1 ? parts[0] : { kind: 'sequence', parts }
  }

  #parseQuantified(inner: RegexNode): RegexNode {
    const bounds = this.#parseBounds()
    if (bounds === undefined) return inner
    const [min, max] = bounds
    if (max < min) throw this.#reader.createError('a quantifier ends below its start')
    if (this.#reader.is('+')) throw this.#reader.createError('possessive quantifiers are not supported')
    const isLazy = this.#reader.take('?')
    if (this.#parseBounds() !== undefined) throw this.#reader.createError('a quantifier follows a quantifier')
    return { kind: 'repeat', inner, min, max, isLazy }
  }

  #parseBounds(): [min: number, max: number] | undefined {
    if (this.#reader.take('*')) return [0, Infinity]
    if (this.#reader.take('+')) return [1, Infinity]
    if (this.#reader.take('?')) return [0, 1]
    const counted = this.#reader.match(/\{(\d+)(,(\d*))?\}/y)
    if (counted === undefined) return undefined
    const min = Number(counted[1])
    const max = counted[2] === undefined ? min : counted[3] === '' ? Infinity : Number(counted[3])
    if (min > maxRegexInstructions || (max !== Infinity && max > maxRegexInstructions)) {
      throw createLimitError(
        'regular expression: a quantifier is too large',
        'maxRegexInstructions',
        maxRegexInstructions,
      )
    }
    return [min, max]
  }

  /** Undefined for something that matches nothing by itself, such as `(?i)`. */
  #parseAtom(): RegexNode | undefined {
    const { ignoresCase, dotTakesAll, byLine } = this.#flags
    const character = this.#reader.next()
    switch (character) {
      case '(':
        return this.#parseGroup()
      case '[':
        return createTestNode(parseClass(this.#reader, ignoresCase))
      case '.':
        return createTestNode(dotTakesAll ? () => true : negateTest(isLineFeed))
      case '^':
        return createAnchorNode(byLine ? 'line-start' : 'text-start')
      case '$':
        return createAnchorNode(byLine ? 'line-end' : 'last-line-end')
      case '\\':
        return this.#parseEscape()
      case '*':
      case '+':
      case '?':
        throw this.#reader.createError(`${character} has nothing to repeat`)
      default:
        return createTestNode(createExactTest(character.codePointAt(0) ?? 0, ignoresCase))
    }
  }

  #parseGroup(): RegexNode | undefined {
    const index = this.#parseGroupStart()
    if (index === 'flags') return undefined
    const flags = this.#flags
    if (typeof index === 'object') this.#flags = index
    const inner = this.#parseChoice()
    this.#flags = flags
    if (!this.#reader.take(')')) throw this.#reader.createError('a group has no closing )')
    return typeof index === 'number' ? { kind: 'group', index, inner } : inner
  }

  /** The number of a capturing group, or the flags inside of another group; 'flags' if there is no group. */
  #parseGroupStart(): number | Flags | 'flags' {
    if (!this.#reader.take('?')) return this.#groups++
    if (this.#reader.match(/P?<[A-Za-z_]\w*>/y) !== undefined) return this.#groups++
    const switches = this.#reader.match(/([ism]*)(?:-([ism]*))?([:)])/y)
    if (switches === undefined)
      throw this.#reader.createError('lookaround, atomic and conditional groups are not supported')
    const flags = { ...this.#flags }
    const changed = withSwitches(withSwitches(flags, switches[1], true), switches[2] ?? '', false)
    if (switches[3] === ':') return changed
    this.#flags = changed
    return 'flags'
  }

  #parseEscape(): RegexNode {
    const letter = this.#reader.next()
    if (Object.hasOwn(setEscapes, letter)) return createTestNode(setEscapes[letter])
    if (Object.hasOwn(anchorEscapes, letter)) return createAnchorNode(anchorEscapes[letter])
    if (letter === 'p' || letter === 'P') return createTestNode(this.#parseProperty(letter === 'P'))
    return createTestNode(createExactTest(readEscapedCharacter(this.#reader, letter), this.#flags.ignoresCase))
  }

  #parseProperty(isNegated: boolean): CharacterTest {
    const name = this.#reader.match(/\{(\w+)\}|([A-Z])/y)
    const found = createPropertyTest(name?.[1] ?? name?.[2] ?? '')
    if (found === undefined) throw this.#reader.createError('unknown character property')
    return isNegated ? negateTest(found) : found
  }
}

function withSwitches(flags: Flags, letters: string, isOn: boolean): Flags {
  return {
    ignoresCase: letters.includes('i') ? isOn : flags.ignoresCase,
    dotTakesAll: letters.includes('s') ? isOn : flags.dotTakesAll,
    byLine: letters.includes('m') ? isOn : flags.byLine,
  }
}

const anchorEscapes: Readonly<Record<string, Anchor>> = {
  A: 'text-start', z: 'text-end', Z: 'last-line-end', b: 'word', B: 'no-word',
} // oxfmt-ignore

function createTestNode(characterTest: CharacterTest): RegexNode {
  return { kind: 'character', test: characterTest }
}

function createAnchorNode(kind: Anchor): RegexNode {
  return { kind: 'anchor', anchor: kind }
}
