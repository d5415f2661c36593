// Reads tokens: blanks and comments, strings in their three forms, dotted keys.

import { quoteForMessage } from './config-errors.ts'
import { forbiddenKeys } from './hocon-limits.ts'
import type { Path } from './nodes.ts'
import type { TextCursor } from './text-cursor.ts'
import type { Position } from './config-values.ts'

/** A syntax error at `at`. Only the parser catches it. */
export class HoconSyntaxError extends Error {
  readonly at: Position
  readonly hint: string

  constructor(at: Position, message: string, hint = '') {
    super(message)
    this.name = 'HoconSyntaxError'
    this.at = at
    this.hint = hint
  }
}

/** Characters that are not allowed in unquoted text. Some have a meaning of their own; the others are reserved. */
const reserved = new Set('$"{}[]:=,+#`^?!@*&\\')
const lineBreak = '\n'
const blank = /[\p{Z}\t\v\f\r\uFEFF]/u
const control = /\p{Cc}/u

export function isBlank(character: string): boolean {
  return character !== lineBreak && blank.test(character)
}

export function isComment(cursor: TextCursor): boolean {
  return cursor.peek() === '#' || cursor.startsWith('//')
}

/** Skips blanks, line breaks and comments; returns whether there was a line break. */
export function skipToNext(cursor: TextCursor): boolean {
  let hasBrokenLine = false
  for (;;) {
    cursor.takeWhile(isBlank)
    if (isComment(cursor)) cursor.skipLine()
    else if (cursor.peek() === lineBreak) {
      hasBrokenLine = true
      cursor.skip()
    } else return hasBrokenLine
  }
}

/** Reads unquoted text; empty if none starts here. */
export function readUnquoted(cursor: TextCursor): string {
  let text = ''
  for (;;) {
    text += cursor.takeWhile(isPlain)
    const character = cursor.peek()
    // Two slashes start a comment; one is text. A plus is text in the exponent of a number, as in JSON: 1e+21.
    const isText = character === '/' ? cursor.peek(1) !== '/' : character === '+' && exponentStart.test(text)
    if (!isText) return text
    cursor.skip()
    text += character
  }
}

const exponentStart = /^-?[0-9]{1,20}(?:\.[0-9]{1,20})?[eE]$/

function isPlain(character: string): boolean {
  return (
    character !== '/' && character !== lineBreak && !reserved.has(character) && !/[\p{Z}\p{Cc}\uFEFF]/u.test(character)
  )
}

/** Returns the error for a character that is not allowed at its position. */
export function refuseCharacter(cursor: TextCursor, where: string): HoconSyntaxError {
  const character = cursor.peek()
  const at = cursor.findPosition()
  if (character === '') return new HoconSyntaxError(at, `unexpected end of the text ${where}`)
  if (control.test(character) && character !== lineBreak) {
    return new HoconSyntaxError(
      at,
      `unexpected control character ${where}`,
      'remove it, or write it as \\u00XX inside quotes',
    )
  }
  if (character === lineBreak) return new HoconSyntaxError(at, `unexpected end of the line ${where}`)
  if (character === '=' || character === ':') {
    const hint = 'put the text in quotes; if a new setting begins here, begin a line or put a comma before it'
    return new HoconSyntaxError(at, `unexpected "${character}" ${where}`, hint)
  }
  return new HoconSyntaxError(at, `unexpected ${quoteForMessage(character)} ${where}`, 'put the text in quotes')
}

/** Reads `"..."` or `"""..."""`; the cursor is at the first quote. */
export function readQuoted(cursor: TextCursor): string {
  const at = cursor.findPosition()
  const text = cursor.startsWith('"""') ? readTripleQuoted(cursor, at) : readSingleQuoted(cursor, at)
  if (!text.isWellFormed()) {
    throw new HoconSyntaxError(at, 'the text has an incomplete surrogate pair', 'write the character itself')
  }
  return text
}

function readTripleQuoted(cursor: TextCursor, at: Position): string {
  cursor.skip(3)
  const text = cursor.takeUntil('"""')
  if (text === undefined)
    throw new HoconSyntaxError(at, 'the text after """ has no closing quotes', 'close it with """')
  cursor.skip(3)
  // Quotes before the closing three belong to the text: """a"""" is a".
  return text + cursor.takeWhile((character) => character === '"')
}

function readSingleQuoted(cursor: TextCursor, at: Position): string {
  cursor.skip()
  let text = ''
  for (;;) {
    text += cursor.takeWhile((character) => character !== '"' && character !== '\\' && character >= ' ')
    const character = cursor.peek()
    if (character === '"') {
      cursor.skip()
      return text
    }
    if (character !== '\\') throw refuseInQuotes(character, at, cursor)
    text += readEscape(cursor)
  }
}

function refuseInQuotes(character: string, opened: Position, cursor: TextCursor): HoconSyntaxError {
  if (character === '' || character === lineBreak) {
    return new HoconSyntaxError(
      opened,
      'the quoted text has no closing quote on its line',
      'close it, or use """ for several lines',
    )
  }
  // A tab is common in hand-written text, so it has its own message.
  const name = character === '\t' ? 'a tab' : 'a control character'
  return new HoconSyntaxError(
    cursor.findPosition(),
    `${name} is not allowed in quotes`,
    'write it as an escape, such as \\t or \\u0009',
  )
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

function readEscape(cursor: TextCursor): string {
  const at = cursor.findPosition()
  const letter = cursor.peek(1)
  if (letter === 'u') {
    cursor.skip(2)
    const digits = [0, 1, 2, 3].map((ahead) => cursor.peek(ahead)).join('')
    if (!/^[0-9a-fA-F]{4}$/.test(digits))
      throw new HoconSyntaxError(at, '\\u is not followed by four hexadecimal digits')
    cursor.skip(4)
    return String.fromCharCode(Number.parseInt(digits, 16))
  }
  const meant = escapes.get(letter)
  if (meant === undefined) {
    throw new HoconSyntaxError(at, 'unknown escape', 'write \\\\ for a backslash')
  }
  cursor.skip(2)
  return meant
}

/** Reads a dotted key. Each part is text, quoted or not; inner blanks are kept. */
export function readPath(cursor: TextCursor): Path {
  const at = cursor.findPosition()
  const path: string[] = []
  let part: string | undefined
  let gap = ''
  for (;;) {
    const character = cursor.peek()
    if (character === '"') {
      part = (part === undefined ? '' : part + gap) + readQuoted(cursor)
      gap = ''
    } else if (character === '.') {
      path.push(checkPart(part, at))
      cursor.skip()
      part = undefined
      gap = ''
    } else if (isBlank(character)) {
      gap = cursor.takeWhile(isBlank)
    } else {
      const text = readKeyText(cursor)
      if (text === '') return [...path, checkPart(part, at)]
      part = (part === undefined ? '' : part + gap) + text
      gap = ''
    }
  }
}

function readKeyText(cursor: TextCursor): string {
  if (isComment(cursor)) return ''
  let text = ''
  for (;;) {
    text += cursor.takeWhile((character) => isPlain(character) && character !== '.')
    if (cursor.peek() !== '/' || cursor.peek(1) === '/') return text
    cursor.skip()
    text += '/'
  }
}

function checkPart(part: string | undefined, at: Position): string {
  if (part === undefined)
    throw new HoconSyntaxError(at, 'a part of the key is empty', 'write "" if an empty key is meant')
  if (forbiddenKeys.has(part)) throw new HoconSyntaxError(at, `the key ${part} is not allowed`, 'choose another name')
  return part
}
