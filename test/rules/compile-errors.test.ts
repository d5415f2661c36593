// Every error of SQL has a position, the line with a caret, and a hint if there is a suggestion.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileRule } from '../../src/rules/index.ts'
import { compileErrorOf, outputOf } from './evaluate.ts'

const places: readonly [sql: string, line: number, column: number, summary: RegExp, hint?: RegExp][] = [
  ['', 1, 1, /unexpected end of the SQL; expected SELECT or FOREACH/, /SELECT \* FROM/],
  ['UPDATE t', 1, 1, /unexpected name 'UPDATE'/],
  ['SELECT', 1, 7, /unexpected end of the SQL; expected an expression/],
  ['SELECT a', 1, 9, /expected FROM/, /commas/],
  ['SELECT a,\n  b c d\nFROM t', 2, 7, /unexpected name 'd'/],
  ['SELECT a FROM', 1, 14, /expected a topic filter/],
  ['SELECT a FROM "t" WHERE', 1, 24, /expected an expression/],
  ['SELECT a FROM "t" GROUP BY a', 1, 19, /expected the end/, /no GROUP BY/],
  ['SELECT a FROM t/a', 1, 16, /expected a comma/, /double quotes/],
  ["SELECT 'a FROM t", 1, 8, /this text has no closing '/, /written twice/],
  ['SELECT "a FROM t', 1, 8, /this name has no closing "/],
  ['SELECT a FROM "t" WHERE a = ', 1, 29, /expected an expression/],
  ['SELECT (a FROM "t"', 1, 11, /expected \) to close/],
  ['SELECT f(a FROM "t"', 1, 12, /expected \) at the end of the list/],
  ['SELECT a[1 FROM "t"', 1, 12, /expected \] after the position/],
  ['SELECT a. FROM "t"', 1, 19, /unexpected end of the SQL; expected FROM/],
  ['SELECT a.+ FROM "t"', 1, 10, /expected a key after the dot/],
  ['SELECT 5x FROM "t"', 1, 8, /neither a number nor a name/],
  ['SELECT a % b FROM "t"', 1, 10, /unexpected character '%'/, /mod/],
  ['SELECT a AS FROM "t"', 1, 13, /unexpected keyword FROM; expected a name/, /double quotes/],
  ['SELECT CASE 1 END FROM "t"', 1, 15, /expected WHEN/],
  ['SELECT CASE WHEN 1 2 END FROM "t"', 1, 20, /expected THEN/],
  ['SELECT CASE WHEN 1 THEN 2 FROM "t"', 1, 27, /expected END/],
  ['SELECT a + * FROM "t"', 1, 12, /unexpected '\*'/],
  ['SELECT a IN 5 FROM "t"', 1, 13, /expected \( after IN/],
  ['FOREACH * FROM "t"', 1, 1, /the last field of FOREACH is the array/],
  ['FOREACH a AS b.c FROM "t"', 1, 9, /alias of the array is a name/],
  ['SELECT "" FROM "t"', 1, 8, /the name is empty/],
  ['SELECT 1 AS a[1..2] FROM "t"', 1, 14, /range cannot be a target/],
  ['SELECT [1..2].x FROM "t"', 1, 14, /expected FROM/],
  ['SELECT [1][1] FROM "t"', 1, 11, /a path starts at a column/],
  ['SELECT \'\u{1f600}\', ! FROM "t"', 1, 13, /unexpected character '!'/],
]

describe('compile errors', () => {
  for (const [sql, line, column, summary, hint] of places) {
    test(JSON.stringify(sql), () => {
      const error = compileErrorOf(sql)
      assert.match(error.summary, summary)
      assert.deepEqual([error.line, error.column], [line, column], error.message)
      if (hint !== undefined) assert.match(error.hint, hint)
    })
  }

  test('the message has the position, the line, a caret and the hint', () => {
    const error = compileErrorOf('SELECT a\nFROM "t"\nWHERE a = = 1')
    assert.equal(error.message, "line 3, column 11: unexpected '='; expected an expression\nWHERE a = = 1\n          ^")
    const hinted = compileErrorOf('SELECT a FROM t#')
    assert.equal(
      hinted.message,
      "line 1, column 16: unexpected character '#'\nSELECT a FROM t#\n               ^\nhint: put topics and unusual names in double quotes",
    )
  })

  test('a long line is cut around the caret, and control characters are spaces', () => {
    const error = compileErrorOf(`SELECT ${'a, '.repeat(500)}!\u001b[31m, ${'b, '.repeat(500)}c FROM "t"`)
    const [, line, caret] = error.message.split('\n')
    assert.ok(line.length < 110)
    assert.equal(line[caret.length - 1], '!')
    assert.ok(!error.message.includes('\u001b'))
  })

  test('an exceeded limit is named in the error', () => {
    const limits: [string, RegExp][] = [
      [`SELECT ${'('.repeat(200)}1${')'.repeat(200)} FROM "t"`, /limit maxExpressionDepth is 100/],
      [`SELECT ${'-'.repeat(1)}${'- '.repeat(200)}1 FROM "t"`, /limit maxExpressionDepth is 100|expected/],
      [`SELECT ${'['.repeat(200)} FROM "t"`, /limit maxExpressionDepth is 100/],
      [`SELECT ${'NOT '.repeat(200)}true FROM "t"`, /limit maxExpressionDepth is 100/],
      [`SELECT ${'1, '.repeat(20_000)}1 FROM "t"`, /limit maxSqlNodes is 10000/],
      [`SELECT a${'.b'.repeat(65)} FROM "t"`, /limit maxPathKeys is 64/],
      [`SELECT 1 AS a${'[1]'.repeat(65)} FROM "t"`, /limit maxPathKeys is 64/],
      [`SELECT ${'*, '.repeat(20_000)}* FROM "t"`, /limit maxSqlNodes is 10000/],
      [`SELECT 1 FROM ${Array.from({ length: 300 }, () => 't').join(',')}`, /limit maxSources is 256/],
      [`SELECT ${'1 + '.repeat(1_000)}1 FROM "t"`, /limit maxTreeDepth is 1000/],
      [
        `SELECT ${'1 = (1 + '.repeat(40)}${'1 + '.repeat(990)}1${')'.repeat(40)} FROM "t"`,
        /limit maxTreeDepth is 1000/,
      ],
      [`SELECT '${'x'.repeat(70_000)}' FROM "t"`, /limit maxSqlLength is 65536/],
      [`SELECT ${'9'.repeat(2_000)} FROM "t"`, /limit maxIntegerBits is 4096/],
    ]
    for (const [sql, pattern] of limits) assert.match(compileErrorOf(sql).summary, pattern, sql.slice(0, 40))
  })

  test('expressions at the limits are evaluated', () => {
    const sum = Array.from({ length: 998 }, () => 'qos').join(' + ')
    assert.equal(outputOf(`SELECT ${sum} AS v FROM "t/#" WHERE v = ${sum}`), '{"v":998}')
    const calls = `${'concat('.repeat(48)}qos${", 'x')".repeat(48)}`
    assert.equal(outputOf(`SELECT strlen(${calls}) AS v FROM "t/#"`), '{"v":49}')
    const lists = `${'['.repeat(98)}${']'.repeat(98)}`
    assert.equal(outputOf(`SELECT ${lists} AS v FROM "t/#"`), `{"v":${lists}}`)
  })

  test('expressions at the limits compile', () => {
    compileRule(`SELECT ${'('.repeat(98)}1${')'.repeat(98)} FROM "t"`)
    compileRule(`SELECT ${Array.from({ length: 1_000 }, () => '1').join(' + ')} FROM "t"`)
    compileRule(`SELECT 1 FROM "t" WHERE ${Array.from({ length: 2_400 }, () => 'a = 1').join(' OR ')}`)
  })
})
