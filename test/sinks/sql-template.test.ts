// Values of SQL templates: bound, also within quotes, and literals of ClickHouse.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileSinkTemplate } from '../../src/actions/results/compile-sink-template.ts'
import { formatClickhouseLiteral } from '../../src/sinks/clickhouse/clickhouse-literal.ts'
import type { SqlValue } from '../../src/sinks/sql/sql-entry.ts'
import { compileSqlTemplate, findSqlTemplateProblem } from '../../src/sinks/sql/sql-template.ts'
import { sinkTypes } from '../../src/sinks/index.ts'
import { fc } from '../properties.ts'

const standard = { escapesWithBackslash: false }
const withBackslash = { escapesWithBackslash: true }

function read(sql: string, data: Record<string, unknown> = {}, dialect = standard) {
  const template = compileSqlTemplate(sql, dialect, compileSinkTemplate)
  return { texts: template.texts, values: template.resolveValues(data) }
}

test('a placeholder is a value, with or without quotes', () => {
  assert.deepEqual(read("VALUES (${a}, '${b}')", { a: 1, b: 'x' }), {
    texts: ['VALUES (', ', ', ')'],
    values: [1, 'x'],
  })
})

test('a quoted text with placeholders is one value; other quoted texts are unchanged', () => {
  assert.deepEqual(read("VALUES ('it''s ${a}-${b}', 'fixed''s', ${b})", { a: "x'", b: 2 }), {
    texts: ['VALUES (', ", 'fixed''s', ", ')'],
    values: ["it's x'-2", 2],
  })
  assert.deepEqual(read("VALUES ('${b}', 'a\\'${b}')", { b: 2 }, withBackslash).values, [2, "a'2"])
})

test('JSON in a quoted text is a template of JSON', () => {
  assert.deepEqual(read(`VALUES ('{"a":"\${a}","b":\${a}}')`, { a: 'x","admin":"' }).values, [
    '{"a":"x\\",\\"admin\\":\\"","b":"x\\",\\"admin\\":\\""}',
  ])
})

test('a placeholder in a name in quotes or in a comment is refused when the action is configured', () => {
  for (const sql of [
    'INSERT INTO "${a}" VALUES (1)',
    'INSERT INTO `${a}` VALUES (1)',
    'INSERT INTO t VALUES (1) -- ${a}',
    'INSERT INTO t VALUES (1 /* ${a} */)',
    "INSERT INTO t VALUES ('${a})",
  ]) {
    assert.match(findSqlTemplateProblem(sql, standard, compileSinkTemplate) ?? '', /a placeholder is in/, sql)
    assert.throws(() => read(sql), TypeError)
    const action = { parameters: { sql } } as unknown as Parameters<typeof sinkTypes.clickhouse.findActionProblem>[0]
    assert.match(sinkTypes.clickhouse.findActionProblem(action, compileSinkTemplate) ?? '', /^parameters\.sql: /)
  }
  for (const sql of ["VALUES (${a}) -- it's", "VALUES (${a}, '--', \"x'y\", ${b})", "/* it's */ VALUES (${a})"])
    assert.equal(findSqlTemplateProblem(sql, standard, compileSinkTemplate), undefined, sql)
})

const attacks = fc.oneof(
  fc.constantFrom("'", "''", "\\'", '\\', "'); DROP TABLE t; --", '/*', '--', '"', '`', '\0', '\n'),
  fc.string(),
)

function fixed(tokens: readonly string[]): readonly string[] {
  return tokens.filter((token) => !token.startsWith("'"))
}

/** The tokens of a statement of ClickHouse: each literal is one. */
function tokensOf(sql: string): readonly string[] {
  return sql.match(/'(?:[^'\\]|\\[^]|'')*'|[^']+|'/g) ?? []
}

test('no value ends its literal in a statement of ClickHouse', () => {
  const statements = [
    'INSERT INTO t VALUES (${a}, ${b})',
    "INSERT INTO t VALUES ('${a}', '${b}')",
    "INSERT INTO t VALUES ('a-${a}', 'b-${b}', 'fixed\\'s')",
    "INSERT INTO t VALUES ('${a}${b}', '${a} ${a}', 'x')",
  ]
  fc.assert(
    fc.property(fc.constantFrom(...statements), attacks, attacks, (sql, a, b) => {
      const written = (data: Record<string, unknown>): string => {
        const { texts, values } = read(sql, data, withBackslash)
        return texts.reduce((all, text, at) => all + formatClickhouseLiteral(values[at - 1] as SqlValue) + text)
      }
      const usual = tokensOf(written({ a: 'a', b: 'b' }))
      const found = tokensOf(written({ a, b }))
      assert.equal(found.length, usual.length)
      assert.deepEqual(fixed(found), fixed(usual))
    }),
  )
})
