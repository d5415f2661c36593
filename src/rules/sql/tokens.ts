// Splits SQL into tokens, in one pass and linear time.

import { maxSqlLength } from '../limits/rule-limits.ts'
import { quoteText } from '../../values/index.ts'
import { RuleCompileError } from './compile-error.ts'

export type TokenKind =
  /** A name or keyword without quotes. */
  | 'word'
  /** A name in double quotes. */
  | 'name'
  /** A text in single quotes. */
  | 'text'
  | 'integer'
  | 'float'
  /** An operator or punctuation. */
  | 'symbol'
  | 'end'

export interface Token {
  readonly kind: TokenKind
  /** The word as written, the content of quotes, the digits, or the symbol. `~=` is given as `=~`, `!=` as `<>`. */
  readonly text: string
  /** For words the upper case form, for symbols the symbol: what the parser compares. Else empty. */
  readonly key: string
  readonly start: number
  readonly end: number
}

const spaceOrComment = /(?:[ \t\r\n\f\v\u00a0\ufeff]+|--[^\n]*)*/y
const word = /[A-Za-z][\w$@~]*/y
/** A key after a dot can also start with an underscore or a dollar. */
const key = /[A-Za-z_$][\w$@~]*/y
const number = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const digits = /\d+/y
const symbols = [
  '=~',
  '~=',
  '!=',
  '<>',
  '<=',
  '>=',
  '..',
  '=',
  '<',
  '>',
  '+',
  '-',
  '*',
  '/',
  '(',
  ')',
  '[',
  ']',
  ',',
  '.',
  ';',
]
const sameSymbols: Readonly<Record<string, string>> = { '~=': '=~', '!=': '<>' }

/** Returns the tokens of `sql` with an 'end' token last. Throws RuleCompileError. */
export function tokenize(sql: string): Token[] {
  if (sql.length > maxSqlLength) {
    throw new RuleCompileError(sql, 0, `the SQL has ${sql.length} characters: limit maxSqlLength is ${maxSqlLength}`)
  }
  const tokens: Token[] = []
  let at = findEnd(spaceOrComment, sql, 0)
  while (at < sql.length) {
    const token = readToken(sql, at, tokens.at(-1))
    tokens.push(token)
    at = findEnd(spaceOrComment, sql, token.end)
  }
  tokens.push({ kind: 'end', text: '', key: '', start: sql.length, end: sql.length })
  return tokens
}

function findEnd(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(sql) ? pattern.lastIndex : at
}

function readToken(sql: string, start: number, previous: Token | undefined): Token {
  const first = sql[start]
  if (first === "'") return readQuotedToken(sql, start, 'text')
  if (first === '"') return readQuotedToken(sql, start, 'name')
  const wordEnd = findEnd(previous?.key === '.' ? key : word, sql, start)
  if (wordEnd > start) {
    const text = sql.slice(start, wordEnd)
    return { kind: 'word', text, key: text.toUpperCase(), start, end: wordEnd }
  }
  return readNumberToken(sql, start, previous) ?? readSymbolToken(sql, start)
}

/** A doubled quote stands for one quote. Nothing else is an escape. */
function readQuotedToken(sql: string, start: number, kind: 'text' | 'name'): Token {
  const quote = sql[start]
  let end = sql.indexOf(quote, start + 1)
  while (end !== -1 && sql[end + 1] === quote) end = sql.indexOf(quote, end + 2)
  if (end === -1) {
    throw new RuleCompileError(
      sql,
      start,
      `this ${kind} has no closing ${quote}`,
      `a ${quote} inside is written twice: ${quote}${quote}`,
    )
  }
  return { kind, text: sql.slice(start + 1, end).replaceAll(quote + quote, quote), key: '', start, end: end + 1 }
}

function readNumberToken(sql: string, start: number, previous: Token | undefined): Token | undefined {
  // In `a.1.2` the digits are keys, not the float 1.2.
  const isKey = previous?.key === '.'
  const end = findEnd(isKey ? digits : number, sql, start)
  if (end === start) return undefined
  const text = sql.slice(start, end)
  const isInteger = !/[.eE]/.test(text)
  if (!isKey && findEnd(word, sql, end) > end) {
    throw new RuleCompileError(
      sql,
      start,
      `${quoteText(sql.slice(start, findEnd(word, sql, end)))} is neither a number nor a name`,
      'a name starts with a letter; put other names in double quotes',
    )
  }
  return { kind: isInteger ? 'integer' : 'float', text, key: '', start, end }
}

function readSymbolToken(sql: string, start: number): Token {
  for (const symbol of symbols) {
    if (sql.startsWith(symbol, start)) {
      const text = sameSymbols[symbol] ?? symbol
      return { kind: 'symbol', text, key: text, start, end: start + symbol.length }
    }
  }
  const character = String.fromCodePoint(sql.codePointAt(start) ?? 0)
  throw new RuleCompileError(sql, start, `unexpected character ${quoteText(character)}`, findHint(character))
}

function findHint(character: string): string {
  if (character === '$' || character === '#' || character === '_')
    return 'put topics and unusual names in double quotes'
  if (character === '`' || character === '“' || character === '’') return 'use \'…\' for texts and "…" for names'
  if (character === '%') return 'the remainder is written: a mod b'
  return ''
}
