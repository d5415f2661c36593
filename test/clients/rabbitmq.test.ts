// Actions of rules with Debian's rabbitmq-server.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, type Channel } from 'amqplib'
import { shared, type Scope } from '../e2e/godwit-process.ts'
import { rabbitmqServer } from './rabbitmq-server.ts'
import { Relay } from './relay.ts'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, startWith, until } from './sink-stage.ts'

const action = 'rabbitmq:forward'
const options =
  'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1,request_timeout=2s,health_check_interval=200ms}'

const configuration = (port: number, parameters: string): readonly string[] => [
  `connectors.rabbitmq.plant={server="127.0.0.1",port=${port},connect_timeout=2s}`,
  `actions.rabbitmq.forward={connector=plant,parameters={${parameters}},${options}}`,
  ruleTo(action),
]

/** One server for all tests, because it starts slowly. Each test uses other exchanges. */
const server = shared(async (scope) => {
  const started = await rabbitmqServer(scope, ['max_message_size = 65536'])
  await started.start()
  return started
})

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
  const rabbitmq = await server()
  const relay = await Relay.start(t, rabbitmq.port)
  const channel = await channelTo(t, rabbitmq.port)
  await channel.assertExchange('plant', 'topic', { durable: true })
  await channel.assertQueue('all', { durable: true })
  await channel.bindQueue('all', 'plant', 'readings.#')
  const parameters = 'exchange=plant,routing_key="readings.${payload.number}",payload_template="${payload}"'
  const { broker, client } = await startWith(t, configuration(relay.port, parameters))
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
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  await channel.assertQueue('taken', { durable: true })
  const { broker, client } = await startWith(
    t,
    configuration(rabbitmq.port, 'routing_key="${payload.to}",payload_template="${payload.text}"'),
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
  const rabbitmq = await server()
  const channel = await channelTo(t, rabbitmq.port)
  const limits = { 'x-max-length': 1, 'x-overflow': 'reject-publish' }
  await channel.assertQueue('full', { durable: true, arguments: limits })
  const { broker, client } = await startWith(
    t,
    configuration(rabbitmq.port, 'exchange=later,routing_key=full,payload_template="${payload}"'),
  )
  await publishAll(client, 0, 3)
  const shows = (reason: RegExp): Promise<void> =>
    until(broker, action, async () => reason.test((await actionView(broker, action)).status_reason))
  await shows(/NOT_FOUND.*later/)
  await channel.assertExchange('later', 'direct', { durable: true })
  await channel.bindQueue('full', 'later', 'full')
  await shows(/does not take it now/)
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
  const { broker, client } = await startWith(t, configuration(rabbitmq.port, parameters))
  await publishAll(client, 7, 8)
  await until(broker, action, async () => (await channel.checkQueue('with-headers')).messageCount === 1)
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
