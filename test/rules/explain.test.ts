import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileRule, explainRule, toEventFields, RuleEvent, type RuleExplanation } from '../../src/rules/index.ts'
import type { RuleMap } from '../../src/values/index.ts'
import { sampleHost } from './sample-host.ts'

function explain(sql: string, columns: RuleMap): RuleExplanation {
  const event = new RuleEvent(toEventFields('message.publish', { topic: 't/a', qos: 1, ...columns }))
  return explainRule(compileRule(sql), event, sampleHost())
}

describe('explain', () => {
  test('for an event: both spellings match it, and the condition shows its columns', () => {
    const sql = `SELECT clientid FROM "$events/client/disconnected", "a" WHERE reason <> 'normal'`
    const columns = { clientid: 'c1', reason: 'normal' }
    const found = explainRule(
      compileRule(sql),
      new RuleEvent(toEventFields('client.disconnected', columns)),
      sampleHost(),
    )
    assert.equal(found.outcome, 'condition-false')
    assert.deepEqual(found.sources, [
      { text: '$events/client/disconnected', matches: true },
      { text: 'a', matches: false },
    ])
    assert.ok(found.condition.some(({ text, value }) => text === 'reason' && value === '"normal"'))
  })

  test('for a message that no source of FROM matches', () => {
    const result = explain('SELECT * FROM "x/#", "$events/client_connected"', {})
    assert.equal(result.outcome, 'no-source')
    assert.equal(result.summary, "No source in FROM matches this: event message.publish, topic 't/a'.")
    assert.deepEqual(result.sources, [
      { text: 'x/#', matches: false },
      { text: '$events/client_connected', matches: false },
    ])
  })

  test('for a false WHERE: the values of its parts, with their positions', () => {
    const sql = 'SELECT payload.t AS t\nFROM "t/#"\nWHERE t > 20 AND NOT (qos IN (0, 1) OR upper(clientid) = \'X\')'
    const result = explain(sql, { payload: '{"t":25.5}', clientid: 'x' })
    assert.equal(result.outcome, 'condition-false')
    assert.match(result.summary, /^WHERE is false: t > 20 AND NOT/)
    assert.deepEqual(
      result.condition.map(({ text, value, depth }) => [depth, text, value]),
      [
        [0, "t > 20 AND NOT (qos IN (0, 1) OR upper(clientid) = 'X')", 'false'],
        [1, 't > 20', 'true'],
        [2, 't', '25.5'],
        [1, "NOT (qos IN (0, 1) OR upper(clientid) = 'X')", 'false'],
        [2, "(qos IN (0, 1) OR upper(clientid) = 'X')", 'true'],
        [3, 'qos IN (0, 1)', 'true'],
        [4, 'qos', '1'],
        [3, "upper(clientid) = 'X'", 'true'],
        [4, 'upper(clientid)', '"X"'],
        [5, 'clientid', '"x"'],
      ],
    )
    const [whole, first] = result.condition
    assert.deepEqual([whole.line, whole.column, first.line, first.column], [3, 7, 3, 7])
  })

  test('a part that fails shows its error; a missing value is undefined', () => {
    const result = explain('SELECT qos FROM "t/#" WHERE missing = 1 OR payload.x = 1', { payload: 'no JSON' })
    assert.equal(result.outcome, 'failed')
    assert.match(result.summary, /^The rule failed: the payload is not JSON/)
    assert.deepEqual(result.condition.map(({ text, value }) => [text, value.slice(0, 31)]).slice(1), [
      ['missing = 1', 'false'],
      ['missing', 'undefined'],
      ['payload.x = 1', 'error: the payload is not JSON:'],
      ['payload.x', 'error: the payload is not JSON:'],
    ])
  })

  test('for a field with an error: the error, and no values of the condition', () => {
    const result = explain('SELECT 1 / 0 FROM "t/#" WHERE qos = 1', {})
    assert.equal(result.outcome, 'failed')
    assert.equal(result.error?.message, 'division by zero')
    assert.deepEqual(result.condition, [])
  })

  test('for a match: the outputs of the rule', () => {
    const result = explain('SELECT qos FROM "t/#" WHERE qos = 1', {})
    assert.equal(result.outcome, 'passed')
    assert.deepEqual(result.outputs, [{ qos: 1 }])
  })

  test('for FOREACH without items', () => {
    const result = explain('FOREACH [1, 2] AS e INCASE e > 2 FROM "t/#" WHERE true', {})
    assert.equal(result.outcome, 'no-items')
    assert.match(result.summary, /no items/)
  })

  test('long values are truncated', () => {
    const result = explain('SELECT qos FROM "t/#" WHERE payload = \'y\'', { payload: 'x'.repeat(1_000) })
    assert.equal(result.condition[1].value.length, 201)
  })
})
