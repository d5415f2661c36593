// Actions of rules with a Kafka cluster: the mock cluster of librdkafka, which kcat starts and reads.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KafkaCluster } from './kafka-cluster.ts'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, startWith, until } from './sink-stage.ts'

const action = 'kafka_producer:records'

/** A record that is not confirmed in time is written again, so duplicates are possible. */
const configuration = (cluster: KafkaCluster, parameters: string, timeout: string): readonly string[] => [
  `connectors.kafka_producer.plant={bootstrap_hosts="${cluster.servers}",connect_timeout=${timeout}}`,
  `actions.kafka_producer.records={connector=plant,parameters={topic=readings,${parameters}},resource_opts={retry_interval=100ms,max_retries=1,request_timeout=${timeout},health_check_interval=200ms}}`,
  ruleTo(action),
]

test('Kafka gets each record with key, value and headers, and records with the same key in order', async (t) => {
  const cluster = await KafkaCluster.start(t)
  const message = 'message={key="${payload.number}",value="${payload}",headers={from="${topic}"}}'
  const further =
    'kafka_headers="${payload}",kafka_ext_headers=[{kafka_ext_header_key="of ${topic}",kafka_ext_header_value="${payload.number}"}]'
  const { broker, client } = await startWith(t, configuration(cluster, `${message},${further},compression=zstd`, '30s'))
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
  const cluster = await KafkaCluster.start(t)
  const { broker, client } = await startWith(
    t,
    configuration(cluster, 'message={value="${payload}"},max_batch_bytes=16KB', '1s'),
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
