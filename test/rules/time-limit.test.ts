// A slow rule ends at the time limit, before it reaches its limit of steps.

/* oxlint-disable no-template-curly-in-string -- jq */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SchemaRegistry } from '../../src/rules/index.ts'
import { ruleHost } from '../../src/shard/rules/rule-host.ts'
import { outputOf, valueOf } from './evaluate.ts'
import { sampleHost } from './sample-host.ts'
import { threadMs } from './thread-time.ts'

/** A clock that advances by some milliseconds at each call. */
function hostWithClock(perLookMs: number, changes: { maxEvaluationMs?: number; jqTimeoutMs?: number } = {}) {
  let looks = 0
  const host = sampleHost({ threadMs: () => perLookMs * looks++, ...changes })
  return { host, looks: () => looks }
}

const endless = `jq('[range(1; 100000000)] | length', '1')`
const tooLong = 'error: the rule takes too long for one message: limit rule_engine.max_evaluation_time is 30 ms'

describe('the time of one evaluation', () => {
  test('is limited for jq, and for everything else', () => {
    const { host, looks } = hostWithClock(10)
    assert.equal(valueOf(endless, {}, host), tooLong)
    assert.equal(looks(), 5)
    assert.equal(outputOf('FOREACH [1..100000] AS e DO e + 1 AS x FROM "t/#"', {}, hostWithClock(10).host), tooLong)
    const pattern = `regex_match(payload, '(a*)*b')`
    assert.equal(valueOf(pattern, { payload: 'a'.repeat(100_000) }, hostWithClock(10).host), tooLong)
  })

  test('is a setting', () => {
    const { host, looks } = hostWithClock(10, { maxEvaluationMs: 100 })
    assert.match(valueOf(endless, {}, host), /max_evaluation_time is 100 ms/)
    assert.equal(looks(), 12)
  })

  test('is not checked by rules with little work', () => {
    const { host, looks } = hostWithClock(1_000)
    assert.equal(valueOf(`jq('.a | map(. * 2)', '{"a":[1,2]}')`, {}, host), '[[2,4]]')
    assert.equal(looks(), 0)
  })

  test('of jq has a separate limit in the call or in the setting', () => {
    const named = endless.replace(`'1')`, `'1', 15)`)
    assert.equal(valueOf(named, {}, hostWithClock(10).host), 'error: jq: the program takes longer than 15 ms')
    assert.equal(
      valueOf(endless, {}, hostWithClock(10, { jqTimeoutMs: 5 }).host),
      'error: jq: the program takes longer than 5 ms',
    )
    // The limit of jq ends with jq.
    const after = `SELECT jq('[range(1; 3000)] | length', '1', 15) AS a, length([1..20000]) AS b FROM "t/#"`
    assert.equal(outputOf(after, {}, hostWithClock(1).host), '{"a":[2999],"b":20000}')
  })

  test('try in jq does not catch it', () => {
    assert.equal(valueOf(`jq('try last(range(0; 100000000)) catch 1', '1')`, {}, hostWithClock(10).host), tooLong)
  })
})

test('with the clock of the shard, endless programs end within the limit', () => {
  const host = ruleHost(Date.now, { schemas: new SchemaRegistry(), maxEvaluationMs: 20, jqTimeoutMs: 10_000 })
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
    assert.match(shown, /^error: .*(max_evaluation_time|max\w+ is)/, program)
    // The limit, and one step that cannot be interrupted, on a slow machine.
    assert.ok(tookMs < 250, `${program}: ${tookMs} ms`)
  }
})
