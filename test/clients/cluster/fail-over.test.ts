// Two nodes over one PostgreSQL with a synchronous standby: a node takes the shards of another one, which goes on without knowing it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { eventually } from '../../e2e/eventually.ts'
import { eventOf } from '../../e2e/transport-guarantees.ts'
import { findClientId, shards, TwoNodes } from '../../node/cluster/two-nodes.ts'
import { parseStoreUrl, prepareDatabase } from '../../../src/storage/index.ts'
import { startReplicatedDatabase } from '../postgres-store/replicated-database.ts'

const firstLives = ['00000000000000aa', '00000000000000bb']

test('a node that takes the shards of another one has their sessions, and the other one stops serving them', async (t) => {
  const { primary, url } = await startReplicatedDatabase(t)
  const address = parseStoreUrl(url)
  assert.ok(!('problem' in address), url)
  await prepareDatabase({ address, store: 0, stores: 1, shards, clusterId: undefined, isReplicated: false })
  for (const [index, life] of firstLives.entries()) {
    await primary.query(`UPDATE godwit.shards SET epoch = 1, life = '${life}' WHERE shard % 2 = ${index}`)
  }
  const cluster = await TwoNodes.start(t, [`cluster.stores=["${url}"]`])
  assert.deepEqual(cluster.lives, firstLives)
  const durable = {
    clientId: findClientId('persistent', 1),
    clean: false,
    properties: { sessionExpiryInterval: 3_600 },
  } as const
  const subscriber = await cluster.connect(1, durable)
  await subscriber.subscribeAsync('orders/#', { qos: 1 })
  await subscriber.endAsync()
  const publisher = await cluster.connect(0, { clientId: findClientId('publisher', 0) })
  await publisher.publishAsync('orders/retained', 'kept', { qos: 1, retain: true })
  for (let i = 0; i < 50; i++) await publisher.publishAsync('orders/queued', String(i), { qos: 1 })
  const witness = await cluster.connect(1, { ...durable, clientId: findClientId('witness', 1) })
  const closed = eventOf(witness, 'close')

  await cluster.takeShards((life, epoch) =>
    primary.query(`UPDATE godwit.shards SET epoch = ${epoch}, life = '${life}', attempt = 0 WHERE shard % 2 = 1`),
  )
  // Its commit finds that the row names another home: it is not acknowledged.
  let isAcknowledged = false
  const late = witness.publishAsync('orders/late', 'lost', { qos: 1 })
  late.then(
    () => (isAcknowledged = true),
    () => {},
  )
  witness.subscribe('any/filter', { qos: 1 }, () => {})
  await closed
  assert.equal(isAcknowledged, false, 'a node acknowledged a publication for a shard that it does not have')

  const port = cluster.nodes[0].listeners[0].port
  const received: string[] = []
  const connect = (): Promise<boolean> =>
    new Promise((resolve) => {
      const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...durable, protocolVersion: 5, reconnectPeriod: 0 })
      t.after(() => client.end(true))
      client.on('message', (topic, payload) => void received.push(`${topic} ${String(payload)}`))
      client.on('error', () => {})
      client.once('connect', ({ sessionPresent }) => resolve(sessionPresent))
      client.once('close', () => resolve(false))
    })
  await eventually(async () => assert.equal(await connect(), true, 'the session is not there'))
  const expected = ['orders/retained kept', ...Array.from({ length: 50 }, (_, i) => `orders/queued ${i}`)]
  await eventually(() => assert.deepEqual(received, expected))
  await publisher.publishAsync('orders/after', 'new home', { qos: 1 })
  await eventually(() => assert.equal(received.at(-1), 'orders/after new home'))
})
