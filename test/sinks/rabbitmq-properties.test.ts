// Headers and properties of messages for RabbitMQ.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileSinkTemplate } from '../../src/actions/results/compile-sink-template.ts'
import {
  toRabbitmqOptions,
  findPropertiesProblem,
  createPropertiesRenderer,
} from '../../src/sinks/rabbitmq/rabbitmq-properties.ts'

type RabbitmqParameters = Parameters<typeof createPropertiesRenderer>[0]

const pairs = (all: Readonly<Record<string, string>>) =>
  Object.entries(all).map(
    ([key, value]) =>
      new Map([
        ['key', key],
        ['value', value],
      ]),
  )

function parametersOf(headers: Readonly<Record<string, string>>, properties: Readonly<Record<string, string>>) {
  return { headers_template: pairs(headers), properties_template: pairs(properties) } as unknown as RabbitmqParameters
}

function optionsFor(
  headers: Readonly<Record<string, string>>,
  properties: Readonly<Record<string, string>>,
  data: Readonly<Record<string, unknown>>,
) {
  return toRabbitmqOptions(createPropertiesRenderer(parametersOf(headers, properties), compileSinkTemplate)(data))
}

test('names and values of headers and values of properties are templates', () => {
  const options = optionsFor(
    { '${a}-x': 'v ${b}' },
    { content_type: 'text/${a}', priority: '${b}', timestamp: '1700000000', app_id: 'own' },
    { a: 'plain', b: 5 },
  )
  assert.deepEqual(
    { ...options, headers: { ...options.headers } },
    {
      headers: { 'plain-x': 'v 5' },
      contentType: 'text/plain',
      priority: 5,
      timestamp: 1_700_000_000,
      appId: 'own',
    },
  )
  assert.deepEqual(toRabbitmqOptions([['routing_key', 'a']]), {})
})

test('a header named __proto__ is a header', () => {
  assert.deepEqual(Object.keys(optionsFor({ __proto_: 'x', ['__proto__']: 'y' }, {}, {}).headers ?? {}), [
    '__proto_',
    '__proto__',
  ])
})

test('values that cannot be sent fail during rendering', () => {
  assert.throws(() => optionsFor({}, { priority: '${a}' }, { a: 'high' }), /the property priority is "high"/)
  assert.throws(() => optionsFor({}, { priority: '256' }, {}), /from 0 to 255/)
  assert.throws(() => optionsFor({ ['x'.repeat(256)]: '' }, {}, {}), /the name of a header is longer than 255 bytes/)
  assert.throws(() => optionsFor({}, { type: 'x'.repeat(256) }, {}), /the property type is longer than 255 bytes/)
})

test('unknown properties, and those that the broker sets, are refused', () => {
  assert.equal(findPropertiesProblem(parametersOf({}, { content_type: 'a' })), undefined)
  assert.match(
    findPropertiesProblem(parametersOf({}, { message_id: 'a' })) ?? '',
    /no property "message_id" to set: the broker sets message_id/,
  )
  assert.match(findPropertiesProblem(parametersOf({}, { cluster_id: 'a' })) ?? '', /write one of app_id, /)
})
