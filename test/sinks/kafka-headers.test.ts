// Headers of records for Kafka, from a column, from pairs of templates and from fixed names.

/* oxlint-disable no-template-curly-in-string -- templates of actions */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJson, type RuleMap } from '../../src/values/index.ts'
import { compileSinkTemplate } from '../../src/actions/results/compile-sink-template.ts'
import { kafkaProducerSinkType, type KafkaAction } from '../../src/sinks/kafka/kafka-producer-sink.ts'

function actionWith(parameters: object): KafkaAction {
  const message = { key: '', value: 'x', headers: new Map([['from', '${topic}']]) }
  return { parameters: { topic: 't', message, kafka_ext_headers: [], ...parameters } } as unknown as KafkaAction
}

function headersOf(parameters: object, data: object): readonly (readonly [string, string])[] {
  const render = kafkaProducerSinkType.createRenderer(actionWith(parameters), compileSinkTemplate, () => '')
  return render(decodeJson(JSON.stringify({ topic: 'a/b', ...data })) as RuleMap).attributes
}

const column = { kafka_headers: '${given}' }

test('a column gives headers, and templates give further ones', () => {
  const pair = new Map([
    ['kafka_ext_header_key', 'of ${clientid}'],
    ['kafka_ext_header_value', '${topic}'],
  ])
  const data = { given: { a: 'b', number: 1, __proto: { x: [true] } }, clientid: 'c' }
  assert.deepEqual(headersOf({ ...column, kafka_ext_headers: [pair] }, data), [
    ['header a', 'b'],
    ['header number', '1'],
    ['header __proto', '{"x":[true]}'],
    ['header from', 'a/b'],
    ['header of c', 'a/b'],
  ])
})

test('the column can be a list of pairs, a JSON text, or absent', () => {
  const pairs = [
    ['header a', '1'],
    ['header a', 'two'],
    ['header from', 'a/b'],
  ]
  const list = [
    { key: 'a', value: 1 },
    { key: 'a', value: 'two' },
  ]
  assert.deepEqual(headersOf(column, { given: list }), pairs)
  assert.deepEqual(headersOf(column, { given: JSON.stringify(list) }), pairs)
  for (const given of [undefined, null, '', {}, []])
    assert.deepEqual(headersOf(column, { given }), [['header from', 'a/b']])
})

test('a column of another form is an error of the action', () => {
  const many = Object.fromEntries(Array.from({ length: 256 }, (_, number) => [`h${number}`, '']))
  for (const [given, error] of [
    [7, /not an object or a list/],
    ['text', /no valid JSON|not valid JSON/],
    [['a'], /item of the list is not an object/],
    [[{ key: 1, value: 'x' }], /key of an item is not text/],
    [{ 'a\n': 'x' }, /name of a header has a control character/],
    [{ a: 'x'.repeat(65_536) }, /the header a is longer/],
    [many, /257 headers; maximum 256/],
  ] as const)
    assert.throws(() => headersOf(column, { given }), { name: 'TypeError', message: error })
})

const problemOf = (kafka_headers: string | undefined) =>
  kafkaProducerSinkType.findActionProblem(actionWith({ kafka_headers }), compileSinkTemplate)

test('kafka_headers must be a single placeholder', () => {
  for (const good of [undefined, '', '${a.b}']) assert.equal(problemOf(good), undefined)
  for (const bad of ['a', '${a}${b}', 'x ${a}'])
    assert.match(problemOf(bad) ?? '', /^parameters\.kafka_headers: write one/)
})
