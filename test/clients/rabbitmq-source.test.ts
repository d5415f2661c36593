// Sources with Debian's rabbitmq-server: a message is acknowledged when the results of its rules are stored.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, type Channel } from 'amqplib'
import mqtt from 'mqtt'
import { shared, temporaryFolder, type Scope } from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { rabbitmqServer } from './rabbitmq-server.ts'
import { Relay } from './relay.ts'
import { createPersistentSession, numbersIn, numbersUpTo, receiveUntil, ruleFrom, untilSource } from './source-stage.ts'
import { longTest } from '../test-length.ts'

const source = 'rabbitmq:orders'

const configuration = (port: number, queue: string, payload: string, prefetch = 100): readonly string[] => [
  'node.shards=2',
  `connectors.rabbitmq.plant={server="127.0.0.1",port=${port},connect_timeout=2s,heartbeat=1s}`,
  `sources.rabbitmq.orders={connector=plant,parameters={queue="${queue}",prefetch=${prefetch}}}`,
  ruleFrom(source, payload),
]

/** One server for all tests, because it starts slowly. Each test uses another queue. */
const server = shared(async (scope) => {
  const started = await rabbitmqServer(scope)
  await started.start()
  return started
})

async function channelTo(t: Scope, port: number): Promise<Channel> {
  const connection = await connect({ hostname: '127.0.0.1', port }, { noDelay: true })
  connection.on('error', () => {})
  t.after(() => connection.close().catch(() => {}))
  return await connection.createChannel()
}

async function send(port: number, queue: string, texts: readonly string[]): Promise<void> {
  const connection = await connect({ hostname: '127.0.0.1', port })
  const channel = await connection.createConfirmChannel()
  for (const text of texts) channel.sendToQueue(queue, Buffer.from(text), { persistent: true })
  await channel.waitForConfirms()
  await connection.close()
}

/** The number of messages in the queue after RabbitMQ has noticed that the broker stopped, and has requeued unacknowledged messages. */
async function messagesWithoutConsumer(channel: Channel, queue: string): Promise<number> {
  for (;;) {
    const { messageCount, consumerCount } = await channel.checkQueue(queue)
    if (consumerCount === 0) return messageCount
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

// Daily: the same with Kafka, and RabbitMQ is killed in test/clients/rabbitmq.test.ts.
longTest(
  'each message of a queue runs rules, although the network fails, this broker is killed and RabbitMQ is killed',
  async (t) => {
    const rabbitmq = await server()
    const relay = await Relay.start(t, rabbitmq.port)
    await (await channelTo(t, rabbitmq.port)).assertQueue('orders', { durable: true })
    const write = (from: number, to: number): Promise<void> =>
      send(rabbitmq.port, 'orders', numbersUpTo(to).slice(from).map(String))
    const dataDirectory = await temporaryFolder(t)
    const set = configuration(relay.port, 'orders', '${payload}', 10)
    const start = () => startBrokerWithApi(t, { dataDirectory, set })
    let broker = await start()
    await createPersistentSession(broker.port)
    const received = new Set<string>()
    await write(0, 300)
    await receiveUntil(broker.port, received, 100)
    await relay.set('silent')
    await untilSource(broker, source, 'disconnected')
    await write(300, 400)
    await relay.set('forwarding')
    await receiveUntil(broker.port, received, 400)
    await write(400, 1_400)
    await receiveUntil(broker.port, received, 500)
    await broker.process.stop('SIGKILL')
    broker = await start()
    await receiveUntil(broker.port, received, 1_400)
    await rabbitmq.kill()
    await untilSource(broker, source, 'disconnected')
    await rabbitmq.start()
    await write(1_400, 1_500)
    await receiveUntil(broker.port, received, 1_500)
    assert.deepEqual(numbersIn(received), numbersUpTo(1_500))
    // The queue is empty, because RabbitMQ has an acknowledgement of each message. If an acknowledgement is lost when the broker stops,
    // RabbitMQ sends the message again.
    const channel = await channelTo(t, rabbitmq.port)
    for (;;) {
      await broker.process.stop('SIGTERM')
      const left = await messagesWithoutConsumer(channel, 'orders')
      if (left === 0) break
      assert.ok(left <= 10, `${left} messages are left; 10 may be in flight`)
      broker = await start()
      const received = async () => (await broker.request(`/api/v5/sources/${source}/metrics`)).json.metrics.received
      while ((await received()) < left) await new Promise((resolve) => setTimeout(resolve, 50))
    }
  },
)

test('a message is not acknowledged before its results are stored: a full action queue pauses the queue of RabbitMQ', async (t) => {
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  await channel.assertQueue('waiting', { durable: true })
  await send(rabbitmq.port, 'waiting', numbersUpTo(200).map(String))
  const broker = await startBrokerWithApi(t, {
    set: [
      'node.shards=2',
      `connectors.rabbitmq.plant={server="127.0.0.1",port=${rabbitmq.port}}`,
      'sources.rabbitmq.orders={connector=plant,parameters={queue=waiting,prefetch=20}}',
      'connectors.http.nowhere={url="http://127.0.0.1:9"}',
      'actions.http.full={connector=nowhere,parameters={path="/"},resource_opts={max_buffer_messages=30}}',
      `rule_engine.rules.all={sql="SELECT * FROM \\"$bridges/${source}\\"",actions=["http:full"]}`,
    ],
  })
  await untilSource(broker, source, 'connected')
  for (;;) {
    const { json } = await broker.request('/api/v5/actions/http:full/metrics')
    if (json.metrics.queuing + json.metrics.inflight >= 30) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await broker.process.stop('SIGKILL')
  const left = await messagesWithoutConsumer(channel, 'waiting')
  assert.ok(left >= 200 - 30 - 1 && left < 200, `${left} messages are left`)
})

test('rules get the properties of a RabbitMQ message; one that is too large goes to the dead letter exchange of the queue', async (t) => {
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  await channel.assertQueue('refused')
  await channel.assertQueue('columns', { deadLetterExchange: '', deadLetterRoutingKey: 'refused' })
  await channel.assertExchange('plant', 'topic')
  await channel.bindQueue('columns', 'plant', '#')
  const columns =
    '${topic}|${queue}|${exchange}|${routing_key}|${redelivered}|${headers}|${content_type}|${message_id}|${priority}|${ts}|${server}|${payload}'
  const broker = await startBrokerWithApi(t, {
    set: [...configuration(rabbitmq.port, 'columns', columns), 'mqtt.max_packet_size=10KB'],
  })
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0 })
  t.after(() => client.end(true))
  const first = new Promise<string>((resolve) => {
    client.once('message', (_topic, payload) => resolve(payload.toString()))
  })
  await client.subscribeAsync('from/source', { qos: 1 })
  channel.publish('plant', 'a.b', Buffer.alloc(11_000), {})
  channel.publish('plant', 'a.#.ü', Buffer.from('hello'), {
    headers: { plant: 'x', count: 3 },
    contentType: 'text/plain',
    messageId: 'm1',
    priority: 4,
    timestamp: 1_700_000_000,
  })
  assert.equal(
    await first,
    `a.#.ü|columns|plant|a.#.ü|false|{"plant":"x","count":"3"}|text/plain|m1|4|1700000000000|127.0.0.1:${rabbitmq.port}|hello`,
  )
  const { json } = await broker.request(`/api/v5/sources/${source}/metrics`)
  assert.equal(json.metrics.dropped, 1)
  for (;;) {
    const letter = await channel.get('refused', { noAck: true })
    if (letter === false) continue
    assert.equal(letter.content.length, 11_000)
    break
  }
})

test('a missing queue is shown as the reason, and is the error of a probe', async (t) => {
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  const broker = await startBrokerWithApi(t, { set: configuration(rabbitmq.port, 'later', '${payload}') })
  const { status_reason: reason } = await untilSource(broker, source, 'disconnected')
  assert.match(reason, /no queue 'later'/)
  const probe = async (queue: string) =>
    await broker.request('/api/v5/sources_probe', {
      method: 'POST',
      body: { type: 'rabbitmq', connector: 'plant', parameters: { queue } },
    })
  const refused = await probe('later')
  assert.equal(refused.status, 400)
  assert.match(refused.text, /TEST_FAILED.*no queue 'later'/)
  assert.equal((await probe('')).status, 400)
  await channel.assertQueue('later')
  assert.equal((await probe('later')).status, 204)
  await untilSource(broker, source, 'connected')
  const control = async (what: string): Promise<number> =>
    (await broker.request(`/api/v5/sources/${source}/${what}`, { method: 'POST' })).status
  assert.equal(await control('stop'), 204)
  assert.equal((await untilSource(broker, source, 'disconnected')).status_reason, 'stopped by an administrator')
  assert.equal(await control('start'), 204)
  await untilSource(broker, source, 'connected')
  await channel.deleteQueue('later')
  assert.match((await untilSource(broker, source, 'disconnected')).status_reason, /later/)
})
