// The work of a rule is limited by steps, which are the same on each machine.

/* oxlint-disable no-template-curly-in-string -- jq */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SchemaRegistry } from '../../src/schemas/index.ts'
import { createRuleHost } from '../../src/actions/rules/rule-host.ts'
import { outputOf, valueOf } from './evaluate.ts'
import { sampleHost } from './sample-host.ts'
import { threadMs } from './thread-time.ts'

const endless = `jq('[range(1; 100000000)] | length', '1')`
const tooMuch = 'error: the rule does too much work for one message: limit maxSteps is 1000000'
const tooMuchOf5Ms =
  'error: the rule does too much work for one message: limit rule_engine.max_evaluation_time is 5 ms, which are 250000 steps'

/** Returns the largest number of items for which the rule is not stopped. */
function limitOf(): number {
  let [fits, isTooMuch] = [1, 1_000_000]
  while (isTooMuch - fits > 1) {
    const middle = (fits + isTooMuch) >> 1
    const sql = `SELECT jq('[range(0; ${middle})] | length', '1') AS a FROM "t/#"`
    if (outputOf(sql).startsWith('error')) isTooMuch = middle
    else fits = middle
  }
  return fits
}

describe('the work of one evaluation', () => {
  test('is limited for jq, and for everything else', () => {
    assert.equal(valueOf(endless), tooMuch)
    assert.equal(outputOf('FOREACH [1..1000000] AS e DO e + 1 AS x FROM "t/#"'), tooMuch)
    const pattern = `regex_match(payload, '(a*)*b')`
    assert.equal(valueOf(pattern, { payload: 'a'.repeat(400_000) }), tooMuch)
  })

  test('is a setting in milliseconds, each of which is a number of steps', () => {
    assert.equal(valueOf(endless, {}, sampleHost({ maxEvaluationMs: 5 })), tooMuchOf5Ms)
    assert.equal(valueOf(endless, {}, sampleHost({ maxEvaluationMs: 1_000 })), tooMuch)
  })

  test('of jq has a separate limit in the call or in the setting, which ends with jq', () => {
    const named = endless.replace(`'1')`, `'1', 2)`)
    assert.equal(valueOf(named), 'error: jq: the program takes longer than 2 ms')
    assert.equal(valueOf(endless, {}, sampleHost({ jqTimeoutMs: 3 })), 'error: jq: the program takes longer than 3 ms')
    const after = `SELECT jq('[range(1; 3000)] | length', '1', 15) AS a, length([1..20000]) AS b FROM "t/#"`
    assert.equal(outputOf(after), '{"a":[2999],"b":20000}')
  })

  test('try in jq does not catch the limit', () => {
    assert.equal(valueOf(`jq('try last(range(0; 100000000)) catch 1', '1')`), tooMuch)
  })

  test('is the same in each run: whether a rule is stopped does not depend on how long the process has run', () => {
    const cold = limitOf()
    for (let run = 0; run < 20; run++) valueOf(`jq('[range(0; 1000)] | map(. + 1) | length', '1')`)
    assert.equal(limitOf(), cold)
  })
})

test('endless programs end within the limit of steps, in a short time', () => {
  const host = createRuleHost(Date.now, { schemas: new SchemaRegistry(), maxEvaluationMs: 20, jqTimeoutMs: 10_000 })
  const programs = [
    'try last(range(0; 100000000)) catch 1',
    'def f: f; f',
    '[range(1; 100000000)] | length',
    '[limit(1000000; repeat(1))] | add',
    'reduce range(0; 10000000) as $i (0; . + $i)',
    '"a" | until(false; . + "a")',
    '[range(0; 300000)] | sort_by(-.) | length',
    'last(range(0; 100000000))',
  ]
  for (const program of programs) {
    const startMs = threadMs()
    const shown = valueOf(`jq('${program}', '1')`, {}, host)
    const tookMs = threadMs() - startMs
    assert.match(shown, /^error: .*max\w+ is/, program)
    // On a slow machine, with a cold process.
    assert.ok(tookMs < 250, `${program}: ${tookMs} ms`)
  }
})
