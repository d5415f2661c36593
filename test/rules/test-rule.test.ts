// Part E6 of the contract, the test of SQL, and the evaluation in part E5.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  compileRule,
  toEventFields,
  RuleCompileError,
  RuleEvent,
  testRule,
  toJsonText,
  type EventFields,
} from '../../src/rules/index.ts'
import { messageWith, outputOf } from './evaluate.ts'
import { sampleHost } from './sample-host.ts'

/** Counts how often columns are read. */
function countingFields(payload: string): { fields: EventFields; reads: string[] } {
  const reads: string[] = []
  const fields = toEventFields('message.publish', { topic: 't/a', payload, qos: 1 })
  return {
    reads,
    fields: {
      ...fields,
      readColumn: (name) => {
        reads.push(name)
        return fields.readColumn(name)
      },
    },
  }
}

describe('E6 SQL test', () => {
  test('columns come from the context, extra ones too, missing ones from the sample', () => {
    assert.equal(
      outputOf('SELECT qos, extra, username FROM "t/#"', { qos: 2, extra: 'x' }),
      '{"qos":2,"extra":"x","username":"u_sample"}',
    )
  })

  test('a payload is a text, or an object that stands for its JSON', () => {
    assert.equal(
      outputOf('SELECT payload.x AS x, payload FROM "t/#"', { payload: '{"x":1}' }),
      '{"x":1,"payload":"{\\"x\\":1}"}',
    )
    assert.equal(
      outputOf('SELECT payload.x AS x, payload FROM "t/#"', { payload: { x: 1 } }),
      '{"x":1,"payload":"{\\"x\\":1}"}',
    )
    assert.equal(outputOf('SELECT payload[1] AS x FROM "t/#"', { payload: [5] }), '{"x":5}')
  })

  test('a message whose topic does not match gives no match', () => {
    assert.equal(outputOf('SELECT * FROM "a/#"', { topic: 't/1' }), 'no match')
    assert.equal(outputOf('SELECT topic FROM "a/#"', { topic: 'a' }), '{"topic":"a"}')
  })

  test('the event comes from event or event_type, else from FROM', () => {
    const sql = 'SELECT event, reason FROM "$events/client_disconnected", "t/#"'
    assert.equal(outputOf(sql, { reason: 'kicked' }), '{"event":"client.disconnected","reason":"kicked"}')
    for (const name of ['client.disconnected', 'client_disconnected', '$events/client_disconnected']) {
      assert.equal(outputOf(sql, { event: name, reason: 'x' }), '{"event":"client.disconnected","reason":"x"}')
      assert.equal(outputOf(sql, { event_type: name, reason: 'x' }), '{"event":"client.disconnected","reason":"x"}')
    }
    assert.equal(outputOf(sql, { event_type: 'message_publish', topic: 't/1' }), '{"event":"message.publish"}')
    assert.equal(outputOf(sql, { event_type: 'client_connected' }), 'no match')
    assert.equal(outputOf(sql, { event_type: 'nothing' }), 'error: the context names no known event')
    assert.equal(outputOf('SELECT event_type FROM "t/#"', { event_type: 'message_publish' }), '{}')
  })

  test('SELECT gives an object, FOREACH an array, which is empty where there are no items; WHERE decides about the match', () => {
    assert.equal(outputOf('FOREACH [1] AS e DO e FROM "t/#"'), '[{"e":1}]')
    assert.equal(outputOf('FOREACH [] AS e DO e FROM "t/#"'), '[]')
    assert.equal(outputOf('FOREACH qos AS e DO e FROM "t/#"'), '[]')
    assert.equal(outputOf('FOREACH [1] AS e DO e INCASE e > 1 FROM "t/#"'), '[]')
    assert.equal(outputOf('FOREACH [1] AS e DO e FROM "t/#" WHERE qos > 5'), 'no match')
    assert.equal(outputOf('FOREACH [] AS e DO e FROM "t/#" WHERE qos > 5'), 'no match')
  })

  test('undefined is left out, bytes that are not UTF-8 are {"$base64":…}, floats keep their decimal', () => {
    assert.equal(
      outputOf('SELECT x1 AS a, 2.0 AS f, payload FROM "t/#"', { payload: Buffer.of(0xfe) }),
      '{"f":2.0,"payload":{"$base64":"/g=="}}',
    )
    assert.equal(toJsonText([undefined, 1n << 64n]), '[null,18446744073709551616]')
  })

  test('SQL that is not a rule throws, an error of the evaluation is a result', () => {
    assert.throws(() => testRule('SELECT', {}, sampleHost()), RuleCompileError)
    assert.equal(testRule('SELECT 1 / 0 FROM "t/#"', {}, sampleHost()).outcome, 'failed')
  })
})

describe('evaluation', () => {
  test('the payload is read and decoded once for all rules, and only if a rule uses it', () => {
    const { fields, reads } = countingFields('{"x":{"y":1}}')
    const event = new RuleEvent(fields)
    const host = sampleHost()
    compileRule('SELECT qos FROM "t/#"').evaluate(event, host)
    assert.deepEqual(reads, ['qos'])
    const rule = compileRule('SELECT payload.x AS x FROM "t/#" WHERE payload.x.y = 1')
    const [first, second] = [rule.evaluate(event, host), rule.evaluate(event, host)]
    assert.deepEqual(reads, ['qos', 'payload'])
    assert.ok(first.outcome === 'passed' && second.outcome === 'passed')
    assert.equal(first.outputs[0]['x'], second.outputs[0]['x'], 'the same decoded object')
  })

  test('a rule cannot change the values of another rule', () => {
    const event = messageWith({ payload: '{"a":{"b":1},"l":[1,2]}' })
    const host = sampleHost()
    const changing = compileRule('SELECT payload AS p, 9 AS p.a.b, 8 AS p.l[1], 7 AS payload.a.b, p FROM "t/#"')
    const reading = compileRule('SELECT payload.a.b AS b, payload.l AS l FROM "t/#"')
    assert.equal(changing.evaluate(event, host).outcome, 'passed')
    assert.deepEqual(reading.evaluate(event, host), { outcome: 'passed', outputs: [{ b: 1, l: [1, 2] }] })
  })

  test('metadata.rule_id is the identifier of the rule', () => {
    const rule = compileRule('SELECT metadata.rule_id AS id FROM "t/#"', { ruleId: 'my_rule' })
    assert.deepEqual(rule.evaluate(messageWith({}), sampleHost()), { outcome: 'passed', outputs: [{ id: 'my_rule' }] })
  })

  test('an unexpected error ends only the evaluation, as an internal error', () => {
    const host = sampleHost({
      uuid: () => {
        throw new TypeError('broken host')
      },
    })
    const result = compileRule('SELECT uuid_v4() FROM "t/#"').evaluate(messageWith({}), host)
    assert.ok(result.outcome === 'failed')
    assert.equal(result.error.kind, 'internal')
    assert.equal(result.error.message, 'TypeError: broken host')
  })
})
