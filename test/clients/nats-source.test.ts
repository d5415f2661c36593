// Sources with Debian's nats-server: JetStream sends a message again until the results of its rules are stored.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import mqtt from 'mqtt'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { natsServer } from './nats-server.ts'
import { Relay } from './relay.ts'
import { createPersistentSession, numbersIn, numbersUpTo, receiveUntil, ruleFrom, untilSource } from './source-stage.ts'

const source = 'nats:orders'

const configuration = (port: number, parameters: string, payload = '${payload}'): readonly string[] => [
  'node.shards=2',
  `connectors.nats.plant={server="127.0.0.1:${port}",connect_timeout=1s}`,
  `sources.nats.orders={connector=plant,parameters={${parameters}}}`,
  ruleFrom(source, payload),
]

async function withClient<Result>(port: number, work: (client: NatsConnection) => Promise<Result>): Promise<Result> {
  const client = await connect({ servers: `127.0.0.1:${port}` })
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

const addStream = (port: number): Promise<unknown> =>
  withClient(port, async (client) =>
    (await jetstreamManager(client)).streams.add({ name: 'ORDERS', subjects: ['orders.>'] }),
  )

const store = (port: number, from: number, to: number): Promise<unknown> =>
  withClient(port, (client) =>
    Promise.all(
      numbersUpTo(to)
        .slice(from)
        .map((number) => jetstream(client).publish(`orders.${number % 7}`, String(number))),
    ),
  )

test('each message of a stream runs rules, although the network fails, this broker is killed and NATS is killed', async (t) => {
  const nats = await natsServer(t)
  await nats.start()
  const relay = await Relay.start(t, nats.port)
  await addStream(nats.port)
  await store(nats.port, 0, 300)
  const dataDirectory = await temporaryFolder(t)
  const set = configuration(relay.port, 'subject="orders.>",jetstream=true,deliver_policy=all,max_pending=10')
  const start = () => startBrokerWithApi(t, { dataDirectory, set })
  let broker = await startBrokerWithApi(t, { dataDirectory })
  await createPersistentSession(broker.port)
  await broker.process.stop('SIGTERM')
  broker = await start()
  const received = new Set<string>()
  await receiveUntil(broker.port, received, 100)
  await relay.set('silent')
  await untilSource(broker, source, 'disconnected')
  await store(nats.port, 300, 400)
  await relay.set('forwarding')
  await receiveUntil(broker.port, received, 400)
  await store(nats.port, 400, 1_400)
  await receiveUntil(broker.port, received, 500)
  await broker.process.stop('SIGKILL')
  broker = await start()
  await receiveUntil(broker.port, received, 1_400)
  await nats.kill()
  await untilSource(broker, source, 'disconnected')
  await nats.start()
  await store(nats.port, 1_400, 1_500)
  await receiveUntil(broker.port, received, 1_500)
  assert.deepEqual(numbersIn(received), numbersUpTo(1_500))
  // When NATS has the last acknowledgement, it has all of them.
  await withClient(nats.port, async (client) => {
    const { consumers } = await jetstreamManager(client)
    const left = async (): Promise<number> => {
      const { num_pending: pending, num_ack_pending: unacknowledged } = await consumers.info('ORDERS', 'godwit-orders')
      return pending + unacknowledged
    }
    while ((await left()) > 0) await new Promise((resolve) => setTimeout(resolve, 50))
  })
})

test('messages of core NATS run rules while the source is connected, also after a restart of the server', async (t) => {
  const nats = await natsServer(t)
  await nats.start()
  const columns = '${payload} ${topic} ${subject} ${headers} ${server}'
  const broker = await startBrokerWithApi(t, { set: configuration(nats.port, 'subject="orders.*"', columns) })
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0 })
  t.after(() => client.end(true))
  await client.subscribeAsync('from/source', { qos: 1 })
  const next = async (subject: string, payload: string): Promise<string> => {
    const arrived = new Promise<string>((resolve) => {
      client.once('message', (_topic, text) => resolve(text.toString()))
    })
    await withClient(nats.port, async (publisher) => {
      const properties = headers()
      properties.append('plant', 'north')
      publisher.publish(subject, payload, { headers: properties })
      await publisher.flush()
    })
    return await arrived
  }
  await untilSource(broker, source, 'connected')
  const expected = (payload: string): string => `${payload} orders.1 orders.1 {"plant":"north"} 127.0.0.1:${nats.port}`
  assert.equal(await next('orders.1', 'first'), expected('first'))
  await nats.kill()
  await untilSource(broker, source, 'disconnected')
  await nats.start()
  await untilSource(broker, source, 'connected')
  assert.equal(await next('orders.1', 'second'), expected('second'))
})

test('rules get the properties of a JetStream message; one that is too large is not sent again', async (t) => {
  const nats = await natsServer(t)
  await nats.start()
  await addStream(nats.port)
  await withClient(nats.port, async (client) => {
    await jetstream(client).publish('orders.1', 'x'.repeat(6_000))
    await jetstream(client).publish('orders.2', 'small')
  })
  const columns = '${payload} ${subject} ${stream} ${sequence} ${deliveries}'
  const broker = await startBrokerWithApi(t, {
    set: ['mqtt.max_packet_size=5KB'],
  })
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0 })
  t.after(() => client.end(true))
  const first = new Promise<string>((resolve) => {
    client.once('message', (_topic, payload) => resolve(payload.toString()))
  })
  await client.subscribeAsync('from/source', { qos: 1 })
  const put = async (path: string, body: object): Promise<number> =>
    (await broker.request(`/api/v5/${path}`, { method: 'POST', body })).status
  assert.equal(await put('connectors', { type: 'nats', name: 'plant', server: `127.0.0.1:${nats.port}` }), 201)
  const args = { topic: 'from/source', qos: 1, payload: columns }
  const rule = { id: 'all', sql: `SELECT * FROM "$bridges/${source}"`, actions: [{ function: 'republish', args }] }
  assert.equal(await put('rules', rule), 201)
  const parameters = { jetstream: true, stream: 'ORDERS', consumer: 'godwit', deliver_policy: 'all' }
  assert.equal(await put('sources', { type: 'nats', name: 'orders', connector: 'plant', parameters }), 201)
  assert.equal(await first, 'small orders.2 ORDERS 2 1')
  assert.equal((await broker.request(`/api/v5/sources/${source}/metrics`)).json.metrics.dropped, 1)
  const pending = (): Promise<number> =>
    withClient(nats.port, async (connection) => {
      const { num_ack_pending: unacknowledged } = await (
        await jetstreamManager(connection)
      ).consumers.info('ORDERS', 'godwit')
      return unacknowledged
    })
  while ((await pending()) > 0) await new Promise((resolve) => setTimeout(resolve, 50))
})

test('a missing stream is shown as the reason and is the error of a probe, and a deleted consumer is noticed', async (t) => {
  const nats = await natsServer(t)
  await nats.start()
  const broker = await startBrokerWithApi(t, {
    set: configuration(nats.port, 'subject="orders.>",jetstream=true'),
  })
  const { status_reason: reason } = await untilSource(broker, source, 'disconnected')
  assert.match(reason, /no stream/)
  const probe = async (parameters: object) =>
    await broker.request('/api/v5/sources_probe', {
      method: 'POST',
      body: { type: 'nats', connector: 'plant', parameters },
    })
  const refused = await probe({ subject: 'orders.>', jetstream: true })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /TEST_FAILED.*no stream/)
  for (const wrong of [
    {},
    { subject: 'a..b' },
    { subject: 'a.>.b' },
    { subject: 'a', stream: 'ORDERS' },
    { jetstream: true },
    { subject: 'a', jetstream: true, consumer: 'a.b' },
    { subject: 'a', jetstream: true, queue_group: 'g' },
  ])
    assert.equal((await probe(wrong)).status, 400, JSON.stringify(wrong))
  assert.equal((await probe({ subject: 'a.*.>' })).status, 204)
  await addStream(nats.port)
  assert.equal((await probe({ subject: 'orders.>', jetstream: true })).status, 204)
  await untilSource(broker, source, 'connected')
  await withClient(nats.port, async (client) =>
    (await jetstreamManager(client)).consumers.delete('ORDERS', 'godwit-orders'),
  )
  assert.match((await untilSource(broker, source, 'disconnected')).status_reason, /consumer/)
})
