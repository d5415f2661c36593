// Reads JSON into values. JSON.parse does the work unless the text contains something that it would change: floats
// with an integer value, large integers, -0, lone surrogates.

import { createLimitError, RuleError } from './errors/rule-error.ts'
import { maxValueDepth } from './value-limits.ts'
import { parseNumber } from './numbers.ts'
import { type MapBuilder, type RuleText, type RuleValue, setKey } from './value.ts'

const needsExactReader = /\d\.0+(?!\d)|\d[eE]|\d{16}|-0|\\u[dD][89a-fA-F]/

/** Returns the value of a JSON text. Throws RuleError if it is not JSON. */
export function decodeJson(text: RuleText): RuleValue {
  if (typeof text !== 'string') throw new RuleError('not JSON: not valid UTF-8')
  // A shorter text cannot nest deeper.
  if (text.length > 2 * maxValueDepth) checkDepth(text)
  if (needsExactReader.test(text)) return new ExactReader(text).readDocument()
  try {
    return JSON.parse(text) as RuleValue
  } catch (error) {
    throw createJsonError(error)
  }
}

/** Returns the value of a JSON text, or undefined if it is not JSON. */
export function tryDecodeJson(text: RuleText): RuleValue {
  try {
    return decodeJson(text)
  } catch (error) {
    if (error instanceof RuleError && error.kind === 'evaluation') return undefined
    throw error
  }
}

/** Returns the offset where a text stops being JSON. */
export function findJsonError(text: string): number {
  const reader = new ExactReader(text)
  try {
    reader.readDocument()
  } catch {
    // The offset of the reader says it.
  }
  return reader.at
}

function createJsonError(error: unknown): RuleError {
  return new RuleError(`not JSON: ${error instanceof SyntaxError ? error.message : String(error)}`)
}

/** Counts brackets outside strings. */
function checkDepth(text: string): void {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isInString) {
      if (code === 0x5c) at++
      else if (code === 0x22) isInString = false
    } else if (code === 0x22) isInString = true
    else if (code === 0x5b || code === 0x7b) {
      if (++depth > maxValueDepth) throw createLimitError('JSON is nested too deeply', 'maxValueDepth', maxValueDepth)
    } else if (code === 0x5d || code === 0x7d) depth--
  }
}

const space = /[ \t\n\r]*/y
const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const words = new Map<string, RuleValue>([
  ['true', true],
  ['false', false],
  ['null', null],
])

/** Reads JSON and keeps the type and all digits of numbers. */
class ExactReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  get at(): number {
    return this.#at
  }

  readDocument(): RuleValue {
    this.#skipSpace()
    const value = this.#readValue()
    this.#skipSpace()
    if (this.#at < this.#text.length) throw this.#createUnexpectedError()
    return value
  }

  #readValue(): RuleValue {
    switch (this.#text[this.#at]) {
      case '{':
        return this.#readObject()
      case '[':
        return this.#readArray()
      case '"':
        return this.#readString()
      default:
        return this.#readNumber() ?? this.#readWord()
    }
  }

  #readObject(): RuleValue {
    const map: MapBuilder = {}
    this.#at++
    this.#skipSpace()
    if (this.#take('}')) return map
    do {
      this.#skipSpace()
      if (this.#text[this.#at] !== '"') throw this.#createUnexpectedError()
      const key = this.#readString()
      this.#skipSpace()
      if (!this.#take(':')) throw this.#createUnexpectedError()
      this.#skipSpace()
      setKey(map, key, this.#readValue())
      this.#skipSpace()
    } while (this.#take(','))
    if (!this.#take('}')) throw this.#createUnexpectedError()
    return map
  }

  #readArray(): RuleValue {
    const items: RuleValue[] = []
    this.#at++
    this.#skipSpace()
    if (this.#take(']')) return items
    do {
      this.#skipSpace()
      items.push(this.#readValue())
      this.#skipSpace()
    } while (this.#take(','))
    if (!this.#take(']')) throw this.#createUnexpectedError()
    return items
  }

  #readString(): string {
    const start = this.#at
    this.#at++
    while (this.#at < this.#text.length && this.#text[this.#at] !== '"')
      this.#at += this.#text[this.#at] === '\\' ? 2 : 1
    if (!this.#take('"')) throw this.#createUnexpectedError()
    const token = this.#text.slice(start, this.#at)
    try {
      return (JSON.parse(token) as string).toWellFormed()
    } catch (error) {
      throw createJsonError(error)
    }
  }

  #readNumber(): RuleValue {
    const token = this.#match(numberToken)
    if (token === undefined) return undefined
    const value = parseNumber(token)
    if (value === undefined) throw new RuleError('not JSON: a number is too large for a float')
    return value
  }

  #readWord(): RuleValue {
    for (const [word, value] of words) {
      if (this.#text.startsWith(word, this.#at)) {
        this.#at += word.length
        return value
      }
    }
    throw this.#createUnexpectedError()
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #skipSpace(): void {
    this.#match(space)
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false
    this.#at++
    return true
  }

  #createUnexpectedError(): RuleError {
    const isEnd = this.#at >= this.#text.length
    return new RuleError(`not JSON: ${isEnd ? 'it ends too early' : `unexpected character at position ${this.#at}`}`)
  }
}
