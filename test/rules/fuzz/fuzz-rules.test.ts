import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileRule, RuleCompileError } from '../../../src/rules/index.ts'
import { threadMs } from '../thread-time.ts'
import { fuzzRules } from './fuzz-rules.ts'

test('4,000 random rules give results, compile errors and rule errors, nothing else', () => {
  const tally = fuzzRules(4_000, 20_261_123)
  // A fuzzer whose inputs all fail in the same way, or never, tests nothing.
  assert.ok(tally.refused > 300, `${tally.refused} were refused`)
  assert.ok(tally.passed > 150, `${tally.passed} passed`)
  assert.ok(tally.noResult > 300, `${tally.noResult} had no result`)
  assert.ok(tally.failed > 300, `${tally.failed} failed`)
})

describe('compiling takes time in proportion to the length of the SQL', () => {
  const shapes: readonly [name: string, piece: string, before: string, after: string][] = [
    ['quotes', "''", "SELECT '", "' FROM t"],
    ['open quotes', "'a", 'SELECT ', ' FROM t'],
    ['comments', '--\n', 'SELECT a', ' FROM t'],
    ['dashes', '- ', 'SELECT ', '1 FROM t'],
    ['spaces', ' ', 'SELECT', 'a FROM t'],
    ['dots', '.a', 'SELECT a', ' FROM t'],
    ['brackets', '[1]', 'SELECT a', ' FROM t'],
    ['open brackets', '[', 'SELECT ', ' FROM t'],
    ['sums', '1+', 'SELECT ', '1 FROM t'],
    ['conditions', 'a OR ', 'SELECT a FROM t WHERE ', 'a'],
    ['cases', 'WHEN a THEN b ', 'SELECT CASE ', 'END FROM t'],
    ['digits', '9', 'SELECT ', ' FROM t'],
    ['fields', 'a b,', 'SELECT ', 'a FROM t'],
    ['unknown columns', 'colunm_that_is_unknown,', 'SELECT ', 'a FROM t'],
    ['unknown functions', 'functoin_that_is_unknown(),', 'SELECT ', 'a FROM t'],
    ['arguments', '1,', 'SELECT f(', '1) FROM t'],
    ['aliases', '1 AS a,', 'SELECT ', 'a FROM t'],
    ['stars', '*,', 'SELECT ', '* FROM t'],
    ['sources', 't,', 'SELECT * FROM ', 't'],
    ['line feeds and an error', '\n', 'SELECT ', '! FROM t'],
    ['names in quotes', '"a" ', 'SELECT ', ' FROM t'],
    ['emoji', '\u{1f600}', "SELECT '", "' ! FROM t"],
  ]
  for (const [name, piece, before, after] of shapes) {
    test(name, () => {
      const sql = before + piece.repeat(Math.floor(65_000 / piece.length)) + after
      const startMs = threadMs()
      try {
        compileRule(sql)
      } catch (error) {
        assert.ok(error instanceof RuleCompileError, String(error))
      }
      const ms = threadMs() - startMs
      // 30 µs for each character is a hundred times the usual value. Quadratic time would be far more.
      assert.ok(ms < 2_000, `${ms} ms`)
    })
  }
})
