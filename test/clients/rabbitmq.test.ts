// Actions and sources of rules with Debian's rabbitmq-server. A message of a source is acknowledged when the results of its rules are stored.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, type Channel } from 'amqplib'
import { shared, temporaryFolder, type Scope } from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { longTest } from '../test-length.ts'
import { rabbitmqServer } from './rabbitmq-server.ts'
import { Relay } from './relay.ts'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, shareSinks, until } from './sink-stage.ts'
import { createPersistentSession, numbersIn, numbersUpTo, receiveUntil, ruleFrom, untilSource } from './source-stage.ts'

const options =
  'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1,request_timeout=2s,health_check_interval=200ms}'

const actionTo = (name: string, port: number, parameters: string): readonly string[] => [
  `connectors.rabbitmq.plant={server="127.0.0.1",port=${port},connect_timeout=2s}`,
  `actions.rabbitmq.${name}={connector=plant,parameters={${parameters}},${options}}`,
  ruleTo(`rabbitmq:${name}`),
]

/** One server for all tests, because it starts slowly. Each test uses other exchanges and queues. */
const server = shared(async (scope) => {
  const started = await rabbitmqServer(scope, ['max_message_size = 65536'])
  await started.start()
  return started
})

/** The last test kills it. */
const startWith = shareSinks()

async function channelTo(t: Scope, port: number): Promise<Channel> {
  const connection = await connect({ hostname: '127.0.0.1', port }, { noDelay: true })
  connection.on('error', () => {})
  t.after(() => connection.close().catch(() => {}))
  return await connection.createChannel()
}

async function drain(
  channel: Channel,
  queue: string,
): Promise<readonly { key: string; payload: string; id: string }[]> {
  const found: { key: string; payload: string; id: string }[] = []
  for (;;) {
    const message = await channel.get(queue, { noAck: true })
    if (message === false) return found
    const { fields, properties, content } = message
    found.push({ key: fields.routingKey, payload: content.toString(), id: String(properties.messageId) })
  }
}

test('a queue gets each message with its routing key, although the server is killed and the network fails', async (t) => {
  const action = 'rabbitmq:killed'
  const rabbitmq = await server()
  const relay = await Relay.start(t, rabbitmq.port)
  const channel = await channelTo(t, rabbitmq.port)
  await channel.assertExchange('plant', 'topic', { durable: true })
  await channel.assertQueue('all', { durable: true })
  await channel.bindQueue('all', 'plant', 'readings.#')
  const parameters = 'exchange=plant,routing_key="readings.${payload.number}",payload_template="${payload}"'
  const { broker, client } = await startWith(t, actionTo('killed', relay.port, parameters))
  await publishAll(client, 0, 100)
  await until(broker, action, async () => (await channel.checkQueue('all')).messageCount === 100)
  await relay.set('silent')
  await publishAll(client, 100, 150)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await relay.set('forwarding')
  await publishAll(client, 150, 200)
  await rabbitmq.kill()
  await publishAll(client, 200, 250)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await rabbitmq.start()
  await until(broker, action, async () => {
    const { json } = await broker.request(`/api/v5/actions/${action}/metrics`)
    return json.metrics.success === 250
  })
  const found = await drain(await channelTo(t, rabbitmq.port), 'all')
  assert.ok(
    hasAllNumbers(
      found.map(({ payload }) => payload),
      250,
    ),
  )
  assert.ok(found.some(({ key }) => key === 'readings.7'))
  // Duplicates have the same message ID.
  assert.equal(new Set(found.map(({ id }) => id)).size, 250)
})

test('a message that no queue accepts, or that is too large, becomes a dead letter, and the others arrive', async (t) => {
  const action = 'rabbitmq:refused'
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  await channel.assertQueue('taken', { durable: true })
  const { broker, client } = await startWith(
    t,
    actionTo('refused', rabbitmq.port, 'routing_key="${payload.to}",payload_template="${payload.text}"'),
  )
  const publish = (to: string, text: string): Promise<unknown> =>
    client.publishAsync('readings/1', JSON.stringify({ to, text }), { qos: 1 })
  await publish('taken', 'first')
  await publish('missing', 'x')
  await publish('taken', 'x'.repeat(70_000))
  await publish('taken', 'last')
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 2)
  await until(broker, action, async () => (await channel.checkQueue('taken')).messageCount >= 2)
  const reasons = (await deadLettersOf(broker, action)).map(({ reason }) => reason).join('\n')
  assert.match(reasons, /no queue receives it: NO_ROUTE \(312\), routing key "missing"/)
  assert.match(reasons, /message size 70000/)
  const payloads = (await drain(channel, 'taken')).map(({ payload }) => payload)
  assert.deepEqual([...new Set(payloads)], ['first', 'last'])
})

test('a full queue and a missing exchange are shown as the reason, and the messages stay queued', async (t) => {
  const action = 'rabbitmq:full'
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  const limits = { 'x-max-length': 1, 'x-overflow': 'reject-publish' }
  await channel.assertQueue('full', { durable: true, arguments: limits })
  const { broker, client } = await startWith(
    t,
    actionTo('full', rabbitmq.port, 'exchange=later,routing_key=full,payload_template="${payload}"'),
  )
  await publishAll(client, 0, 3)
  const shows = (reason: RegExp): Promise<void> =>
    until(broker, action, async () => reason.test((await actionView(broker, action)).status_reason))
  await shows(/NOT_FOUND.*later/)
  await channel.assertExchange('later', 'direct', { durable: true })
  await channel.bindQueue('full', 'later', 'full')
  await shows(/does not accept the message now/)
  const found: string[] = []
  await until(broker, action, async () => {
    found.push(...(await drain(channel, 'full')).map(({ payload }) => payload))
    return new Set(found).size === 3
  })
  assert.ok(hasAllNumbers(found, 3))
  const body = { type: 'rabbitmq', name: 'x', server: `127.0.0.1:${rabbitmq.port}`, password: 'wrong' }
  const probed = await broker.request('/api/v5/connectors_probe', { method: 'POST', body })
  assert.equal(probed.status, 400)
  assert.match(probed.text, /TEST_FAILED.*ACCESS_REFUSED/)
})

test('headers and properties of a message come from templates', async (t) => {
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  await channel.assertQueue('with-headers', { durable: true })
  const templates = [
    'headers_template=[{key=client,value="${clientid}"},{key="x-${payload.number}",value="of ${topic}"}]',
    'properties_template=[{key=content_type,value="application/json"},{key=priority,value="${payload.number}"},{key=correlation_id,value="${id}"},{key=timestamp,value=1700000000}]',
  ]
  const parameters = `routing_key=with-headers,payload_template="\${payload}",${templates.join(',')}`
  const { broker, client } = await startWith(t, actionTo('headers', rabbitmq.port, parameters))
  await publishAll(client, 7, 8)
  await until(broker, 'rabbitmq:headers', async () => (await channel.checkQueue('with-headers')).messageCount === 1)
  const message = await channel.get('with-headers', { noAck: true })
  assert.ok(message !== false)
  const { headers, contentType, priority, timestamp, correlationId, appId, messageId, deliveryMode } =
    message.properties
  assert.match(String(headers?.['client']), /./)
  assert.match(String(headers?.['x-7']), /^of ./)
  assert.deepEqual(
    [contentType, priority, timestamp, appId, deliveryMode],
    ['application/json', 7, 1_700_000_000, 'godwit', 2],
  )
  assert.match(correlationId, /^[0-9A-F]{32}$/)
  assert.match(messageId, /^[0-9a-f-]{36}$/)
})

const source = 'rabbitmq:orders'

const sourceOf = (port: number, queue: string, payload: string, prefetch = 100): readonly string[] => [
  `connectors.rabbitmq.plant={server="127.0.0.1",port=${port},connect_timeout=2s,heartbeat=1s}`,
  `sources.rabbitmq.orders={connector=plant,parameters={queue="${queue}",prefetch=${prefetch}}}`,
  ruleFrom(source, payload),
]

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

// Daily: the same with Kafka, and RabbitMQ is killed in the first test.
longTest(
  'each message of a queue runs rules, although the network fails, this broker is killed and RabbitMQ is killed',
  async (t) => {
    const rabbitmq = await server()
    const relay = await Relay.start(t, rabbitmq.port)
    await (await channelTo(t, rabbitmq.port)).assertQueue('orders', { durable: true })
    const write = (from: number, to: number): Promise<void> =>
      send(rabbitmq.port, 'orders', numbersUpTo(to).slice(from).map(String))
    const dataDirectory = await temporaryFolder(t)
    const set = ['node.shards=2', ...sourceOf(relay.port, 'orders', '${payload}', 10)]
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

test('rules get the properties of a RabbitMQ message; one that is too large goes to the dead letter exchange of the queue', async (t) => {
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  await channel.assertQueue('refused')
  await channel.assertQueue('columns', { deadLetterExchange: '', deadLetterRoutingKey: 'refused' })
  await channel.assertExchange('plant', 'topic')
  await channel.bindQueue('columns', 'plant', '#')
  const columns =
    '${topic}|${queue}|${exchange}|${routing_key}|${redelivered}|${headers}|${content_type}|${message_id}|${priority}|${ts}|${server}|${payload}'
  const { broker, client } = await startWith(t, [
    ...sourceOf(rabbitmq.port, 'columns', columns),
    'mqtt.max_packet_size=10KB',
  ])
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
  const { broker } = await startWith(t, sourceOf(rabbitmq.port, 'later', '${payload}'))
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

test('a message is not acknowledged before its results are stored: a full action queue pauses the queue of RabbitMQ', async (t) => {
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  await channel.assertQueue('waiting', { durable: true })
  await send(rabbitmq.port, 'waiting', numbersUpTo(200).map(String))
  const { broker } = await startWith(t, [
    `connectors.rabbitmq.plant={server="127.0.0.1",port=${rabbitmq.port}}`,
    'sources.rabbitmq.orders={connector=plant,parameters={queue=waiting,prefetch=20}}',
    'connectors.http.nowhere={url="http://127.0.0.1:9"}',
    'actions.http.full={connector=nowhere,parameters={path="/"},resource_opts={max_buffer_messages=30}}',
    `rule_engine.rules.all={sql="SELECT * FROM \\"$bridges/${source}\\"",actions=["http:full"]}`,
  ])
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
