// Actions and sources of rules with a Kafka cluster. The offset of a record is committed when the results of its rules are stored. The
// cluster is the mock cluster of librdkafka, which kcat starts and reads.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { startBroker, temporaryFolder } from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { longTest } from '../test-length.ts'
import { KafkaCluster } from './kafka-cluster.ts'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, shareSinks, until } from './sink-stage.ts'

const startWith = shareSinks()

/** A record that is not confirmed in time is written again, so duplicates are possible. */
const actionTo = (name: string, cluster: KafkaCluster, parameters: string, timeout: string): readonly string[] => [
  `connectors.kafka_producer.plant={bootstrap_hosts="${cluster.servers}",connect_timeout=${timeout}}`,
  `actions.kafka_producer.${name}={connector=plant,parameters={topic=readings,${parameters}},resource_opts={retry_interval=100ms,max_retries=1,request_timeout=${timeout},health_check_interval=200ms}}`,
  ruleTo(`kafka_producer:${name}`),
]

test('Kafka gets each record with key, value and headers, and records with the same key in order', async (t) => {
  const action = 'kafka_producer:columns'
  const cluster = await KafkaCluster.start(t)
  const message = 'message={key="${payload.number}",value="${payload}",headers={from="${topic}"}}'
  const further =
    'kafka_headers="${payload}",kafka_ext_headers=[{kafka_ext_header_key="of ${topic}",kafka_ext_header_value="${payload.number}"}]'
  const { broker, client } = await startWith(
    t,
    actionTo('columns', cluster, `${message},${further},compression=zstd`, '30s'),
  )
  for (let round = 0; round < 5; round++) await publishAll(client, 0, 40)
  await until(broker, action, async () => (await cluster.read('readings')).length >= 200)
  const records = await cluster.read('readings')
  assert.equal(records.length, 200)
  assert.ok(
    hasAllNumbers(
      records.map(({ value }) => value),
      40,
    ),
  )
  const partitionsOfKey = Map.groupBy(records, ({ key }) => key)
  for (const [key, all] of partitionsOfKey)
    assert.equal(new Set(all.map(({ partition }) => partition)).size, 1, `the key ${key} is in one partition`)
  assert.ok(new Set(records.map(({ partition }) => partition)).size > 1, 'the keys are in several partitions')
  const { number } = JSON.parse(records[0].value) as { number: number }
  const columns = Object.entries(JSON.parse(records[0].value) as Record<string, unknown>)
    .flat()
    .map(String)
  assert.deepEqual(records[0].headers, [...columns, 'from', 'readings/1', 'of readings/1', String(number)])
})

test('records are queued while Kafka is unreachable or silent, and all arrive; one that is too large becomes a dead letter', async (t) => {
  const action = 'kafka_producer:queued'
  const cluster = await KafkaCluster.start(t)
  const { broker, client } = await startWith(
    t,
    actionTo('queued', cluster, 'message={value="${payload}"},max_batch_bytes=16KB', '1s'),
  )
  await until(broker, action, async () => (await actionView(broker, action)).status === 'connected')
  await publishAll(client, 0, 50)
  await cluster.set('refusing')
  await publishAll(client, 50, 100)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await cluster.set('forwarding')
  await until(broker, action, async () => (await cluster.read('readings')).length >= 100)
  await cluster.set('silent')
  await publishAll(client, 100, 150)
  await until(broker, action, async () => (await actionView(broker, action)).status !== 'connected')
  await cluster.set('forwarding')
  await client.publishAsync('readings/1', JSON.stringify({ text: 'x'.repeat(20_000) }), { qos: 1 })
  await publishAll(client, 150, 200)
  await until(broker, action, async () =>
    hasAllNumbers(
      (await cluster.read('readings')).map(({ value }) => value),
      200,
    ),
  )
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 1)
  const [letter] = await deadLettersOf(broker, action)
  assert.match(letter.reason, /max_batch_bytes is 16384/)
})

const persistent = (clientId: string): mqtt.IClientOptions => ({
  clientId,
  clean: false,
  protocolVersion: 5,
  reconnectPeriod: 0,
  properties: { sessionExpiryInterval: 3_600 },
})

const sourceOf = (cluster: KafkaCluster): readonly string[] => [
  'node.shards=2',
  `connectors.kafka_consumer.plant={bootstrap_hosts="${cluster.servers}",connect_timeout=1s}`,
  'sources.kafka_consumer.readings={connector=plant,parameters={topic=readings,offset_reset_policy=earliest,session_timeout=6000}}',
  'rule_engine.rules.all={sql="SELECT * FROM \\"$bridges/kafka_consumer:readings\\"",actions=[{function=republish,args={topic="from/${topic}",qos=1,payload="${value} ${key} ${offset}"}}]}',
]

/** Adds the payloads that a persistent session receives, by their numbers, until there are `count`. Records may be duplicated. */
async function receive(port: number, received: Map<string, string>, count: number): Promise<void> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, persistent('offline'))
  await new Promise<void>((resolve) => {
    client.on('message', (_topic, payload) => {
      const [number] = payload.toString().split(' ')
      received.set(number, payload.toString())
      if (received.size >= count) resolve()
    })
  })
  await client.endAsync(true)
}

const numbersFrom = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => String(from + index))

test('records of Kafka run rules, and none is lost if the broker is killed or Kafka is unavailable', async (t) => {
  const cluster = await KafkaCluster.start(t)
  await cluster.write('readings', numbersFrom(0, 1_000), 'k')
  const dataDirectory = await temporaryFolder(t)
  const start = () => startBroker(t, { dataDirectory, set: sourceOf(cluster) })
  // The source must not connect before the session exists.
  await cluster.set('refusing')
  let reading = await start()
  const firstConnection = await mqtt.connectAsync(`mqtt://127.0.0.1:${reading.port}`, persistent('offline'))
  await firstConnection.subscribeAsync('from/readings', { qos: 1 })
  await firstConnection.endAsync()
  await cluster.set('forwarding')
  const received = new Map<string, string>()
  await receive(reading.port, received, 250)
  assert.match(received.values().next().value ?? '', /^\d+ k \d+$/)
  await reading.process.stop('SIGKILL')
  reading = await start()
  await cluster.write('readings', numbersFrom(1_000, 1_250), 'k')
  await cluster.set('refusing')
  await cluster.set('forwarding')
  await receive(reading.port, received, 1_250)
  assert.deepEqual(
    [...received.keys()].map(Number).toSorted((a, b) => a - b),
    numbersFrom(0, 1_250).map(Number),
  )
})

// Daily: Kafka becomes unavailable in the test above.
longTest(
  'a Kafka source is shown as disconnected while Kafka is unavailable, and as connected afterwards',
  async (t) => {
    const cluster = await KafkaCluster.start(t)
    await cluster.write('readings', ['1'])
    await cluster.set('refusing')
    const broker = await startBrokerWithApi(t, { set: sourceOf(cluster) })
    const untilStatus = async (status: string): Promise<{ readonly status_reason: string }> => {
      for (;;) {
        const { json } = await broker.request('/api/v5/sources/kafka_consumer:readings')
        if (json.status === status) return json
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    }
    const { status_reason: reason } = await untilStatus('disconnected')
    assert.notEqual(reason, '')
    const connector = { type: 'kafka_consumer', bootstrap_hosts: cluster.servers, connect_timeout: '1s' }
    const source = { type: 'kafka_consumer', connector: 'plant', parameters: { topic: 'readings' } }
    const probe = async (what: string, body: object): Promise<number> =>
      (await broker.request(`/api/v5/${what}_probe`, { method: 'POST', body })).status
    assert.deepEqual([await probe('connectors', connector), await probe('sources', source)], [400, 400])
    await cluster.set('forwarding')
    await untilStatus('connected')
    assert.deepEqual([await probe('connectors', connector), await probe('sources', source)], [204, 204])
    assert.equal(await probe('sources', { ...source, parameters: { topic: 'a b' } }), 400)
    assert.equal((await broker.request('/api/v5/sources/kafka_consumer:readings/stop', { method: 'POST' })).status, 204)
    assert.equal((await untilStatus('disconnected')).status_reason, 'stopped by an administrator')
    assert.equal(
      (await broker.request('/api/v5/sources/kafka_consumer:readings/start', { method: 'POST' })).status,
      204,
    )
    await untilStatus('connected')
    for (;;) {
      const { json } = await broker.request('/api/v5/sources/kafka_consumer:readings/metrics')
      if (json.metrics.received >= 1) break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  },
)
