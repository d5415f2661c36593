// SELECT fields FROM sources [WHERE condition]
// FOREACH fields [DO fields] [INCASE condition] FROM sources [WHERE condition]

import { maxSources } from '../limits/rule-limits.ts'
import { checkDepth } from './tree-depth.ts'
import { parseExpression } from './parse-expression.ts'
import { parseAlias } from './parse-path.ts'
import type { Expression, Field, Path, SourceNode, Statement } from './sql-syntax.ts'
import { isKeyword, TokenReader } from './token-reader.ts'

/** Returns the syntax tree of a rule. Throws RuleCompileError. */
export function parseStatement(sql: string): Statement {
  const reader = new TokenReader(sql)
  const statement = parseSelect(reader) ?? parseForeach(reader)
  if (statement === undefined)
    throw reader.createUnexpectedError('expected SELECT or FOREACH', 'example: SELECT * FROM "t/#"')
  reader.take(';')
  if (reader.current.kind !== 'end')
    throw reader.createUnexpectedError('expected the end of the SQL', findHintAfterEnd(reader))
  checkDepth(statement, sql)
  return statement
}

function findHintAfterEnd(reader: TokenReader): string {
  if (reader.is('GROUP') || reader.is('ORDER') || reader.is('LIMIT')) return 'a rule has no GROUP BY, ORDER BY or LIMIT'
  return ''
}

function parseSelect(reader: TokenReader): Statement | undefined {
  if (!reader.take('SELECT')) return undefined
  const fields = parseFields(reader)
  return { kind: 'select', fields, from: parseFrom(reader), where: parseWhere(reader) }
}

function parseForeach(reader: TokenReader): Statement | undefined {
  const { start } = reader.current
  if (!reader.take('FOREACH')) return undefined
  const fields = parseFields(reader)
  const last = fields.at(-1)
  if (last?.kind !== 'expression') throw reader.createError({ start }, 'the last field of FOREACH is the array, not *')
  if (last.alias !== undefined && last.alias.segments.length > 0) {
    throw reader.createError(last.expression, 'the alias of the array is a name, not a path')
  }
  const perItem = reader.take('DO') ? parseFields(reader) : undefined
  const inCase = reader.take('INCASE') ? parseExpression(reader) : undefined
  return { kind: 'foreach', fields, perItem, inCase, from: parseFrom(reader), where: parseWhere(reader) }
}

function parseFields(reader: TokenReader): Field[] {
  const fields: Field[] = []
  do fields.push(parseField(reader))
  while (reader.take(','))
  return fields
}

function parseField(reader: TokenReader): Field {
  if (reader.is('*')) {
    reader.count()
    reader.advance()
    return { kind: 'all' }
  }
  const expression = parseExpression(reader)
  return { kind: 'expression', expression, alias: parseOptionalAlias(reader) }
}

function parseOptionalAlias(reader: TokenReader): Path | undefined {
  if (reader.take('AS')) return parseAlias(reader, parseExpression)
  const token = reader.current
  const isName = token.kind === 'name' || (token.kind === 'word' && !isKeyword(token))
  return isName ? parseAlias(reader, parseExpression) : undefined
}

function parseFrom(reader: TokenReader): SourceNode[] {
  reader.expect(
    'FROM',
    'after the fields',
    'separate fields with commas; put a name that is a keyword in double quotes',
  )
  const sources: SourceNode[] = []
  do {
    if (sources.length === maxSources) {
      throw reader.createError(reader.current, `too many topics: limit maxSources is ${maxSources}`)
    }
    sources.push(parseSource(reader))
  } while (reader.take(','))
  return sources
}

function parseSource(reader: TokenReader): SourceNode {
  const token = reader.current
  const isSource = token.kind === 'name' || token.kind === 'text' || (token.kind === 'word' && !isKeyword(token))
  if (!isSource)
    throw reader.createUnexpectedError('expected a topic filter', 'put the topic filter in double quotes: FROM "t/#"')
  reader.advance()
  const next = reader.current.key
  if (token.kind === 'word' && (next === '/' || next === '.')) {
    throw reader.createUnexpectedError(
      'expected a comma, WHERE or the end',
      'put the topic filter in double quotes: FROM "t/a"',
    )
  }
  return { text: token.text, start: token.start, end: token.end }
}

function parseWhere(reader: TokenReader): Expression | undefined {
  return reader.take('WHERE') ? parseExpression(reader) : undefined
}
