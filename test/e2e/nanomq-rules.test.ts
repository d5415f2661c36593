// The sections `rules` and `webhook` of NanoMQ, and actions of its API, in the whole program.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { shareBrokerWithApi, shareConfigurableBroker } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, temporaryFolder } from './godwit-process.ts'
import { HttpService } from './http-service.ts'

const configuredBroker = shareConfigurableBroker()
const remoteBroker = shareBrokerWithApi({ set: ['node.shards=1'] })

async function connect(
  t: Scope,
  { port }: { readonly port: number },
  options: mqtt.IClientOptions = {},
): Promise<mqtt.MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0, ...options })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** Resolves with the rows of a table as soon as there are `count`. */
async function rowsOf(file: string, table: string, count: number): Promise<readonly Record<string, unknown>[]> {
  for (;;) {
    try {
      using database = new DatabaseSync(file, { readOnly: true })
      const rows = database.prepare(`SELECT * FROM ${table}`).all()
      if (rows.length >= count) return rows
    } catch (error) {
      // The file or the table does not exist yet, or is being created.
      if (!(error instanceof Error && /unable to open|no such table|database is locked/.test(error.message)))
        throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('rules.sqlite creates its tables and writes the selected fields, also from two rules to one table', async (t) => {
  const file = join(await temporaryFolder(t), 'rules.db')
  const rules = [
    '{sql="SELECT payload.x.y as y, payload.z as z FROM \\"in/#\\" WHERE y > 10 and z != \'str\'",table=broker}',
    '{sql="SELECT topic, payload FROM \\"abc\\"",table=broker1}',
    '{sql="SELECT * FROM \\"all\\"",table=everything}',
  ]
  const broker = await configuredBroker([`rules.sqlite={path="${file}",rules=[${rules.join(',')}]}`])
  const client = await connect(t, broker, { clientId: 'kiln' })
  await client.publishAsync('in/1', '{"x":{"y":11},"z":"a"}', { qos: 1 })
  await client.publishAsync('in/1', '{"x":{"y":9},"z":"a"}', { qos: 1 })
  await client.publishAsync('abc', 'aaa', { qos: 1 })
  await client.publishAsync('all', 'it is', { qos: 1 })
  assert.deepEqual({ ...(await rowsOf(file, 'broker', 1))[0] }, { y: 11, z: 'a' })
  assert.deepEqual({ ...(await rowsOf(file, 'broker1', 1))[0] }, { topic: 'abc', payload: 'aaa' })
  const [everything] = await rowsOf(file, 'everything', 1)
  assert.deepEqual(
    [everything?.['qos'], everything?.['topic'], everything?.['clientid'], everything?.['payload']],
    [1, 'all', 'kiln', 'it is'],
  )
  const { json: actions } = await broker.request('/api/v5/actions')
  const names = (actions as readonly { readonly name: string }[]).map(({ name }) => name)
  assert.deepEqual(names, ['$rules_0', '$rules_1', '$rules_2'])
  // A row is written before it is counted.
  await eventually(async () => {
    const { json: one } = await broker.request('/api/v5/actions/sqlite:$rules_0')
    assert.equal(one.status, 'connected')
    assert.match(one.description, /Made by rules\.sqlite\.rules\.0 of the configuration/)
    const { json: metrics } = await broker.request('/api/v5/actions/sqlite:$rules_0/metrics')
    assert.equal(metrics.metrics.success, 1)
  })
  const removed = await broker.request('/api/v5/actions/sqlite:$rules_0', { method: 'DELETE' })
  assert.equal(removed.status, 400)
  assert.match(removed.text, /is made by rules\.sqlite\.rules\.0: change that/)
})

test('rules.repub sends all columns to the topic of another broker', async (t) => {
  const remote = await remoteBroker()
  const reader = await connect(t, remote)
  const received = new Promise<string>((resolve) =>
    reader.once('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`)),
  )
  await reader.subscribeAsync('topic/repub1', { qos: 1 })
  const rule = `{server="mqtt-tcp://127.0.0.1:${remote.port}",topic="topic/repub1",proto_ver=4,clientid=repub_client1,keepalive=60s,clean_start=true,username=username,password=passwd,sql="SELECT topic, payload FROM \\"abc\\""}`
  const broker = await configuredBroker([`rules.repub.rules=[${rule}]`])
  const client = await connect(t, broker, { clientId: 'kiln' })
  await client.publishAsync('abc', 'aaa', { qos: 0 })
  assert.equal(await received, 'topic/repub1 {"topic":"abc","payload":"aaa"}')
  const { json } = await broker.request('/api/v5/connectors/mqtt:$repub_0')
  assert.equal(json.server, `127.0.0.1:${remote.port}`)
  assert.equal(JSON.stringify(json).includes('passwd'), false)
})

test('errors in the section name the key', async () => {
  const wrong: readonly (readonly [setting: string, message: RegExp])[] = [
    ['rules.sqlite.rules=[{sql="SELECT nothing",table=a}]', /rules\.sqlite\.rules\.0\.sql/],
    ['rules.sqlite.rules=[{sql="SELECT * FROM a",table="a b"}]', /rules\.sqlite\.rules\.0\.table: write the name/],
    ['rules.mysql.m.rules=[{sql="SELECT * FROM a"}]', /rules\.mysql\.m\.rules\.0\.table: write the name/],
    ['rules.repub.rules=[{sql="SELECT * FROM a",topic=t}]', /rules\.repub\.rules\.0\.server: write the address/],
    [
      'rules.repub.rules=[{sql="SELECT * FROM a",topic=t,server="ws://h/mqtt"}]',
      /rules\.repub\.rules\.0\.server: "ws:\/\/h\/mqtt" is not an address/,
    ],
  ]
  const broker = await configuredBroker()
  for (const [setting, message] of wrong) {
    const refused = await broker.request('/api/v4/config_update', { method: 'POST', body: setting })
    assert.equal(refused.status, 400)
    assert.match(refused.json.message, message)
  }
})

test('the API of NanoMQ creates rules that write to SQLite, and that republish', async (t) => {
  const remote = await remoteBroker()
  const reader = await connect(t, remote)
  const received = new Promise<string>((resolve) => reader.once('message', (topic) => resolve(topic)))
  await reader.subscribeAsync('there', { qos: 1 })
  const broker = await configuredBroker()
  const address = `mqtt-tcp://127.0.0.1:${remote.port}`
  const actions = [
    { name: 'sqlite', params: { table: 'made' } },
    { name: 'repub', params: { topic: 'there', address, proto_ver: 4, keepalive: 60, clean_start: true } },
  ]
  const created = await broker.request('/api/v4/rules', {
    method: 'POST',
    body: { rawsql: 'SELECT topic, payload FROM "made"', actions, enabled: true, description: '' },
  })
  assert.equal(created.json.code, 0, created.text)
  const client = await connect(t, broker, { clientId: 'kiln' })
  await client.publishAsync('made', 'aaa', { qos: 1 })
  assert.deepEqual(
    { ...(await rowsOf(join(broker.dataDirectory, 'rule_engine.db'), 'made', 1))[0] },
    { topic: 'made', payload: 'aaa' },
  )
  assert.equal(await received, 'there')
  assert.equal((await broker.request('/api/v4/rules/1?force=true', { method: 'DELETE' })).status, 200)
})

const webhook = (port: number, rest: string): string =>
  `webhook={url="http://127.0.0.1:${port}/hook",headers={x-key=secret},${rest}}`

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
