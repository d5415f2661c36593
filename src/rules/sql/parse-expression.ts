// A Pratt parser for expressions. Levels, low to high: OR; AND; NOT; comparison and IN, which do not chain; + and -;
// *, /, div and mod; unary + and -.

import {
  type ArithmeticOperator,
  type ComparisonOperator,
  parseNumber,
  RuleError,
  type RuleValue,
} from '../../values/index.ts'
import { parseBracketed, parsePath } from './parse-path.ts'
import type { Token } from './tokens.ts'
import type { CaseNode, Expression } from './sql-syntax.ts'
import { isKeyword, type TokenReader } from './token-reader.ts'

const levels: Readonly<Record<string, number>> = {
  OR: 1,
  AND: 2,
  '=': 4, '<>': 4, '<': 4, '<=': 4, '>': 4, '>=': 4, '=~': 4, IN: 4, NOT: 4,
  '+': 5, '-': 5,
  '*': 6, '/': 6, DIV: 6, MOD: 6,
} // oxfmt-ignore

const notLevel = 3
const comparisonLevel = 4
const signLevel = 7

export function parseExpression(reader: TokenReader, lowest = 0): Expression {
  return reader.parseNested(() => {
    let left = parsePrefix(reader)
    for (;;) {
      const level = findInfixLevel(reader)
      if (level <= lowest) return left
      left = parseInfix(reader, left, level)
      if (level === comparisonLevel && findInfixLevel(reader) === comparisonLevel) {
        throw reader.createUnexpectedError('comparisons do not chain', 'write: a < b AND b < c')
      }
    }
  })
}

/** Level of the operator at the cursor, 0 if there is none. */
function findInfixLevel(reader: TokenReader): number {
  const { kind, key } = reader.current
  if (kind !== 'word' && kind !== 'symbol') return 0
  if (key === 'NOT') return reader.following.key === 'IN' ? comparisonLevel : 0
  return Object.hasOwn(levels, key) ? levels[key] : 0
}

function parseInfix(reader: TokenReader, left: Expression, level: number): Expression {
  reader.count()
  const { key } = reader.advance()
  const { start } = left
  if (key === 'NOT') {
    reader.advance()
    const operand = parseIn(reader, left)
    return { kind: 'not', operand, start, end: operand.end }
  }
  if (key === 'IN') return parseIn(reader, left)
  const right = parseExpression(reader, level)
  const { end } = right
  if (key === 'AND' || key === 'OR') return joinConditions(key === 'AND' ? 'and' : 'or', left, right)
  if (level === comparisonLevel) {
    return { kind: 'comparison', operator: key as ComparisonOperator | '=~', left, right, start, end }
  }
  return { kind: 'arithmetic', operator: key.toLowerCase() as ArithmeticOperator, left, right, start, end }
}

/** Long chains of conditions are common: they become one node, not a deep tree. */
function joinConditions(kind: 'and' | 'or', left: Expression, right: Expression): Expression {
  const { start } = left
  const { end } = right
  if (left.kind !== kind) return { kind, operands: [left, right], start, end }
  // Nothing else holds the node yet.
  const operands = left.operands as Expression[]
  operands.push(right)
  return { kind, operands, start, end }
}

function parseIn(reader: TokenReader, operand: Expression): Expression {
  reader.expect('(', 'after IN', 'write: qos IN (0, 1)')
  if (reader.is(')')) throw reader.createUnexpectedError('expected a value', 'the list of IN cannot be empty')
  const options = parseList(reader, ')')
  return { kind: 'in', operand, options, start: operand.start, end: reader.previousEnd }
}

/** Expressions separated by commas, up to and including `close`. */
function parseList(reader: TokenReader, close: string): Expression[] {
  const items: Expression[] = []
  if (reader.take(close)) return items
  do items.push(parseExpression(reader))
  while (reader.take(','))
  reader.expect(close, 'at the end of the list')
  return items
}

function parsePrefix(reader: TokenReader): Expression {
  reader.count()
  const token = reader.current
  switch (token.kind) {
    case 'text':
      reader.advance()
      return createLiteral(token, token.text)
    case 'integer':
    case 'float':
      reader.advance()
      return createLiteral(token, parseNumberToken(reader, token))
    case 'name':
      return parsePath(reader, parseExpression)
    case 'word':
      return parseWord(reader, token)
    case 'symbol':
      return parseSymbol(reader, token)
    case 'end':
      throw reader.createUnexpectedError('expected an expression')
    default:
      throw token.kind satisfies never
  }
}

function createLiteral(token: Token, value: RuleValue): Expression {
  return { kind: 'literal', value, start: token.start, end: token.end }
}

function parseNumberToken(reader: TokenReader, token: Token): RuleValue {
  try {
    const value = parseNumber(token.text)
    if (value !== undefined) return value
  } catch (error) {
    if (!(error instanceof RuleError)) throw error
    throw reader.createError(token, error.message)
  }
  throw reader.createError(token, 'the number is too large for a float')
}

const constants = new Map<string, RuleValue>([
  ['TRUE', true],
  ['FALSE', false],
  ['NULL', null],
])

function parseWord(reader: TokenReader, token: Token): Expression {
  if (reader.following.key === '(' && token.key !== 'IN' && token.key !== 'NOT' && token.key !== 'CASE') {
    // `div` and `mod` are operators and functions.
    if (!isKeyword(token) || token.key === 'DIV') return parseCall(reader)
  }
  if (token.key === 'CASE') return parseCase(reader)
  if (token.key === 'NOT') {
    reader.advance()
    const operand = parseExpression(reader, notLevel - 1)
    return { kind: 'not', operand, start: token.start, end: operand.end }
  }
  if (isKeyword(token)) throw reader.createUnexpectedError('expected an expression')
  const constant = constants.get(token.key)
  if (constant !== undefined && reader.following.key !== '.' && reader.following.key !== '[') {
    reader.advance()
    return createLiteral(token, constant)
  }
  return parsePath(reader, parseExpression)
}

function parseCall(reader: TokenReader): Expression {
  const name = reader.advance()
  reader.advance()
  const args = parseList(reader, ')')
  if (reader.is('.') || reader.is('[')) {
    throw reader.createUnexpectedError(
      'a path starts at a column or an alias',
      'give the function an alias in an earlier field, or use map_get and nth',
    )
  }
  return { kind: 'call', name: name.text, args, start: name.start, end: reader.previousEnd }
}

function parseCase(reader: TokenReader): CaseNode {
  const { start } = reader.advance()
  const subject = reader.is('WHEN') ? undefined : parseExpression(reader)
  const branches: { when: Expression; result: Expression }[] = []
  while (reader.take('WHEN')) {
    const when = parseExpression(reader)
    reader.expect('THEN', 'after the condition of WHEN')
    branches.push({ when, result: parseExpression(reader) })
  }
  if (branches.length === 0) throw reader.createUnexpectedError('expected WHEN')
  const otherwise = reader.take('ELSE') ? parseExpression(reader) : undefined
  const { end } = reader.expect('END', 'at the end of CASE')
  return { kind: 'case', subject, branches, otherwise, start, end }
}

function parseSymbol(reader: TokenReader, token: Token): Expression {
  switch (token.key) {
    case '(': {
      reader.advance()
      const inner = parseExpression(reader)
      const { end } = reader.expect(')', 'to close the parenthesis')
      return { ...inner, start: token.start, end }
    }
    case '[':
      return parseBracketed(reader, (close) => parseList(reader, close))
    case '+':
    case '-': {
      reader.advance()
      const operand = parseExpression(reader, signLevel - 1)
      return { kind: 'sign', isNegative: token.key === '-', operand, start: token.start, end: operand.end }
    }
    case '*':
      throw reader.createUnexpectedError('expected an expression', 'select all columns with * as a field of its own')
    default:
      throw reader.createUnexpectedError('expected an expression')
  }
}
