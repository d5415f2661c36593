// Part E2 of the contract, and the part "Events" of the specification: the sources after FROM.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  listColumns,
  compileRule,
  eventDefinitions,
  getSample,
  testRule,
  type EventName,
} from '../../src/rules/index.ts'
import { compileErrorOf, outputOf } from './evaluate.ts'
import { sampleHost } from './sample-host.ts'

const publish = [
  'id',
  'payload',
  'peerhost',
  'peername',
  'topic',
  'qos',
  'flags',
  'headers',
  'pub_props',
  'publish_received_at',
]
const delivery = [...publish, 'from_clientid', 'from_username']
const connection = [
  'mountpoint', 'peername', 'sockname', 'proto_name', 'proto_ver', 'keepalive', 'clean_start', 'expiry_interval', 'is_bridge',
  'connected_at', 'conn_props',
] // oxfmt-ignore
const client = ['clientid', 'username', 'client_attrs']

/** The table of the contract. */
const wanted: readonly [EventName, topic: string, columns: string[]][] = [
  ['message.delivered', '$events/message_delivered', [...client, ...delivery]],
  ['message.acked', '$events/message_acked', [...client, ...delivery, 'puback_props']],
  ['message.dropped', '$events/message_dropped', [...client, ...publish, 'reason']],
  ['delivery.dropped', '$events/delivery_dropped', [...client, ...delivery, 'reason']],
  ['client.connected', '$events/client_connected', [...client, ...connection]],
  [
    'client.disconnected',
    '$events/client_disconnected',
    [...client, 'reason', 'peername', 'sockname', 'disconnected_at', 'disconn_props'],
  ],
  ['client.connack', '$events/client_connack', [...client, ...connection, 'reason_code']],
  [
    'client.check_authz_complete',
    '$events/client_check_authz_complete',
    [...client, 'peerhost', 'topic', 'action', 'result', 'authz_source'],
  ],
  [
    'client.check_authn_complete',
    '$events/client_check_authn_complete',
    [...client, 'peername', 'reason_code', 'is_superuser', 'is_anonymous'],
  ],
  ['session.subscribed', '$events/session_subscribed', [...client, 'peerhost', 'topic', 'qos', 'sub_props']],
  ['session.unsubscribed', '$events/session_unsubscribed', [...client, 'peerhost', 'topic', 'qos', 'unsub_props']],
  ['alarm.activated', '$events/sys/alarm_activated', ['name', 'message', 'details', 'activated_at']],
  [
    'alarm.deactivated',
    '$events/sys/alarm_deactivated',
    ['name', 'message', 'details', 'activated_at', 'deactivated_at'],
  ],
]

describe('E2 events', () => {
  for (const [event, topic, columns] of wanted) {
    test(`${topic} has its own columns and the common ones`, () => {
      const common = ['event', 'timestamp', 'node', 'metadata']
      assert.deepEqual(listColumns(event).toSorted(), [...new Set([...common, ...columns])].toSorted())
      assert.equal(eventDefinitions.get(event)?.topic, topic)
      assert.deepEqual(compileRule(`SELECT * FROM "${topic}"`).events, [event])
    })

    test(`a rule on ${topic} runs on its sample and sees every column`, () => {
      const output = JSON.parse(outputOf(`SELECT * FROM "${topic}"`)) as Record<string, unknown>
      assert.deepEqual(Object.keys(output).toSorted(), listColumns(event).toSorted())
      assert.equal(output['event'], event)
      assert.deepEqual(output['metadata'], { rule_id: 'sql_test' })
    })
  }

  test('a topic filter is the event message.publish', () => {
    const rule = compileRule('SELECT * FROM "t/#", \'$SYS/#\'')
    assert.deepEqual(rule.topicFilters, ['t/#', '$SYS/#'])
    assert.deepEqual(rule.events, [])
    assert.deepEqual(
      listColumns('message.publish').toSorted(),
      ['event', 'timestamp', 'node', 'metadata', ...client, ...publish].toSorted(),
    )
  })

  test('$SYS messages run only rules that name $SYS', () => {
    assert.equal(outputOf('SELECT topic FROM "#"', { topic: '$SYS/uptime' }), 'no match')
    assert.equal(outputOf('SELECT topic FROM "$SYS/#"', { topic: '$SYS/uptime' }), '{"topic":"$SYS/uptime"}')
  })

  test('other spellings are accepted: those of the specification, of EMQX 4.4 and with slashes', () => {
    const spellings: [string, EventName][] = [
      ['$events/session_subscribe', 'session.subscribed'],
      ['$events/session_unsubscribe', 'session.unsubscribed'],
      ['$events/client_check_acl_complete', 'client.check_authz_complete'],
      ['$events/client/connected', 'client.connected'],
      ['$events/auth/check_authn_complete', 'client.check_authn_complete'],
      ['$events/auth/check_authz_complete', 'client.check_authz_complete'],
      ['$events/message/delivered', 'message.delivered'],
      ['$events/message/acked', 'message.acked'],
      ['$events/message/dropped', 'message.dropped'],
      ['$events/message/delivery_dropped', 'delivery.dropped'],
      ['$events/session/subscribed', 'session.subscribed'],
    ]
    for (const [text, event] of spellings) {
      assert.deepEqual(compileRule(`SELECT * FROM "${text}"`).events, [event], text)
    }
  })

  test('each event has a spelling with a slash, and each spelling refers to its event', () => {
    for (const [event, { topic, otherTopics }] of eventDefinitions) {
      for (const other of otherTopics) assert.deepEqual(compileRule(`SELECT * FROM "${other}"`).events, [event], other)
      const isEvent = topic.startsWith('$events/')
      assert.equal(
        otherTopics.some((other) => /^\$events\/\w+\/\w+$/.test(other)),
        isEvent,
        event,
      )
    }
  })

  test('an event that does not exist is a compile error with a suggestion', () => {
    const error = compileErrorOf('SELECT *\nFROM "$events/client_conected"')
    assert.equal(error.line, 2)
    assert.equal(error.column, 6)
    assert.equal(error.hint, 'did you mean $events/client_connected?')
    assert.match(compileErrorOf('SELECT * FROM "$events/x"').hint, /^events: /)
  })

  test('an invalid topic filter is a compile error', () => {
    for (const text of ['a/#/b', 'a+', '', '$share/g/t', '$exclusive/t', 'a#']) {
      assert.match(compileErrorOf(`SELECT * FROM "${text}"`).summary, /is not a topic filter/, text)
    }
  })

  test('a column that no source has causes a warning, not an error', () => {
    const rule = compileRule('SELECT clientid, clietnid, reason, undefined FROM "t/#", "$events/client_disconnected"')
    assert.deepEqual(
      rule.warnings.map(({ kind, line, column, hint }) => [kind, line, column, hint]),
      [['unknown-column', 1, 18, 'did you mean clientid?']],
    )
    assert.deepEqual(compileRule('SELECT 1 AS x, x + 1 AS y FROM "t/#" WHERE y > 1').warnings, [])
    assert.deepEqual(compileRule('FOREACH payload.l DO item.x INCASE item.y FROM "t/#"').warnings, [])
  })

  test('unknown functions and wrong numbers of arguments cause warnings with the position and a suggestion', () => {
    const { warnings } = compileRule('SELECT uper(clientid),\n  substr(clientid) FROM "t/#"')
    assert.deepEqual(
      warnings.map(({ kind, line, column }) => [kind, line, column]),
      [
        ['unknown-function', 1, 8],
        ['wrong-argument-count', 2, 3],
      ],
    )
    assert.equal(warnings[0].hint, 'did you mean upper?')
    assert.match(warnings[1].hint, /^substr\(text: text, start: integer\) or substr/)
  })

  test('an event of version 3 after FROM is a topic filter with a warning', () => {
    const rule = compileRule('SELECT * FROM "client.connected"')
    assert.deepEqual(rule.topicFilters, ['client.connected'])
    assert.equal(rule.warnings[0].kind, 'old-event-name')
  })

  test('every event has a title, a description, an example that compiles, and a test form with known columns', () => {
    for (const definition of eventDefinitions.values()) {
      assert.deepEqual(compileRule(definition.sqlExample).warnings, [], definition.name)
      assert.notEqual(definition.title, '')
      assert.match(definition.description, /\.$/)
      const columns = Object.keys(getSample(definition.name))
      for (const column of Object.keys(definition.testColumns)) {
        assert.ok(columns.includes(column), `${definition.name}: ${column}`)
      }
      assert.equal(testRule(definition.sqlExample, {}, sampleHost()).outcome, 'passed')
    }
  })
})
