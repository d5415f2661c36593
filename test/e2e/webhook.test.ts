// The section `webhook` of NanoMQ, in the whole program.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { shareConfigurableBroker } from '../management/api.ts'
import { eventually } from './eventually.ts'
import type { Scope } from './godwit-process.ts'
import { startBroker } from './godwit-process.ts'
import { HttpService } from './http-service.ts'

const configuredBroker = shareConfigurableBroker()

const webhook = (port: number, rest: string): string =>
  `webhook={url="http://127.0.0.1:${port}/hook",headers={x-key=secret},${rest}}`

async function connect(t: Scope, { port }: { readonly port: number }, options: mqtt.IClientOptions = {}) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0, ...options })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

function bodies(service: HttpService): Record<string, unknown>[] {
  return service.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
}

test('each message of a configured topic is sent once, with the fields of NanoMQ', async (t) => {
  const service = await HttpService.start(t)
  const broker = await configuredBroker([
    webhook(service.port, 'events=[{event=on_message_publish,topic="in/#"},{event=on_message_publish,topic="+/a"}]'),
  ])
  const client = await connect(t, broker, { clientId: 'kiln' })
  await client.publishAsync('other', 'not sent', { qos: 1 })
  await client.publishAsync('in/a', 'it is "21"', { qos: 1 })
  await client.publishAsync('out/a', '{"t":1}', { qos: 2, retain: true })
  await service.until((received) => received.length === 2)
  const listed = await eventually(async () => {
    const response = await broker.request('/api/v5/actions')
    const [action] = response.json as readonly Record<string, unknown>[]
    assert.deepEqual([action?.['type'], action?.['name'], action?.['status']], ['http', '$webhook', 'connected'])
    return response
  })
  const connectors = await broker.request('/api/v5/connectors')
  assert.equal(`${listed.text}${connectors.text}`.includes('secret'), false)
  const [{ headers, path, method }] = service.received
  assert.deepEqual(
    [method, path, headers['x-key'], headers['content-type']],
    ['POST', '/hook', 'secret', 'application/json'],
  )
  const found = bodies(service).toSorted((a, b) => String(a['topic']).localeCompare(String(b['topic'])))
  for (const { ts } of found) assert.ok(typeof ts === 'number' && Math.abs(ts - Date.now()) < 60_000)
  assert.deepEqual(
    found.map((each) => ({ ...each, ts: undefined })),
    [
      {
        ts: undefined,
        topic: 'in/a',
        retain: false,
        qos: 1,
        action: 'message_publish',
        from_username: 'undefined',
        from_client_id: 'kiln',
        payload: 'it is "21"',
      },
      {
        ts: undefined,
        topic: 'out/a',
        retain: true,
        qos: 2,
        action: 'message_publish',
        from_username: 'undefined',
        from_client_id: 'kiln',
        payload: '{"t":1}',
      },
    ],
  )
})

for (const [encoding, payload] of [
  ['base64', '/w=='],
  ['base62', '47'],
] as const) {
  test(`payloads are encoded as ${encoding} if configured`, async (t) => {
    const service = await HttpService.start(t)
    const broker = await configuredBroker([
      webhook(service.port, `body.encoding=${encoding},events=[{event=on_message_publish}]`),
    ])
    const client = await connect(t, broker)
    await client.publishAsync('in/a', Buffer.from([0xff]), { qos: 1 })
    const large = Buffer.alloc(20_000, 7)
    await client.publishAsync('in/b', large, { qos: 1 })
    await service.until((received) => received.length === 2)
    const [small, other] = bodies(service).toSorted((a, b) => String(a['topic']).localeCompare(String(b['topic'])))
    assert.equal(small['payload'], payload)
    assert.equal(small['payload_encoding'], undefined)
    assert.equal(other['payload'], large.toString('base64'))
    assert.equal(other['payload_encoding'], encoding === 'base62' ? 'base64' : undefined)
  })
}

test('acknowledged messages are sent, also if the service is unavailable and the broker is killed', async (t) => {
  const service = await HttpService.prepare(t)
  const set = [webhook(service.port, 'events=[{event=on_message_publish,topic="in/#"}]')]
  const broker = await startBroker(t, { set })
  const client = await connect(t, broker)
  for (let number = 0; number < 50; number++) await client.publishAsync('in/a', String(number), { qos: 1 })
  await broker.process.stop('SIGKILL')
  await startBroker(t, { set, dataDirectory: broker.dataDirectory })
  await service.start()
  await service.until((received) => new Set(received.map(({ body }) => JSON.parse(body).payload)).size === 50)
})

/** Requests about the clients of this test: a client of another test may disconnect late. */
function ofThese(received: readonly { readonly body: string }[]) {
  return received.filter(({ body }) => /"clientid":"(press|oven)"/.test(body))
}

test('successful and refused connections and disconnections are sent with the reasons of NanoMQ', async (t) => {
  const service = await HttpService.start(t)
  const broker = await configuredBroker([
    webhook(service.port, 'events=[{event=on_client_connack},{event=on_client_disconnected}]'),
    'auth.allow_anonymous=true',
    'auth.password.alice=wonder',
  ])
  const count = (wanted: number): Promise<void> => service.until((received) => ofThese(received).length >= wanted)
  const first = await connect(t, broker, { clientId: 'press', keepalive: 45 })
  await count(1)
  await first.endAsync()
  await count(2)
  await assert.rejects(connect(t, broker, { clientId: 'oven', username: 'alice', password: 'wrong' }))
  await count(3)
  const second = await connect(t, broker, {
    clientId: 'oven',
    username: 'alice',
    password: 'wonder',
    protocolVersion: 5,
  })
  // Different shards may report the connection and the disconnection.
  await count(4)
  second.stream.destroy()
  await service.until((received) => ofThese(received).some(({ body }) => body.includes('"reason":"abnormal"')))
  const none = 'undefined'
  const found = ofThese(service.received).map(({ body }) => JSON.parse(body) as unknown)
  assert.deepEqual(found, [
    { proto_ver: 4, keepalive: 45, conn_ack: 'success', username: none, clientid: 'press', action: 'client_connack' },
    { reason: 'normal', username: none, clientid: 'press', action: 'client_disconnected' },
    { proto_ver: 4, keepalive: 60, conn_ack: 'fail', username: 'alice', clientid: 'oven', action: 'client_connack' },
    { proto_ver: 5, keepalive: 60, conn_ack: 'success', username: 'alice', clientid: 'oven', action: 'client_connack' },
    { reason: 'abnormal', username: 'alice', clientid: 'oven', action: 'client_disconnected' },
  ])
})

test('the section is changed while the broker runs, and the error for an invalid one names the setting', async (t) => {
  const service = await HttpService.start(t)
  const broker = await configuredBroker()
  const put = (value: unknown) =>
    broker.request('/api/v4/configuration', { method: 'POST', body: { data: { webhook: value } } })
  const events = [{ event: 'on_message_publish', topic: 'in/#' }]
  const wrong = await put({ url: 'ftp://127.0.0.1', events })
  assert.equal(wrong.status, 400, wrong.text)
  assert.match(wrong.text, /webhook\.url: write http/)
  const bad = await put({
    url: `http://127.0.0.1:${service.port}/`,
    events: [{ event: 'on_message_publish', topic: 'a/#/b' }],
  })
  assert.equal(bad.status, 400, bad.text)
  assert.match(bad.text, /webhook\.events/)
  const good = await put({ url: `http://127.0.0.1:${service.port}/`, events })
  assert.equal(good.status, 200, good.text)
  const client = await connect(t, broker)
  await client.publishAsync('in/a', 'x', { qos: 1 })
  await service.until((received) => received.length === 1)
})
