// A rule that loops or grows is stopped by a limit whose name is in the error.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileRule } from '../../src/rules/index.ts'
import { messageWith } from './evaluate.ts'
import { sampleHost } from './sample-host.ts'
import { threadMs } from './thread-time.ts'

/** Generous for a slow machine; without a limit these rules take hours or gigabytes. */
const maxMs = 5_000

const greedy: readonly [name: string, sql: string, limit: RegExp][] = [
  ['FOREACH over a huge range', 'FOREACH [1..100000000] AS e DO e FROM "t/#"', /maxCreatedBytes/],
  [
    'FOREACH over many items with much work',
    `FOREACH [1..1000000] AS e DO ${'e + '.repeat(100)}1 AS x FROM "t/#"`,
    /maxSteps/,
  ],
  ['FOREACH with a function that is linear', 'FOREACH [1..100000] AS e DO strlen(payload) AS n FROM "t/#"', /maxSteps/],
  ['nested FOREACH by arrays of arrays', 'FOREACH [1..100000] AS e DO [1..100000] AS a FROM "t/#"', /maxSteps/],
  ['pad', 'SELECT pad(\'x\', 1000000000) FROM "t/#"', /maxCreatedBytes/],
  ['pad with a long unit', "SELECT pad('x', 100000, 'both', payload) FROM \"t/#\"", /maxCreatedBytes/],
  ['a text that doubles', doubling('concat(a, a)', "'0123456789'"), /maxCreatedBytes/],
  ['a text that doubles by +', doubling('a + a', "'0123456789'"), /maxCreatedBytes/],
  ['replace that multiplies', doubling("replace(a, 'x', 'xxxxxxxx')", "'x'"), /maxCreatedBytes/],
  ['regex_replace that multiplies', doubling("regex_replace(a, 'x', '&&&&&&&&')", "'x'"), /maxCreatedBytes|maxSteps/],
  [
    'an array that doubles, written as JSON',
    doubling('[a, a]', '1').replace(' FROM', ', json_encode(a) AS j FROM'),
    /maxCreatedBytes|maxSteps|maxValueDepth/,
  ],
  [
    'arrays that double, compared',
    `SELECT ${pair('[1]')}${Array.from({ length: 60 }, () => `, ${pair('[a, a]', '[b, b]')}`).join('')}, a = b AS c FROM "t/#"`,
    /maxSteps/,
  ],
  [
    'arrays that double, in sprintf',
    doubling('[a, a]', '1').replace(' FROM', ", sprintf('~p', a) AS j FROM"),
    /maxCreatedBytes|maxSteps/,
  ],
  [
    'arrays that double, as a term',
    doubling('[a, a]', '1').replace(' FROM', ', term_encode(a) AS j FROM'),
    /maxCreatedBytes|maxSteps/,
  ],
  [
    'a regular expression with exponential backtracking',
    'FOREACH [1..1000] AS e DO regex_match(payload, \'(x+x+)+y\') FROM "t/#"',
    /maxSteps/,
  ],
  ['a quadratic regular expression', "SELECT regex_replace(payload, 'x.*y|x', 'z') FROM \"t/#\"", /maxSteps/],
  ['nested quantifiers', 'SELECT regex_match(payload, \'((x{100}){100}){100}\') FROM "t/#"', /maxRegexInstructions/],
  ['integers that square', doubling('a * a', '9'), /maxIntegerBits/],
  ['a shift', 'SELECT bitsl(1, 1000000000) FROM "t/#"', /maxIntegerBits/],
  ['deep JSON', 'SELECT json_decode(payload) FROM "t/#"', /maxValueDepth/],
]

function doubling(expression: string, start: string): string {
  return `SELECT ${start} AS a${`, ${expression} AS a`.repeat(60)} FROM "t/#"`
}

function pair(left: string, right = left): string {
  return `${left} AS a, ${right} AS b`
}

/** The outcome of a rule over 50,000 items with a comment of this length. */
function outcomeWith(padding: number): string {
  const sql = `FOREACH [1..50000] AS e DO e FROM "t/#" -- ${'x'.repeat(padding)}`
  return compileRule(sql).evaluate(messageWith({}), sampleHost()).outcome
}

describe('limits of one evaluation', () => {
  for (const [name, sql, limit] of greedy) {
    test(name, () => {
      const payload = name === 'deep JSON' ? '['.repeat(100_000) : 'x'.repeat(100_000)
      const startMs = threadMs()
      const result = compileRule(sql).evaluate(messageWith({ payload }), sampleHost())
      assert.ok(result.outcome === 'failed', result.outcome)
      assert.match(result.error.message, limit)
      assert.equal(result.error.kind, 'limit')
      const tookMs = threadMs() - startMs
      assert.ok(tookMs < maxMs, `${tookMs} ms`)
    })
  }

  test('an item costs steps by the length of the SQL', () => {
    assert.equal(outcomeWith(0), 'passed')
    assert.equal(outcomeWith(1_600), 'failed')
  })

  test('each evaluation has a budget of its own', () => {
    const rule = compileRule('FOREACH [1..10000] AS e DO e FROM "t/#"')
    for (let count = 0; count < 20; count++) {
      assert.equal(rule.evaluate(messageWith({}), sampleHost()).outcome, 'passed')
    }
  })

  test('an ordinary rule with 10,000 items is far from the limits', () => {
    const payload = JSON.stringify({ l: Array.from({ length: 10_000 }, (_, id) => ({ id, t: id / 3 })) })
    const sql =
      'FOREACH payload.l AS e DO e.id AS id, round(e.t) AS t, clientid + \'-\' + e.id AS key INCASE e.t > 1 FROM "t/#"'
    const result = compileRule(sql).evaluate(messageWith({ payload, clientid: 'c' }), sampleHost())
    assert.ok(result.outcome === 'passed')
    assert.equal(result.outputs.length, 9_996)
  })
})
