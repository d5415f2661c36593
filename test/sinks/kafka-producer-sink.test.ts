// Batches for Kafka, with a producer in memory: which records are sent together, and the outcome of each.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  KafkaProducerSink,
  kafkaProducerSinkType,
  type KafkaAction,
} from '../../src/sinks/kafka/kafka-producer-sink.ts'
import type { KafkaProducer, KafkaRecord } from '../../src/sinks/kafka/kafka-library.ts'
import type { ActionEntry } from '../../src/sinks/index.ts'
import { compileSinkTemplate } from '../../src/actions/results/compile-sink-template.ts'

/** Errors as the library throws them. */
function kafkaError(type: string): Error {
  const cause = Object.assign(new Error(`Kafka says ${type}`), { type })
  cause.name = 'KafkaJSProtocolError'
  return new Error('the attempts are used up', { cause })
}

class MemoryProducer implements KafkaProducer {
  readonly sent: string[][] = []
  isClosed = false
  readonly #fail: (values: readonly string[]) => Error | undefined

  constructor(fail: (values: readonly string[]) => Error | undefined = () => undefined) {
    this.#fail = fail
  }

  async send(_topic: string, records: readonly KafkaRecord[]): Promise<void> {
    const values = records.map(({ value }) => value.toString())
    const failure = this.#fail(values)
    if (failure !== undefined) throw failure
    this.sent.push(values)
  }

  async check(): Promise<void> {}

  close(): void {
    this.isClosed = true
  }
}

const entries = (values: readonly string[]): readonly ActionEntry[] =>
  values.map((value) => ({ payload: Buffer.from(value), attributes: [['key', 'k']] }))

function sinkWith(open: () => KafkaProducer, maxBatchBytes = 1_000_000): KafkaProducerSink {
  const action = { parameters: { topic: 't', max_batch_bytes: maxBatchBytes } } as KafkaAction
  return new KafkaProducerSink(action, async () => open(), {
    hasFixedTopic: true,
    connectTimeoutMs: 60_000,
    requestTimeoutMs: 60_000,
  })
}

const outcomesOf = async (sink: KafkaProducerSink, values: readonly string[]): Promise<string> =>
  (await sink.write(entries(values))).map(({ outcome }) => outcome).join(' ')

test('a batch is one request', async () => {
  const producer = new MemoryProducer()
  const sink = sinkWith(() => producer)
  assert.equal(await outcomesOf(sink, ['a', 'b', 'c']), 'done done done')
  assert.deepEqual(producer.sent, [['a', 'b', 'c']])
})

test('a batch of more than the maximum bytes is sent as several requests, in order', async () => {
  const producer = new MemoryProducer()
  const sink = sinkWith(() => producer, 1_000)
  const values = ['a', 'b', 'c'].map((letter) => letter.repeat(300))
  assert.equal(await outcomesOf(sink, values), 'done done done')
  assert.deepEqual(
    producer.sent.map((sent) => sent.map(([letter]) => letter)),
    [['a', 'b'], ['c']],
  )
})

test('if Kafka refuses a batch, only the record that is too large is refused', async () => {
  const producer = new MemoryProducer((values) =>
    values.includes('bad') ? kafkaError('MESSAGE_TOO_LARGE') : undefined,
  )
  const sink = sinkWith(() => producer)
  assert.equal(await outcomesOf(sink, ['a', 'b', 'bad', 'c', 'd']), 'done done refused done done')
  assert.deepEqual(producer.sent.flat(), ['a', 'b', 'c', 'd'])
})

test('a record that is larger than the maximum batch is refused without a request', async () => {
  const producer = new MemoryProducer()
  const sink = sinkWith(() => producer, 1_000)
  assert.equal(await outcomesOf(sink, ['a', 'x'.repeat(2_000), 'b']), 'done refused done')
  assert.deepEqual(producer.sent.flat(), ['a', 'b'])
})

test('after a failure, messages without a response are sent again in order, with another producer', async () => {
  const producers: MemoryProducer[] = []
  let isDown = true
  const fail = (values: readonly string[]): Error | undefined =>
    isDown && values.includes('b') ? new Error('connection lost') : undefined
  const sink = sinkWith(() => {
    const producer = new MemoryProducer(fail)
    producers.push(producer)
    return producer
  }, 200)
  assert.equal(await outcomesOf(sink, ['a', 'b', 'c']), 'done retry retry')
  isDown = false
  assert.equal(await outcomesOf(sink, ['b', 'c']), 'done done')
  assert.deepEqual(
    producers.map(({ sent, isClosed }) => [sent.flat().join(''), isClosed]),
    [
      ['a', true],
      ['bc', false],
    ],
  )
})

test('after a temporary error of the cluster, the same client is used', async () => {
  let failures = 1
  const producer = new MemoryProducer(() => (failures-- > 0 ? kafkaError('NOT_LEADER_FOR_PARTITION') : undefined))
  const sink = sinkWith(() => producer)
  assert.equal(await outcomesOf(sink, ['a']), 'retry')
  assert.equal(await outcomesOf(sink, ['a']), 'done')
  assert.equal(producer.isClosed, false)
})

const templated = {
  parameters: {
    topic: 't-${device}',
    max_batch_bytes: 1_000_000,
    message: { key: '', value: '${device}', headers: new Map() },
    kafka_ext_headers: [],
  },
} as unknown as KafkaAction

test('a topic template is rendered for each result; a missing topic does not delay other topics', async () => {
  const sent: [string, readonly string[]][] = []
  const producer: KafkaProducer = {
    send: async (topic, records) => {
      if (topic === 't-gone') throw kafkaError('UNKNOWN_TOPIC_OR_PARTITION')
      sent.push([topic, records.map(({ value }) => value.toString())])
    },
    check: async (topic) => assert.equal(topic, undefined),
    close: () => {},
  }
  const limits = { hasFixedTopic: false, connectTimeoutMs: 60_000, requestTimeoutMs: 60_000 }
  const sink = new KafkaProducerSink(templated, async () => producer, limits)
  assert.equal(kafkaProducerSinkType.findActionProblem(templated, compileSinkTemplate), undefined)
  const render = kafkaProducerSinkType.createRenderer(templated, compileSinkTemplate, () => '')
  const batch = ['a', 'gone', 'b', 'a'].map((device) => render({ device }))
  const outcomes = await sink.write(batch)
  assert.deepEqual(
    outcomes.map(({ outcome }) => outcome),
    ['done', 'refused', 'done', 'done'],
  )
  assert.deepEqual(sent, [
    ['t-a', ['a', 'a']],
    ['t-b', ['b']],
  ])
  assert.equal(await sink.check(), undefined)
  assert.throws(() => render({ device: 'no/topic' }), /kafka: "t-no\/topic" is not a topic name/)
})
