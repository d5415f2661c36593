// Bounds of the results of one message, whatever function of a rule amplifies it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  compileRule,
  functionTable,
  maxMessageResultBytes,
  maxSingleResultBytes,
  RuleCompileError,
} from '../../src/rules/index.ts'
import { maxCreatedBytes, measureValue, type RuleMap } from '../../src/values/index.ts'
import { MessageResults } from '../../src/actions/results/result-limits.ts'
import { messageWith } from '../rules/evaluate.ts'
import { sampleHost } from '../rules/sample-host.ts'
import { ruleWorld, toConsole } from './rule-world.ts'

const payloadBytes = 1_000
const event = messageWith({ payload: 'x'.repeat(payloadBytes) })

/** `AS a` of the expression again and again, so that values are shared and grow without being created. */
function repeated(start: string, expression: string, times: number): string {
  return `SELECT ${start} AS a${`, ${expression} AS a`.repeat(times)} FROM "t/#"`
}

const nested = repeated('[1]', '[a, a]', 60)

function outputsOf(sql: string): readonly RuleMap[] {
  const result = compileRule(sql).evaluate(event, sampleHost())
  return result.outcome === 'passed' ? result.outputs : []
}

test('one result that shares values, and would be of unlimited size as JSON, stops the rule', (t) => {
  const { world, take, outputsOf: printed, report } = ruleWorld()
  t.after(() => take([]))
  take([
    { id: 'nested', sql: nested, actions: toConsole },
    { id: 'plain', sql: 'SELECT topic FROM "t/#"', actions: toConsole },
  ])
  world.connect('c1').publish('t/1', 'x')
  world.settle()
  assert.deepEqual(printed('nested'), [])
  assert.equal(report('nested')?.counters.exceptions, 1)
  assert.match(report('nested')?.lastError ?? '', /maxSingleResultBytes/)
  assert.deepEqual(printed('plain'), [{ topic: 't/1' }])
})

test('large results of all rules of one message count together, those of about the size of the message do not', () => {
  const results = new MessageResults()
  const padded = outputsOf(`SELECT pad('x', ${maxCreatedBytes / 4}) AS p FROM "t/#"`)
  assert.equal(padded.length, 1)
  const refused = [1, 2, 3, 4, 5].map(() => results.add(padded, 1, event) !== undefined)
  assert.deepEqual(refused, [false, false, false, false, true])
  results.reset()
  assert.equal(results.add(padded, 10, event)?.kind, 'limit', 'each action gets the result')
  const ordinary = outputsOf('SELECT payload AS a, payload AS b FROM "t/#"')
  for (let rule = 0; rule < 10_000; rule++) assert.equal(results.add(ordinary, 1, event), undefined)
  const whole = [{ payload: 'x'.repeat(100_000_000) }]
  assert.equal(results.add(whole, 1, messageWith(whole[0])), undefined, 'a message of any size may be a result')
})

const amplifiers = ['100000', '1000000000', "'x'", 'payload', '[1..1000]', "'&&&&'", "'.. | [., .]'", 'map_new()', 'a']

test('no function makes results of more than the limits, whatever its arguments', () => {
  for (const { name, signatures } of functionTable.values()) {
    const counts = new Set(signatures.flatMap(({ parameters }) => [parameters.length, parameters.length + 1]))
    for (const count of counts) {
      for (const first of amplifiers.keys()) {
        const given = Array.from({ length: count }, (_, index) => amplifiers[(first + index * 2) % amplifiers.length])
        const sql = repeated("'xxxxxxxx'", `${name}(${given.join(', ')})`, 3)
        for (const form of [sql, sql.replace('SELECT', 'FOREACH [1..100] AS e DO')]) checkBounded(form)
      }
    }
  }
})

/** A statement that does not compile, fails or is stopped has no results. */
function checkBounded(sql: string): void {
  let outputs: readonly RuleMap[]
  try {
    outputs = outputsOf(sql)
  } catch (error) {
    assert.ok(error instanceof RuleCompileError, sql)
    return
  }
  if (new MessageResults().add(outputs, 1, event) !== undefined) return
  const maxBytes = outputs.length > 1 ? maxMessageResultBytes : maxSingleResultBytes + 65_536
  assert.ok(measureValue(outputs, Infinity) <= maxBytes, sql)
}
