// Paths, ranges and array literals. Both kinds of brackets start with `[`.

import { maxPathKeys } from '../limits/rule-limits.ts'
import type { Expression, Path, PathNode, Segment } from './sql-syntax.ts'
import { isKeyword, type TokenReader } from './token-reader.ts'

/** Parses a position in brackets: the parser for expressions, which uses this file. */
export type ParseExpression = (reader: TokenReader) => Expression

/** A path as an expression. It may end in a range: `a.b[2..4]`. */
export function parsePath(reader: TokenReader, parseExpression: ParseExpression): Expression {
  const start = reader.current.start
  const segments: Segment[] = []
  const root = parseRoot(reader)
  for (;;) {
    if (reader.is('[')) {
      const range = parseRange(reader)
      if (range !== undefined)
        return createSlice(reader, { kind: 'path', root, segments, start, end: range.start }, range)
    }
    const segment = parseSegment(reader, parseExpression)
    if (segment === undefined) return { kind: 'path', root, segments, start, end: reader.previousEnd }
    addSegment(reader, segments, segment)
  }
}

function addSegment(reader: TokenReader, segments: Segment[], segment: Segment): void {
  if (segments.length === maxPathKeys) {
    throw reader.createError(reader.current, `too many keys in a path: limit maxPathKeys is ${maxPathKeys}`)
  }
  segments.push(segment)
}

function createSlice(reader: TokenReader, path: PathNode, range: Range): Expression {
  if (reader.is('.') || reader.is('[')) throw reader.createUnexpectedError('a range is the end of a path')
  if (range.from === 0 || range.to === 0) {
    throw reader.createError(range, 'a range of an array has no position 0', 'the first element is 1, the last is -1')
  }
  return { kind: 'slice', path, from: range.from, to: range.to, start: path.start, end: reader.previousEnd }
}

/** A path as the target of AS. */
export function parseAlias(reader: TokenReader, parseExpression: ParseExpression): Path {
  const root = parseRoot(reader)
  const segments: Segment[] = []
  for (;;) {
    const range = reader.is('[') ? parseRange(reader) : undefined
    if (range !== undefined) throw reader.createError(range, 'a range cannot be a target of AS')
    const segment = parseSegment(reader, parseExpression)
    if (segment === undefined) return { root, segments }
    addSegment(reader, segments, segment)
  }
}

function parseRoot(reader: TokenReader): string {
  const token = reader.current
  const isName = token.kind === 'name' || (token.kind === 'word' && !isKeyword(token))
  if (!isName)
    throw reader.createUnexpectedError(
      'expected a name',
      isKeyword(token) ? 'put a name that is a keyword in double quotes' : '',
    )
  if (token.text === '') throw reader.createError(token, 'the name is empty')
  return reader.advance().text
}

function parseSegment(reader: TokenReader, parseExpression: ParseExpression): Segment | undefined {
  if (reader.is('.')) return parseKey(reader)
  if (!reader.is('[')) return undefined
  reader.count()
  reader.advance()
  const index = parseExpression(reader)
  reader.expect(']', 'after the position')
  return toPositionSegment(index)
}

function toPositionSegment(index: Expression): Segment {
  const isNegative = index.kind === 'sign' && index.isNegative
  const digits = isNegative ? index.operand : index
  if (digits.kind !== 'literal' || digits.value !== 0) return { kind: 'index', index }
  return { kind: isNegative ? 'append' : 'prepend' }
}

/** After a dot every word is a key, also a keyword. */
function parseKey(reader: TokenReader): Segment {
  reader.count()
  reader.advance()
  const token = reader.current
  const isKey = token.kind === 'word' || token.kind === 'name' || token.kind === 'text' || token.kind === 'integer'
  if (!isKey)
    throw reader.createUnexpectedError('expected a key after the dot', "write unusual keys in quotes: payload.'my key'")
  reader.advance()
  return { kind: 'key', key: token.text }
}

interface Range {
  readonly from: number
  readonly to: number
  readonly start: number
}

/** Parses `[1..4]` or `[-3..-1]`. Returns undefined, without advancing, if the bracket is something else. */
function parseRange(reader: TokenReader): Range | undefined {
  const lookahead = reader.peekRange()
  if (lookahead === undefined) return undefined
  const start = reader.current.start
  for (let count = 0; count < lookahead.tokens; count++) reader.advance()
  reader.expect(']', 'after the range')
  if (!Number.isSafeInteger(lookahead.from) || !Number.isSafeInteger(lookahead.to)) {
    throw reader.createError({ start }, 'the range is too large')
  }
  return { from: lookahead.from, to: lookahead.to, start }
}

/** `[1..4]` as the array 1, 2, 3, 4, or an array of expressions. */
export function parseBracketed(reader: TokenReader, parseList: (close: string) => Expression[]): Expression {
  const { start } = reader.current
  const range = parseRange(reader)
  if (range !== undefined) return { kind: 'range', from: range.from, to: range.to, start, end: reader.previousEnd }
  reader.advance()
  const items = parseList(']')
  if (reader.is('.') || reader.is('[')) throw reader.createUnexpectedError('a path starts at a column or an alias')
  return { kind: 'array', items, start, end: reader.previousEnd }
}
