// Actions of rules with Debian's nats-server: core NATS and JetStream.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import type { Scope } from '../e2e/godwit-process.ts'
import { natsServer } from './nats-server.ts'
import { Relay } from './relay.ts'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, startWith, until } from './sink-stage.ts'

const action = 'nats:forward'
const options =
  'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1,request_timeout=1s,health_check_interval=200ms}'

const configuration = (port: number, parameters: string, credentials: string): readonly string[] => [
  `connectors.nats.plant={server="127.0.0.1:${port}",connect_timeout=1s,${credentials}}`,
  `actions.nats.forward={connector=plant,parameters={${parameters}},${options}}`,
  ruleTo(action),
]

const token = 'authorization { token: "s3cret" }'

async function client(t: Scope, port: number): Promise<NatsConnection> {
  const connection = await connect({ servers: `127.0.0.1:${port}`, token: 's3cret', reconnect: false })
  t.after(() => connection.close())
  return connection
}

test('core NATS gets each message with its subject, while the server runs and after its restart', async (t) => {
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
    configuration(server.port, 'subject="readings.${payload.number}",payload="${payload.text}"', 'token="s3cret"'),
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
  const server = await natsServer(t, [token])
  await server.start()
  const relay = await Relay.start(t, server.port)
  const connection = await client(t, server.port)
  await (await jetstreamManager(connection)).streams.add({ name: 'READINGS', subjects: ['readings.*'] })
  const { broker, client: publisher } = await startWith(
    t,
    configuration(relay.port, 'subject="readings.${payload.to}",payload="${payload}",jetstream=true', 'token="s3cret"'),
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
    configuration(server.port, 'subject="${payload.to}",payload="${payload.text}"', 'username=godwit,password=secret'),
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
  const server = await natsServer(t, [token])
  await server.start()
  const { broker, client: publisher } = await startWith(
    t,
    configuration(server.port, 'subject=nowhere,jetstream=true', 'token="s3cret"'),
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
