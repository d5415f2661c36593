// Part E7 of the contract: SQL of version 3.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileRule, convertRuleSql, RuleCompileError } from '../../src/rules/index.ts'

const cases: readonly [old: string, converted: string][] = [
  // The two examples of the contract.
  [`SELECT * FROM "message.publish" WHERE topic =~ 't/#' and qos = 1`, `SELECT * FROM "t/#" WHERE qos = 1`],
  ['SELECT client_id FROM "client.connected"', 'SELECT clientid FROM "$events/client_connected"'],
  // The filter can be any operand of the top-level AND, also in parentheses.
  [`SELECT * FROM "message.publish" WHERE qos = 1 AND topic = 't'`, `SELECT * FROM "t" WHERE qos = 1`],
  [
    `SELECT * FROM "message.publish" WHERE qos = 1 AND (topic =~ 'a/+') AND retain`,
    `SELECT * FROM "a/+" WHERE qos = 1 AND retain`,
  ],
  [`SELECT * FROM "message.publish" WHERE topic =~ 't/#'`, `SELECT * FROM "t/#"`],
  [`SELECT *\nFROM "message.publish"\nWHERE\n  topic =~ 't/#'\n`, `SELECT *\nFROM "t/#"\n`],
  // Without a filter, or if the condition can be true without it, the rule applies to every message.
  ['SELECT * FROM "message.publish"', 'SELECT * FROM "#"'],
  [`SELECT * FROM "message.publish" WHERE topic = 't' OR qos = 1`, `SELECT * FROM "#" WHERE topic = 't' OR qos = 1`],
  [
    `SELECT * FROM "message.publish" WHERE qos = 1 OR retain AND topic = 't'`,
    `SELECT * FROM "#" WHERE qos = 1 OR retain AND topic = 't'`,
  ],
  [`SELECT * FROM "message.publish" WHERE NOT topic = 't'`, `SELECT * FROM "#" WHERE NOT topic = 't'`],
  [`SELECT * FROM "message.publish" WHERE topic = 'a/#'`, `SELECT * FROM "#" WHERE topic = 'a/#'`],
  [`SELECT * FROM "message.publish" WHERE 't' = topic`, `SELECT * FROM "#" WHERE 't' = topic`],
  // With a second source, the condition is not changed.
  [
    `SELECT * FROM "message.publish", "client.connected" WHERE topic = 't'`,
    `SELECT * FROM "#", "$events/client_connected" WHERE topic = 't'`,
  ],
  ['SELECT * FROM "message.acked"', 'SELECT * FROM "$events/message_acked"'],
  ['SELECT * FROM "message.deliver"', 'SELECT * FROM "$events/message_delivered"'],
  ['SELECT * FROM "message.delivered"', 'SELECT * FROM "$events/message_delivered"'],
  ['SELECT * FROM "message.dropped"', 'SELECT * FROM "$events/message_dropped"'],
  ["SELECT * FROM 'client.disconnected'", 'SELECT * FROM "$events/client_disconnected"'],
  ['SELECT * FROM "client.subscribe"', 'SELECT * FROM "$events/session_subscribed"'],
  ['SELECT * FROM "client.unsubscribe"', 'SELECT * FROM "$events/session_unsubscribed"'],
  // client_id is a column; in a text, in quotes or behind a dot it is something else.
  [
    `SELECT client_id AS id, payload.client_id, 'client_id' FROM "client.connected" WHERE client_id = 'client_id'`,
    `SELECT clientid AS id, payload.client_id, 'client_id' FROM "$events/client_connected" WHERE clientid = 'client_id'`,
  ],
]

describe('E7', () => {
  for (const [old, converted] of cases) {
    test(old, () => {
      const result = convertRuleSql(old)
      assert.equal(result.sql, converted)
      assert.notEqual(result.notes.length, 0)
      compileRule(result.sql)
    })
  }

  test('SQL of version 4 is not changed, and has no notes', () => {
    for (const sql of [
      'SELECT client_id FROM "t/#"',
      'SELECT * FROM "$events/client_connected"',
      `SELECT * FROM "t" WHERE topic =~ 't/#'`,
      '',
      'SELECT',
    ]) {
      assert.deepEqual(convertRuleSql(sql), { sql, notes: [] })
    }
  })

  test('a second conversion changes nothing', () => {
    for (const [old] of cases) {
      const { sql } = convertRuleSql(old)
      assert.deepEqual(convertRuleSql(sql), { sql, notes: [] })
    }
  })

  test('a text that is not SQL causes a compile error', () => {
    assert.throws(() => convertRuleSql("SELECT 'x FROM t"), RuleCompileError)
  })
})
