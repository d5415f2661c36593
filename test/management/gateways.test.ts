// Gateways over the API, with devices that connect: section F2 of the gateway requirements.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { findOwnerShard } from '../../src/gateways/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { SnDevice } from '../gateways/sn-device.ts'
import { UdpCoapDevice } from '../gateways/udp-coap-device.ts'
import { type BrokerWithApi, restartBroker, shareConfigurableBroker } from './api.ts'

interface Shown {
  readonly name: string
  readonly status: string
  readonly current_connections: number
  readonly listeners: readonly { readonly id: string; readonly running: boolean }[]
}

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

test('[F2] a gateway is loaded, shown, disabled and enabled while the broker runs, and keeps its state over a restart', async (t) => {
  const broker = await configuredBroker()
  const list = async (query = ''): Promise<readonly Shown[]> =>
    (await broker.request(`/api/v5/gateways${query}`)).json as readonly Shown[]
  assert.deepEqual(
    (await list()).map(({ name, status }) => [name, status]),
    [
      ['mqttsn', 'unloaded'],
      ['coap', 'unloaded'],
      ['lwm2m', 'unloaded'],
      ['stomp', 'unloaded'],
    ],
  )
  assert.equal((await broker.request('/api/v5/gateways?status=bad')).status, 400)
  assert.equal((await broker.request('/api/v5/gateways/nothing')).status, 404)

  const port = await reservePort(t)
  const configuration = { gateway_id: 7, listeners: { udp: { default: { bind: `127.0.0.1:${port}` } } } }
  const loaded = await broker.request('/api/v5/gateways/mqttsn', { method: 'PUT', body: configuration })
  assert.equal(loaded.status, 200, loaded.text)
  const [shown] = await list('?status=running')
  assert.equal(shown?.name, 'mqttsn')
  assert.deepEqual(
    shown?.listeners.map(({ id, running }) => [id, running]),
    [['mqttsn:udp:default', true]],
  )
  const device = await SnDevice.at(t, port)
  device.send(0x01, [0])
  assert.deepEqual(await device.expect('gwinfo'), Buffer.from([7]))
  await device.connected('meter-1')
  const clients = (await broker.request('/api/v5/gateways/mqttsn/clients')).json as { data: { clientid: string }[] }
  assert.deepEqual(
    clients.data.map(({ clientid }) => clientid),
    ['meter-1'],
  )
  assert.equal((await broker.request('/api/v5/gateways/coap/clients/meter-1')).status, 404)
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/clients/meter-1', { method: 'DELETE' })).status, 200)
  await device.expect('disconnect')

  await device.connected('meter-1')
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/enable/false', { method: 'PUT' })).status, 200)
  await device.expect('disconnect')
  assert.equal((await list())[0]?.status, 'stopped')
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/enable/true', { method: 'PUT' })).status, 200)
  await device.connected('meter-1')

  const bad = await broker.request('/api/v5/gateways/mqttsn', { method: 'PUT', body: { gateway_id: 700 } })
  assert.equal(bad.status, 400)
  assert.match(bad.text, /gateway_id/)
  const taken = createSocket('udp4')
  t.after(() => taken.close())
  taken.bind(0, '127.0.0.1')
  await once(taken, 'listening')
  const bind = `127.0.0.1:${taken.address().port}`
  const refused = await broker.request('/api/v5/gateways/coap', {
    method: 'PUT',
    body: { listeners: { udp: { default: { bind } } } },
  })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /gateway\.coap\.listeners\.udp\.default\.bind/)

  const again = await restartBroker(broker)
  const times = (await again.request('/api/v5/gateways/mqttsn')).json as { created_at?: string; started_at?: string }
  assert.match(times.created_at ?? '', /^\d{4}-\d\d-\d\dT/)
  assert.match(times.started_at ?? '', /^\d{4}-\d\d-\d\dT/)
  const after = (await again.request('/api/v5/gateways/mqttsn')).json as Shown
  assert.equal(after.status, 'running')
})

test('GET shows the settings of a gateway, PUT accepts them unchanged, and listeners may be a list', async (t) => {
  const broker = await configuredBroker()
  const path = '/api/v5/gateways/coap'
  const put = (body: unknown) => broker.request(path, { method: 'PUT', body })
  const listeners = [
    { type: 'udp', name: 'first', bind: `127.0.0.1:${await reservePort(t)}`, max_connections: 7 },
    { type: 'udp', name: 'second', bind: `127.0.0.1:${await reservePort(t)}` },
  ]
  const made = await put({ heartbeat: '20s', listeners })
  assert.equal(made.status, 200, made.text)
  const shown = (await broker.request(path)).json
  assert.deepEqual([shown.status, shown.heartbeat, shown.configuration.heartbeat], ['running', '20s', '20s'])
  assert.deepEqual(
    shown.listeners.map((one: Record<string, unknown>) => [one['id'], one['max_connections'], one['running']]),
    [
      ['coap:udp:first', 7, true],
      ['coap:udp:second', 1024, true],
    ],
  )
  const again = await put({ ...shown, heartbeat: '25s' })
  assert.equal(again.status, 200, again.text)
  const changed = (await broker.request(path)).json
  assert.deepEqual({ ...changed.configuration, heartbeat: '20s' }, shown.configuration)
  assert.equal(changed.heartbeat, '25s')
  for (const [wrong, message] of [
    [[{ type: 'udp', bind: '127.0.0.1:0' }], /needs type and name/],
    [['udp'], /needs type and name/],
    [[{ type: '__proto__', name: 'x' }], /__proto__/],
    [[{ type: 'udp', name: 'x', bind: '127.0.0.1:0', colour: 1 }], /colour/],
  ] as const) {
    const refused = await put({ listeners: wrong })
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.text, message)
  }
})

const builtIn = { mechanism: 'password_based', backend: 'built_in_database' }

test('[F2] gateways and listeners have separate users, which remain after a restart and are in archives', async (t) => {
  const port = await reservePort(t)
  const other = await reservePort(t)
  const settings = [
    `gateway.coap.listeners.udp.default.bind="127.0.0.1:${port}"`,
    `gateway.coap.listeners.udp.plant.bind="127.0.0.1:${other}"`,
  ]
  let broker: BrokerWithApi = await configuredBroker(settings)
  const request = (path: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE' = 'GET', body?: object) =>
    broker.request(`/api/v5/gateways${path}`, { method, ...(body === undefined ? {} : { body }) })
  let clients = 0
  const login = async (at: number, username: string, password: string): Promise<string> => {
    const device = await UdpCoapDevice.at(t, at)
    const query = `clientid=lamp-${clients++}&username=${username}&password=${password}`
    device.device.request(2, 'mqtt/connection', query, '')
    return (await device.next()).code
  }
  const at = '/coap/authentication'
  const atPlant = '/coap/listeners/coap:udp:plant/authentication'

  assert.deepEqual((await request(at)).json, { code: 0 })
  assert.equal((await request(`${at}/users`)).status, 404)
  assert.equal((await request(at, 'PUT', builtIn)).status, 404)
  assert.equal(
    await login(port, 'a', 'b'),
    '2.01',
    'the broker has no users, so unknown clients on loopback can connect',
  )
  for (const bad of [{}, { mechanism: 'password_based', backend: 'http' }, { mechanism: 'jwt', secret: 'short' }]) {
    const refused = await request(at, 'POST', bad)
    assert.equal(refused.status, 400, refused.text)
    assert.match(refused.text, /mechanism|gateway\.coap\.authentication\.(url|secret)/)
  }
  const made = await request(at, 'POST', builtIn)
  assert.equal(made.status, 200, made.text)
  assert.equal((made.json as { id: string }).id, 'password_based:built_in_database')
  assert.equal((await request(at, 'POST', builtIn)).status, 400)

  assert.deepEqual((await request(`${at}/users`, 'POST', { user_id: 'lamp', password: 'of lamp' })).json, {
    code: 0,
    user_id: 'lamp',
    is_superuser: false,
  })
  const again = await request(`${at}/users`, 'POST', { user_id: 'lamp', password: 'x' })
  assert.deepEqual([again.status, (again.json as { reason: string }).reason], [409, 'CONFLICT'])
  assert.equal((await request(`${at}/users`, 'POST', { user_id: 'lamp' })).status, 400)
  assert.equal(await login(port, 'lamp', 'of%20lamp'), '2.01')
  assert.equal(
    await login(other, 'lamp', 'of%20lamp'),
    '2.01',
    'the users of the gateway apply, because the listener has no own authentication',
  )
  assert.equal(await login(port, 'lamp', 'x'), '4.01')

  assert.equal((await request(atPlant, 'POST', { ...builtIn, user_id_type: 'clientid' })).status, 200)
  assert.equal((await request(`${atPlant}/users`, 'POST', { user_id: 'saw', password: 'of saw' })).status, 200)
  assert.equal(await login(other, 'lamp', 'of%20lamp'), '4.01')
  const saw = await UdpCoapDevice.at(t, other)
  saw.device.request(2, 'mqtt/connection', 'clientid=saw&password=of%20saw', '')
  assert.equal((await saw.next()).code, '2.01')

  const changed = await request(`${at}/users/lamp`, 'PUT', { password: 'of lamps', is_superuser: true })
  assert.deepEqual(changed.json, { user_id: 'lamp', is_superuser: true })
  assert.equal((await request(`${at}/users/lamp`, 'PUT', {})).status, 400)
  assert.equal((await request(`${at}/users/saw`)).status, 404)
  assert.equal((await request(`${at}/users/saw`, 'DELETE')).status, 404)
  assert.deepEqual((await request(`${at}/users?like_user_id=am&is_superuser=true`)).json, {
    data: [{ user_id: 'lamp', is_superuser: true }],
    meta: { page: 1, limit: 100, count: 1, hasnext: false },
  })
  assert.deepEqual((await request(`${at}/users?is_superuser=false`)).json, {
    data: [],
    meta: { page: 1, limit: 100, count: 0, hasnext: false },
  })
  const shown = (await request('/coap')).json as { configuration: { authentication?: object } }
  assert.ok('authentication' in shown.configuration)

  const exported = (await broker.request('/api/v5/data/export', { method: 'POST', body: {} })).json as {
    filename: string
  }
  broker = await restartBroker(broker)
  assert.equal(await login(port, 'lamp', 'of%20lamps'), '2.01')
  assert.equal((await request(at, 'DELETE')).status, 200)
  assert.deepEqual((await request(at)).json, { code: 0 })
  assert.ok(!('authentication' in ((await request('/coap')).json as { configuration: object }).configuration))
  assert.equal((await request(at, 'POST', builtIn)).status, 200)
  assert.equal(await login(port, 'lamp', 'of%20lamps'), '4.01', 'users are deleted with their authentication')
  const imported = await broker.request('/api/v5/data/import', {
    method: 'POST',
    body: { filename: exported.filename },
  })
  assert.equal(imported.status, 200, imported.text)
  assert.equal(await login(port, 'lamp', 'of%20lamps'), '2.01')

  const audit = await readFile(join(broker.dataDirectory, 'audit.log'), 'utf8').catch(() => '')
  const entries = (await broker.request('/api/v5/audit?limit=1000')).text
  assert.match(entries, /gateways\/coap\/authentication\/users/)
  assert.doesNotMatch(`${audit}${entries}`, /of lamp/)
})

test('[F2] secrets of an authentication are masked, and a PUT with the mask keeps the stored secret', async (t) => {
  const port = await reservePort(t)
  const broker = await configuredBroker([`gateway.coap.listeners.udp.default.bind="127.0.0.1:${port}"`])
  const at = '/api/v5/gateways/coap/authentication'
  const secret = 'a secret of 32 bytes and a few more'
  const made = await broker.request(at, { method: 'POST', body: { mechanism: 'jwt', secret } })
  assert.equal(made.status, 200, made.text)
  const read = await broker.request(at)
  assert.ok(!read.text.includes(secret) && !made.text.includes(secret))
  assert.equal((read.json as { id: string }).id, 'jwt')
  const sent = await broker.request(at, { method: 'PUT', body: read.json as object })
  assert.equal(sent.status, 200, sent.text)
  assert.equal((await broker.request(`${at}/users`)).status, 400)
})

const post = 2

async function brokerWith(t: TestContext, gateway: string): Promise<{ broker: BrokerWithApi; port: number }> {
  const port = await reservePort(t)
  const bind = `gateway.${gateway}.listeners.udp.default.bind="127.0.0.1:${port}"`
  return { broker: await configuredBroker([bind]), port }
}

test('[F2] clients of a gateway are listed with each query parameter, subscribed, unsubscribed and disconnected', async (t) => {
  const { broker, port } = await brokerWith(t, 'mqttsn')
  const names = async (query: string): Promise<readonly string[]> => {
    const { json, text, status } = await broker.request(`/api/v5/gateways/mqttsn/clients?${query}`)
    assert.equal(status, 200, text)
    return (json as { data: { clientid: string }[] }).data.map(({ clientid }) => clientid).toSorted()
  }
  const record = async (name: string) =>
    (await broker.request(`/api/v4/clients/${name}`)).json.data[0] as { sleeping?: boolean; conn_state: string }
  const reconnected = await SnDevice.at(t, port)
  await reconnected.connected('meter-1')
  const firstConnection = await SnDevice.at(t, port)
  await firstConnection.connected('meter-2', { flags: 0 })
  firstConnection.send(0x18, [0, 60])
  await firstConnection.expect('disconnect')

  // The owner shard of a device may not be the shard of its socket.
  await eventually(async () => assert.equal((await record('meter-2')).sleeping, true))
  assert.deepEqual(await names(''), ['meter-1', 'meter-2'])
  assert.deepEqual(await names('limit=1&page=3'), [])
  assert.deepEqual(await names('clean_start=true'), ['meter-1'])
  assert.deepEqual(await names('like_clientid=r-2'), ['meter-2'])
  assert.deepEqual(await names('conn_state=connected&proto_ver=1&ip_address=127.0.0.1'), ['meter-1', 'meter-2'])
  assert.deepEqual(await names('conn_state=disconnected'), [])
  const soon = new Date(Date.now() + 3_600_000).toISOString()
  assert.deepEqual(await names(`lte_connected_at=${soon}`), ['meter-1', 'meter-2'])
  assert.deepEqual(await names(`gte_created_at=${soon}`), [])
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/clients?conn_state=x')).status, 400)
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/clients?gte_created_at=x')).status, 400)

  assert.equal((await record('meter-1')).sleeping, undefined)
  assert.deepEqual([(await record('meter-2')).sleeping, (await record('meter-2')).conn_state], [true, 'connected'])

  const subscriptions = '/api/v5/gateways/mqttsn/clients/meter-1/subscriptions'
  const added = await broker.request(subscriptions, { method: 'POST', body: { topic: 'a/+', qos: 1 } })
  assert.deepEqual(added.json, { code: 0, topic: 'a/+', qos: 1, nl: 0, rap: 0, rh: 0 })
  assert.deepEqual((await broker.request(subscriptions)).json, [{ topic: 'a/+', qos: 1, nl: 0, rap: 0, rh: 0 }])
  assert.equal((await broker.request(subscriptions, { method: 'POST', body: { topic: 'a/#/b' } })).status, 400)
  const optional = { topic: 'b', qos: 0, nl: 1, rap: 1, rh: 2 }
  const response = await broker.request(subscriptions, { method: 'POST', body: optional })
  assert.deepEqual(response.json, { code: 0, ...optional })
  const listed = (await broker.request(subscriptions)).json as { topic: string }[]
  assert.deepEqual(
    listed.find(({ topic }) => topic === 'b'),
    optional,
  )
  for (const bad of [{ nl: 2 }, { rh: 3 }, { topic: '$share/g/b', nl: 1 }])
    assert.equal((await broker.request(subscriptions, { method: 'POST', body: { topic: 'b', ...bad } })).status, 400)
  assert.equal((await broker.request(`${subscriptions}/b`, { method: 'DELETE' })).status, 200)
  assert.equal((await broker.request(`${subscriptions}/a%2F%2B`, { method: 'DELETE' })).status, 200)
  assert.deepEqual((await broker.request(subscriptions)).json, [])
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/clients/nobody/subscriptions')).status, 404)

  reconnected.raw(Buffer.of(9, 9, 9))
  const metric = async (name: string): Promise<number> => {
    const { text } = await broker.request('/api/v4/prometheus')
    return Number(new RegExp(`^svc_gateway_${name} (\\d+)$`, 'm').exec(text)?.[1])
  }
  assert.equal(await metric('clients{gateway="mqttsn"}'), 2)
  while ((await metric('dropped_total{gateway="mqttsn",reason="malformed"}')) !== 1);
  assert.ok((await metric('received_total{gateway="mqttsn"}')) >= 4)
  assert.ok((await metric('sent_total{gateway="mqttsn"}')) >= 3)

  const kicked = await broker.request('/api/v5/gateways/mqttsn/clients/meter-1', { method: 'DELETE' })
  assert.deepEqual([kicked.status, kicked.json], [200, { code: 0 }])
  await reconnected.expect('disconnect')
})

test('[F2] listeners are added, changed and removed while the gateway runs', async (t) => {
  const { broker, port } = await brokerWith(t, 'mqttsn')
  const list = async () =>
    ((await broker.request('/api/v5/gateways/mqttsn/listeners')).json as { id: string; running: boolean }[]).map(
      ({ id, running }) => [id, running],
    )
  assert.deepEqual(await list(), [['mqttsn:udp:default', true]])
  const other = await reservePort(t)
  const body = { type: 'udp', name: 'plant', bind: `127.0.0.1:${other}`, max_connections: 10 }
  const added = await broker.request('/api/v5/gateways/mqttsn/listeners', { method: 'POST', body })
  assert.equal(added.status, 200, added.text)
  assert.deepEqual([added.json.id, added.json.running, added.json.max_connections], ['mqttsn:udp:plant', true, 10])
  const again = await broker.request('/api/v5/gateways/mqttsn/listeners', { method: 'POST', body })
  assert.deepEqual([again.status, again.json.reason], [400, 'BAD_REQUEST'])
  const taken = await broker.request('/api/v5/gateways/mqttsn/listeners', {
    method: 'POST',
    body: { ...body, name: 'third' },
  })
  assert.deepEqual([taken.status, taken.json.reason], [400, 'BAD_REQUEST'])
  assert.match(taken.text, /gateway\.mqttsn\.listeners\.udp\.third\.bind: .* gateway\.mqttsn\.listeners\.udp\.plant/)
  const device = await SnDevice.at(t, other)
  await device.connected('meter-1')
  const changed = await broker.request('/api/v5/gateways/mqttsn/listeners/mqttsn:udp:plant', {
    method: 'PUT',
    body: { bind: `127.0.0.1:${other}`, max_connections: 20 },
  })
  assert.equal(changed.json.max_connections, 20, changed.text)
  await device.expect('disconnect')
  assert.equal((await broker.request('/api/v5/gateways/mqttsn/listeners/mqttsn:udp:x')).status, 404)
  const removed = await broker.request('/api/v5/gateways/mqttsn/listeners/mqttsn:udp:plant', { method: 'DELETE' })
  assert.deepEqual(removed.json, { code: 0 })
  assert.deepEqual(await list(), [['mqttsn:udp:default', true]])
  await (await SnDevice.at(t, port)).connected('meter-2')
})

test('[F2] a CoAP client responds to a request of the API; without a response, the API returns 504', async (t) => {
  const { broker, port } = await brokerWith(t, 'coap')
  const client = await UdpCoapDevice.at(t, port)
  client.device.request(post, 'mqtt/connection', 'clientid=lamp', '')
  assert.equal((await client.next()).code, '2.01')
  const path = '/api/v5/gateways/coap/clients/lamp/request'
  const response = broker.request(path, {
    method: 'POST',
    body: { token: 'tok1', method: 'post', content_type: 'application/octet-stream', payload: 'AAEC' },
  })
  const request = await client.next()
  assert.deepEqual(
    [request.type, request.code, Buffer.from(request.token, 'hex').toString(), [...request.payload], request.format],
    ['con', '0.02', 'tok1', [0, 1, 2], 42],
  )
  client.device.acknowledge(request)
  client.device.respondLater(request, '2.05', { payload: Buffer.of(9, 8) })
  const { status, json } = await response
  assert.deepEqual([status, json.token, json.method, json.payload], [200, 'tok1', '2.05', 'CQg='])
  assert.equal((await client.next()).type, 'ack')

  const silent = await broker.request(path, { method: 'POST', body: { method: 'get', timeout: '200ms' } })
  assert.deepEqual([silent.status, silent.json.reason], [504, 'CLIENT_NOT_RESPONSE'])
  const absent = await broker.request('/api/v5/gateways/coap/clients/x/request', {
    method: 'POST',
    body: { method: 'get' },
  })
  assert.deepEqual([absent.status, absent.json.reason], [404, 'CLIENT_NOT_FOUND'])
  for (const body of [{ method: 'patch' }, { method: 'get', timeout: 'x' }, { method: 'get', token: 'much too long' }])
    assert.equal((await broker.request(path, { method: 'POST', body })).status, 400, JSON.stringify(body))
})

test('[F2] an LwM2M device is read, written and observed over the API, and found by endpoint name and lifetime', async (t) => {
  const { broker, port } = await brokerWith(t, 'lwm2m')
  const client = await UdpCoapDevice.at(t, port)
  client.device.request(post, 'rd', 'ep=meter&lt=70000&lwm2m=1.1', '</3/0>')
  assert.equal((await client.next()).code, '2.01')
  const base = '/api/v5/gateways/lwm2m/clients/meter'
  const lookup = async (query: string) => (await broker.request(`${base}/lookup?${query}`)).json.data
  const none = { clientid: 'meter', path: '/3/0/0', action: 'read', code: '6.01', codeMsg: 'reply_not_received' }
  assert.deepEqual(await lookup('path=/3/0/0&action=read'), { ...none, content: [] })
  assert.deepEqual((await broker.request(`${base}/read?path=/3/0/0`, { method: 'POST' })).json, { code: 0 })
  const read = await client.next()
  assert.deepEqual([read.code, read.path], ['0.01', '/3/0/0'])
  client.device.respond(read, '2.05', { format: 0, payload: 'maker' })
  const expected = { code: '2.05', codeMsg: 'content', content: [{ path: '/3/0/0', value: 'maker' }] }
  let found = await lookup('path=/3/0/0&action=read')
  while (found.code === '6.01') found = await lookup('path=/3/0/0&action=read')
  assert.deepEqual(found, { ...none, ...expected })

  const written = await broker.request(`${base}/write?path=/1/0/1&type=Integer&value=120`, { method: 'POST' })
  assert.equal(written.status, 200, written.text)
  const write = await client.next()
  assert.deepEqual([write.code, write.path, write.payload.toString('hex')], ['0.03', '/1/0/1', 'c10178'])
  client.device.respond(write, '2.04')
  assert.equal((await broker.request(`${base}/observe?path=/3/0/9&enable=true`, { method: 'POST' })).status, 200)
  assert.equal((await client.next()).observe, 0)

  for (const bad of ['read', 'write?path=/1/0/1', 'observe?path=/3/0/9', 'read?path=x'])
    assert.equal((await broker.request(`${base}/${bad}`, { method: 'POST' })).status, 400, bad)
  assert.equal((await broker.request(`${base}/lookup?path=/3`)).status, 400)
  assert.equal((await broker.request('/api/v5/gateways/lwm2m/clients/x/read?path=/3', { method: 'POST' })).status, 404)
  const count = async (query: string) =>
    (await broker.request(`/api/v5/gateways/lwm2m/clients?${query}`)).json.meta.count as number
  assert.equal(await count('endpoint_name=meter&lifetime=70000'), 1)
  assert.equal(await count('like_endpoint_name=ete&gte_lifetime=300&lte_lifetime=70000'), 1)
  assert.equal(await count('gte_lifetime=70001'), 0)
  const shown = (await broker.request(base)).json
  assert.deepEqual([shown.lifetime, shown.keepalive], [70_000, 70_000], '[F1] keepalive is the lifetime')
})

test('[F2] a device whose session belongs to another shard is listed with its endpoint name and lifetime, also after an update', async (t) => {
  const { broker, port } = await brokerWith(t, 'lwm2m')
  const client = await UdpCoapDevice.at(t, port)
  const place = { own: 0, shards: 2 }
  const names = Array.from({ length: 64 }, (_, index) => `relayed-${index}`)
  const clientId = names.find((name) => findOwnerShard(name, place) !== findOwnerShard('pump', place)) ?? assert.fail()
  client.device.request(post, 'rd', `ep=pump&device_id=${clientId}&lt=600&lwm2m=1.1`, '</3/0>')
  const registered = await client.next()
  assert.equal(registered.code, '2.01')
  const path = `/api/v5/gateways/lwm2m/clients/${clientId}`
  const shown = async () => {
    const { endpoint_name: endpointName, lifetime } = (await broker.request(path)).json
    return [endpointName, lifetime]
  }
  assert.deepEqual(await shown(), ['pump', 600])
  client.device.request(post, `rd/${registered.location[1]}`, 'lt=900', '')
  assert.equal((await client.next()).code, '2.04')
  await eventually(async () => assert.deepEqual(await shown(), ['pump', 900]))
})
