// Tests for single characters: classes, escapes, properties.

import type { CharacterTest } from './regex-syntax.ts'

const isBetween =
  (first: number, last: number): CharacterTest =>
  (code) =>
    code >= first && code <= last

export function combineTests(tests: readonly CharacterTest[]): CharacterTest {
  return tests.length === 1 ? tests[0] : (code) => tests.some((test) => test(code))
}

export function negateTest(test: CharacterTest): CharacterTest {
  return (code) => !test(code)
}

export const isDigit = isBetween(0x30, 0x39)
const isUpper = isBetween(0x41, 0x5a)
const isLower = isBetween(0x61, 0x7a)
const isLetter = combineTests([isUpper, isLower])
export const isWord = combineTests([isLetter, isDigit, (code) => code === 0x5f])
export const isSpace: CharacterTest = (code) => (code >= 9 && code <= 13) || code === 0x20
export const isLineFeed: CharacterTest = (code) => code === 10

/** Escapes that stand for a set of characters. */
export const setEscapes: Readonly<Record<string, CharacterTest>> = {
  d: isDigit, D: negateTest(isDigit), w: isWord, W: negateTest(isWord), s: isSpace, S: negateTest(isSpace),
  h: (code) => code === 9 || code === 0x20 || code === 0xa0, N: negateTest(isLineFeed),
} // oxfmt-ignore

/** Escapes that stand for one character. */
export const characterEscapes: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, a: 7, e: 27 }

/** Classes such as `[:alpha:]`. */
export const namedClasses: Readonly<Record<string, CharacterTest>> = {
  alpha: isLetter, digit: isDigit, alnum: combineTests([isLetter, isDigit]), upper: isUpper, lower: isLower,
  space: isSpace, blank: (code) => code === 9 || code === 0x20, word: isWord,
  xdigit: combineTests([isDigit, isBetween(0x41, 0x46), isBetween(0x61, 0x66)]),
  cntrl: (code) => code < 0x20 || code === 0x7f, print: isBetween(0x20, 0x7e), graph: isBetween(0x21, 0x7e),
  punct: (code) => code > 0x20 && code < 0x7f && !isLetter(code) && !isDigit(code), ascii: isBetween(0, 0x7f),
} // oxfmt-ignore

export function createRangeTest(first: number, last: number, ignoresCase: boolean): CharacterTest {
  const inRange = isBetween(first, last)
  return ignoresCase ? (code) => listCaseVariants(code).some(inRange) : inRange
}

export function createExactTest(character: number, ignoresCase: boolean): CharacterTest {
  if (!ignoresCase) return (code) => code === character
  const variants = new Set(listCaseVariants(character))
  return (code) => variants.has(code)
}

function listCaseVariants(code: number): number[] {
  const text = String.fromCodePoint(code)
  const variants = [text, text.toLowerCase(), text.toUpperCase()].filter((variant) => Array.from(variant).length === 1)
  return variants.map((variant) => variant.codePointAt(0) ?? code)
}

/** The test for `\p{name}`, undefined if there is no such property. */
export function createPropertyTest(name: string): CharacterTest | undefined {
  if (!/^\w{1,40}$/.test(name)) return undefined
  try {
    // One character against one set: there is nothing to backtrack into.
    const pattern = new RegExp(`^\\p{${name}}$`, 'u')
    return (code) => pattern.test(String.fromCodePoint(code))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
