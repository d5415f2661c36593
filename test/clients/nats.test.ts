// Actions and sources of rules with Debian's nats-server: core NATS and JetStream. JetStream sends a message to a source again until the results of its
// rules are stored.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, headers, type NatsConnection } from '@nats-io/transport-node'
import { temporaryFolder, type Scope } from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { natsServer } from './nats-server.ts'
import { Relay } from './relay.ts'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, shareSinks, until } from './sink-stage.ts'
import { createPersistentSession, numbersIn, numbersUpTo, receiveUntil, ruleFrom, untilSource } from './source-stage.ts'

const options =
  'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1,request_timeout=1s,health_check_interval=200ms}'

const actionTo = (name: string, port: number, parameters: string, credentials: string): readonly string[] => [
  `connectors.nats.plant={server="127.0.0.1:${port}",connect_timeout=1s,${credentials}}`,
  `actions.nats.${name}={connector=plant,parameters={${parameters}},${options}}`,
  ruleTo(`nats:${name}`),
]

const startWith = shareSinks()

const token = 'authorization { token: "s3cret" }'

async function client(t: Scope, port: number): Promise<NatsConnection> {
  const connection = await connect({ servers: `127.0.0.1:${port}`, token: 's3cret', reconnect: false })
  t.after(() => connection.close())
  return connection
}

test('core NATS gets each message with its subject, while the server runs and after its restart', async (t) => {
  const action = 'nats:core'
  const server = await natsServer(t, [token])
  await server.start()
  const received: string[] = []
  const read = async (): Promise<void> => {
    const connection = await client(t, server.port)
    connection.subscribe('readings.>', {
      callback: (_, message) => void received.push(`${message.subject} ${message.string()}`),
    })
    await connection.flush()
  }
  await read()
  const { broker, client: publisher } = await startWith(
    t,
    actionTo('core', server.port, 'subject="readings.${payload.number}",payload="${payload.text}"', 'token="s3cret"'),
  )
  await publishAll(publisher, 0, 50)
  await until(broker, action, async () => received.length >= 50)
  assert.ok(received.includes("readings.7 it's 7; --"))
  await server.kill()
  await publishAll(publisher, 50, 100)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await server.start()
  await read()
  await publishAll(publisher, 100, 150)
  await until(broker, action, async () => received.some((text) => text.startsWith('readings.149 ')))
  await until(broker, action, async () => (await actionView(broker, action)).status === 'connected')
})

test('a JetStream stream has each message once, although the server is killed and the network fails', async (t) => {
  const action = 'nats:stream'
  const server = await natsServer(t, [token])
  await server.start()
  const relay = await Relay.start(t, server.port)
  const connection = await client(t, server.port)
  await (await jetstreamManager(connection)).streams.add({ name: 'READINGS', subjects: ['readings.*'] })
  const { broker, client: publisher } = await startWith(
    t,
    actionTo(
      'stream',
      relay.port,
      'subject="readings.${payload.to}",payload="${payload}",jetstream=true',
      'token="s3cret"',
    ),
  )
  const publishTo = async (from: number, to: number): Promise<void> => {
    for (let number = from; number < to; number++)
      await publisher.publishAsync('readings/1', JSON.stringify({ number, to: 'a' }), { qos: 1 })
  }
  await publishTo(0, 100)
  await relay.set('silent')
  await publishTo(100, 150)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await relay.set('forwarding')
  await publishTo(150, 200)
  await server.kill()
  await publishTo(200, 250)
  await server.start()
  await until(broker, action, async () => {
    const { json } = await broker.request(`/api/v5/actions/${action}/metrics`)
    return json.metrics.success === 250
  })
  const again = await client(t, server.port)
  const info = await (await jetstreamManager(again)).streams.info('READINGS')
  assert.equal(info.state.messages, 250)
  const stream = await jetstream(again).streams.get('READINGS')
  const values: string[] = []
  for (let sequence = 1; sequence <= 250; sequence++)
    values.push((await stream.getMessage({ seq: sequence }))?.string() ?? '')
  assert.ok(hasAllNumbers(values, 250))
})

test('a message that NATS refuses becomes a dead letter, and the others arrive', async (t) => {
  const action = 'nats:refused'
  const server = await natsServer(t, [
    'authorization { users: [',
    '  { user: godwit, password: secret, permissions: { publish: "open.>" } }',
    '  { user: reader, password: secret }',
    '] }',
  ])
  await server.start()
  const reader = await connect({ servers: `127.0.0.1:${server.port}`, user: 'reader', pass: 'secret' })
  t.after(() => reader.close())
  const received: string[] = []
  reader.subscribe('>', { callback: (_, message) => void received.push(message.subject) })
  await reader.flush()
  const { broker, client: publisher } = await startWith(
    t,
    actionTo(
      'refused',
      server.port,
      'subject="${payload.to}",payload="${payload.text}"',
      'username=godwit,password=secret',
    ),
  )
  const publish = (to: string, text: string): Promise<unknown> =>
    publisher.publishAsync('readings/1', JSON.stringify({ to, text }), { qos: 1 })
  await publish('open.1', 'x')
  await publish('closed.1', 'x')
  await publish('open.2', 'x'.repeat(9_000))
  await publish('open.3', 'x')
  await until(broker, action, async () => received.includes('open.3'))
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 2)
  const reasons = (await deadLettersOf(broker, action)).map(({ reason }) => reason).toSorted()
  assert.match(reasons.join('\n'), /max_payload/)
  assert.match(reasons.join('\n'), /not allowed to publish to the subject closed\.1/)
  assert.deepEqual(
    received.filter((subject) => !subject.startsWith('_')),
    ['open.1', 'open.3'],
  )
})

test('a subject without a stream or a wrong token is shown as the reason', async (t) => {
  const action = 'nats:nowhere'
  const server = await natsServer(t, [token])
  await server.start()
  const { broker, client: publisher } = await startWith(
    t,
    actionTo('nowhere', server.port, 'subject=nowhere,jetstream=true', 'token="s3cret"'),
  )
  await publishAll(publisher, 0, 1)
  await until(broker, action, async () =>
    /no stream has the subject nowhere/.test((await actionView(broker, action)).status_reason),
  )
  const body = { type: 'nats', name: 'x', server: `127.0.0.1:${server.port}`, token: 'wrong' }
  const probed = await broker.request('/api/v5/connectors_probe', { method: 'POST', body })
  assert.equal(probed.status, 400)
  assert.match(probed.text, /TEST_FAILED.*[Aa]uthorization/)
})

const source = 'nats:orders'

const sourceOf = (port: number, parameters: string, payload = '${payload}'): readonly string[] => [
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
        .map((number) => jetstream(client, { timeout: 60_000 }).publish(`orders.${number % 7}`, String(number))),
    ),
  )

test('each message of a stream runs rules, although the network fails, this broker is killed and NATS is killed', async (t) => {
  const nats = await natsServer(t)
  await nats.start()
  const relay = await Relay.start(t, nats.port)
  await addStream(nats.port)
  await store(nats.port, 0, 300)
  const dataDirectory = await temporaryFolder(t)
  const set = [
    'node.shards=2',
    ...sourceOf(relay.port, 'subject="orders.>",jetstream=true,deliver_policy=all,max_pending=10'),
  ]
  const start = () => startBrokerWithApi(t, { dataDirectory, set })
  // The source must not connect before the session exists.
  await relay.set('refusing')
  let broker = await start()
  await createPersistentSession(broker.port)
  await relay.set('forwarding')
  const received = new Set<string>()
  await receiveUntil(broker.port, received, 100)
  await relay.set('silent')
  await untilSource(broker, source, 'disconnected')
  await store(nats.port, 300, 400)
  await relay.set('forwarding')
  await receiveUntil(broker.port, received, 400)
  await store(nats.port, 400, 800)
  await receiveUntil(broker.port, received, 500)
  await broker.process.stop('SIGKILL')
  broker = await start()
  await receiveUntil(broker.port, received, 800)
  await nats.kill()
  await untilSource(broker, source, 'disconnected')
  await nats.start()
  await store(nats.port, 800, 900)
  await receiveUntil(broker.port, received, 900)
  assert.deepEqual(numbersIn(received), numbersUpTo(900))
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
  const { broker, client } = await startWith(t, sourceOf(nats.port, 'subject="orders.*"', columns))
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
  const settings = [
    'mqtt.max_packet_size=5KB',
    `connectors.nats.plant={server="127.0.0.1:${nats.port}"}`,
    ruleFrom(source, columns),
  ]
  const { broker, client } = await startWith(t, settings)
  const first = new Promise<string>((resolve) => {
    client.once('message', (_topic, payload) => resolve(payload.toString()))
  })
  await client.subscribeAsync('from/source', { qos: 1 })
  // The source must not connect before the client has subscribed.
  const parameters = 'jetstream=true,stream=ORDERS,consumer=godwit,deliver_policy=all'
  await startWith(t, [...settings, `sources.nats.orders={connector=plant,parameters={${parameters}}}`])
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
  const { broker } = await startWith(t, sourceOf(nats.port, 'subject="orders.>",jetstream=true'))
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
