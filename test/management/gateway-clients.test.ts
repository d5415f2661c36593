// Clients, listeners and devices of gateways over the API: section F2 of the gateway contract.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { eventually } from '../e2e/eventually.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { SnDevice } from '../gateways/sn-device.ts'
import { UdpCoapDevice } from '../gateways/udp-coap-device.ts'
import { type BrokerWithApi, shareConfigurableBroker } from './api.ts'

const post = 2

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

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
