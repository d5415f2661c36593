// E6 of the contract: the arguments of `republish` are templates, and the publication inherits properties.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RepublishArguments } from '../../src/config/index.ts'
import type { RuleHook } from '../../src/core/index.ts'
import { parseTopicFilter } from '../../src/protocol/index.ts'
import { RuleError, type RuleMap } from '../../src/values/index.ts'
import { compileRepublish } from '../../src/actions/results/republish.ts'
import { World } from '../simulator/world.ts'

const usual: RepublishArguments = {
  topic: 'out/${topic}',
  qos: '${qos}',
  retain: '${retain}',
  payload: '${payload}',
  mqttProperties: {},
  userProperties: '',
}

function publicationOf(output: RuleMap, args: Partial<RepublishArguments> = {}) {
  const make = compileRepublish({ ...usual, ...args })
  const { topic, payload, qos, retain, properties } = make(output, { qos: 2, retain: true })
  return { topic, payload: payload.toString(), qos, retain, properties }
}

test('topic and payload are templates; without a payload all columns are JSON', () => {
  const output = { topic: 'a', payload: { t: 1 }, qos: 1, retain: true }
  assert.deepEqual(publicationOf(output), {
    topic: 'out/a',
    payload: '{"t":1}',
    qos: 1,
    retain: true,
    properties: undefined,
  })
  assert.equal(publicationOf(output, { payload: '' }).payload, '{"topic":"a","payload":{"t":1},"qos":1,"retain":true}')
})

test('an undefined or -1 QoS is that of the message; undefined RETAIN is false, and -1 that of the message', () => {
  for (const [args, qos, retain] of [
    [{}, 2, false],
    [{ qos: '-1', retain: '-1' }, 2, true],
    [{ qos: '0', retain: 'true' }, 0, true],
    [{ qos: '1', retain: '0' }, 1, false],
  ] as const) {
    const publication = publicationOf({ topic: 'a' }, args)
    assert.deepEqual([publication.qos, publication.retain], [qos, retain], JSON.stringify(args))
  }
  assert.throws(() => publicationOf({}, { qos: '3' }), /republish: qos "3" is not 0, 1 or 2/)
  assert.throws(() => publicationOf({}, { retain: 'yes' }), /republish: retain "yes" is not true or false/)
})

test('mqtt_properties are templates; those without a value are omitted', () => {
  const mqttProperties = {
    'Payload-Format-Indicator': '1',
    'Message-Expiry-Interval': '${seconds}',
    'Content-Type': 'text/${kind}',
    'Response-Topic': '${missing.name}',
    'Correlation-Data': '${id}',
  }
  const { properties } = publicationOf({ seconds: 60, kind: 'plain', id: 'x1' }, { mqttProperties })
  assert.deepEqual(properties, {
    payloadFormatIndicator: 1,
    messageExpiryIntervalSeconds: 60,
    contentType: 'text/plain',
    correlationData: Buffer.from('x1'),
  })
  assert.throws(
    () => publicationOf({ seconds: 1.5 }, { mqttProperties: { 'Message-Expiry-Interval': '${seconds}' } }),
    /Message-Expiry-Interval 1\.5 is not a number of seconds/,
  )
  assert.throws(() => publicationOf({}, { mqttProperties: { Topic: 'x' } }), /there is no MQTT property "Topic"/)
})

test('user_properties are an object of templates, or one placeholder for a map or a list of {key, value}', () => {
  const output = {
    a: 'x',
    map: { site: 'hall', n: 1 },
    list: [{ key: 'k', value: 'v' }, { key: 'k', value: [2] }, 'other'],
  }
  const pairsOf = (userProperties: RepublishArguments['userProperties']) =>
    publicationOf(output, { userProperties }).properties?.userProperties
  assert.deepEqual(pairsOf({ from: '${a}', fixed: 'y' }), [
    ['from', 'x'],
    ['fixed', 'y'],
  ])
  assert.deepEqual(pairsOf('${map}'), [
    ['site', 'hall'],
    ['n', '1'],
  ])
  assert.deepEqual(pairsOf('${list}'), [
    ['k', 'v'],
    ['k', '[2]'],
  ])
  assert.equal(pairsOf('${missing}'), undefined)
  assert.throws(() => pairsOf('${a}'), /user_properties is neither a map nor a list/)
})

test('the topic does not follow a client ID or user name to other levels, nor any value to a topic of the broker', () => {
  for (const value of ['+', '#', 'alice/cmd', '$ns', '', 'a\u0001', undefined])
    for (const name of ['clientid', 'username'])
      assert.throws(
        () => publicationOf({ [name]: value }, { topic: `devices/\${${name}}/state` }),
        /is not a part of a topic/,
      )
  assert.equal(publicationOf({ clientid: 'a$&b' }, { topic: 'devices/${clientid}/state' }).topic, 'devices/a$&b/state')
  for (const topic of ['${payload.to}', '${payload.to}/x', '$delayed/1/${payload.to}'])
    assert.throws(() => publicationOf({ payload: { to: '$ns/other' } }, { topic }), /one of the broker/)
  assert.equal(publicationOf({ payload: { to: 'a/b' } }, { topic: '$delayed/1/${payload.to}' }).topic, '$delayed/1/a/b')
})

/** As a client can put it into a payload. */
const values = {
  text: 'a',
  wildcard: 'a/+/b',
  zero: 'a\0b',
  longest: 'x'.repeat(65_535),
  'too long': 'x'.repeat(65_536),
  'too long in UTF-8': 'é'.repeat(40_000),
}

const ways: Readonly<Record<string, Partial<RepublishArguments>>> = {
  'Content-Type': { mqttProperties: { 'Content-Type': '${v}' } },
  'Response-Topic': { mqttProperties: { 'Response-Topic': '${v}' } },
  'Correlation-Data': { mqttProperties: { 'Correlation-Data': '${v}' } },
  'value of a user property': { userProperties: { k: '${v}' } },
  'value of a map': { userProperties: '${map}' },
  'name in a map': { userProperties: '${names}' },
  'value in a list': { userProperties: '${list}' },
}

for (const [way, args] of Object.entries(ways)) {
  for (const [kind, v] of Object.entries(values)) {
    test(`a value in a property is sent, or the action fails; it never ends the shard: ${way}, ${kind}`, () => {
      const output = { topic: 'a', v, map: { k: v }, names: { [v]: 'x' }, list: [{ key: 'k', value: v }] }
      const isRefused =
        kind.startsWith('too long') ||
        (way === 'Response-Topic' && kind === 'wildcard') ||
        (way !== 'Correlation-Data' && kind === 'zero')
      let failure = ''
      const make = compileRepublish({ ...usual, topic: 'out', qos: '1', ...args })
      const ruleHook: RuleHook = {
        run: (_, message, actions) => {
          if (message.topic.name !== 'in') return 0
          try {
            assert.equal(actions.publish(make(output, { qos: 1, retain: false })), undefined)
          } catch (error) {
            if (!(error instanceof RuleError)) throw error
            failure = error.message
          }
          return 0
        },
        runTriggers: (triggers) => triggers.length,
        recordLost: () => undefined,
      }
      const world = new World({ shards: 1, host: { ruleHook: () => ruleHook } })
      const filter = parseTopicFilter('in') ?? assert.fail()
      world.host.handle({ kind: 'rules', rules: [[filter, { id: 'r', actionQueues: [] }]], triggers: new Set() })
      const reader = world.subscriber('out', { qos: 1, version: 5 })
      world.connect('author').publish('in', 'x', { qos: 1 })
      if (isRefused) assert.match(failure, /^republish: .+(?:longer than 65535 bytes|U\+0000|not a topic name)$/)
      else assert.equal(failure, '')
      assert.equal(reader.messages.length, isRefused ? 0 : 1)
    })
  }
}

test('[MQTT5-3.3.2-4] a payload that is not UTF-8 is not published with Payload-Format-Indicator 1', () => {
  const args = { mqttProperties: { 'Payload-Format-Indicator': '${format}' } }
  const bytes = new Uint8Array([0xff, 0xfe])
  const output = { topic: 'a', payload: bytes, qos: 1, retain: false }
  assert.throws(
    () => publicationOf({ ...output, format: 1 }, args),
    (error) =>
      error instanceof RuleError && /the payload is not UTF-8, and Payload-Format-Indicator is 1/.test(error.message),
  )
  assert.equal(publicationOf({ ...output, format: 0 }, args).properties?.payloadFormatIndicator, 0)
  assert.equal(publicationOf({ ...output, payload: 'ä', format: '1' }, args).properties?.payloadFormatIndicator, 1)
  assert.throws(
    () => publicationOf({ ...output, format: 'text' }, args),
    /Payload-Format-Indicator "text" is not 0 or 1/,
  )
})
