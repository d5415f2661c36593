// The broker, its node and its listeners over the API.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { endpoints } from '../../src/api/endpoints.ts'
import { compileShape } from '../../src/contract/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { type BrokerWithApi, portOfListener, shareConfigurableBroker } from './api.ts'

interface ListedListener {
  readonly protocol: string
  readonly listen_on: string
  readonly identifier: string
  readonly acceptors: number
  readonly max_conns: number
  readonly current_conns: number
  readonly shutdown_count: Record<string, number>
}

async function listenerOf(broker: BrokerWithApi, identifier: string): Promise<ListedListener> {
  const response = await broker.request('/api/v4/listeners')
  assert.equal(compileShape(endpoints.list_listeners.reply).findFault(response.json), undefined)
  const found = response.json.data[0].listeners.find((one: ListedListener) => one.identifier === identifier)
  assert.ok(found, `${identifier} in ${response.text}`)
  return found
}

/** Repeats the request: the broker notices a closed socket and counts a refused one after a short time. */
function waitUntil(
  broker: BrokerWithApi,
  identifier: string,
  condition: (one: ListedListener) => boolean,
): Promise<ListedListener> {
  return eventually(async () => {
    const found = await listenerOf(broker, identifier)
    assert.ok(condition(found), JSON.stringify(found))
    return found
  })
}

async function waitForConnections(broker: BrokerWithApi, identifier: string, connections: number): Promise<void> {
  await waitUntil(broker, identifier, ({ current_conns }) => current_conns === connections)
}

const hasRefused = ({ shutdown_count }: ListedListener): boolean => Object.keys(shutdown_count).length > 0

const configuredBroker = shareConfigurableBroker(['node.shards=2', 'node.name="godwit@here"'])

test('GET /brokers and /nodes describe the broker and its node', async (t) => {
  const broker = await configuredBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.endAsync())
  const brokers = await broker.request('/api/v4/brokers')
  assert.equal(brokers.status, 200)
  assert.equal(brokers.json.code, 0)
  const [described] = brokers.json.data
  assert.match(described.datetime, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  assert.match(described.uptime, /^\d+ Hours, \d+ minutes, \d+ seconds$/)
  assert.equal(described.node_status, 'Running')
  const nodes = await broker.request('/api/v4/nodes/')
  assert.equal(nodes.json.data[0].connections, 1)
  const { node } = nodes.json.data[0]
  const [ofNode, one] = await Promise.all(['brokers', 'nodes'].map((list) => broker.request(`/api/v4/${list}/${node}`)))
  assert.deepEqual(ofNode.json.data.version, described.version)
  assert.deepEqual(Object.keys(one.json.data), Object.keys(nodes.json.data[0]))
  for (const list of ['brokers', 'nodes']) {
    const unknownNode = await broker.request(`/api/v4/${list}/there`)
    assert.deepEqual([unknownNode.status, unknownNode.json.code], [404, 108])
  }
})

test('a request without credentials gets 104 and one with a wrong password 103, whether its path exists or not', async () => {
  const broker = await configuredBroker()
  for (const path of ['/api/v4/brokers', '/api/v4/nowhere', '/nowhere']) {
    const unauthenticated = await broker.request(path, { as: null })
    assert.deepEqual([unauthenticated.status, unauthenticated.json.code], [401, 104], path)
    assert.match(unauthenticated.headers.get('www-authenticate') ?? '', /^Basic/)
    const wrong = await broker.request(path, { as: 'admin:wrong' })
    assert.deepEqual([wrong.status, wrong.json.code], [401, 103], path)
    const empty = await broker.request(path, { as: ':' })
    assert.deepEqual([empty.status, empty.json.code], [401, 104], path)
  }
  const unknown = await broker.request('/api/v4/nowhere')
  assert.deepEqual([unknown.status, unknown.json.code], [404, 102])
})

test('listeners are listed with the number of their connections on all shards', async () => {
  const ws = [
    'listeners.ws.bind="127.0.0.1:0/mqtt"',
    'listeners.ws.max_connections=7',
    'listeners.ws.access_rules=["deny all"]',
  ]
  const broker = await configuredBroker(ws)
  const url = `mqtt://127.0.0.1:${broker.port}`
  const clients = await Promise.all(Array.from({ length: 9 }, () => connectAsync(url)))
  const tcp = await listenerOf(broker, 'mqtt:tcp:default')
  const expected = { protocol: 'mqtt:tcp', listen_on: `127.0.0.1:${broker.port}`, acceptors: 2, current_conns: 9 }
  assert.deepEqual({ ...tcp, ...expected }, tcp)
  assert.ok(tcp.max_conns > 100, 'the default limit is that of the machine')
  await clients[0]?.endAsync()
  await waitForConnections(broker, 'mqtt:tcp:default', 8)
  for (const client of clients.slice(1)) await client.endAsync()
  const refused = createConnection(await portOfListener(broker, 'ws'), '127.0.0.1')
  await once(refused, 'close')
  const { max_conns, shutdown_count } = await waitUntil(broker, 'mqtt:ws:default', hasRefused)
  assert.deepEqual({ max_conns, shutdown_count }, { max_conns: 7, shutdown_count: { refused: 1 } })
})

test('the path of the node lists its listeners, and an unknown node is 404', async () => {
  const broker = await configuredBroker()
  const known = await broker.request('/api/v4/nodes/godwit%40here/listeners')
  assert.equal(compileShape(endpoints.list_node_listeners.reply).findFault(known.json), undefined)
  assert.equal(known.json.data[0].identifier, 'mqtt:tcp:default')
  for (const [path, method] of [
    ['/api/v4/nodes/elsewhere/listeners', 'GET'],
    ['/api/v4/nodes/elsewhere/listeners/mqtt:tcp:default/restart', 'PUT'],
  ] as const) {
    const unknown = await broker.request(path, { method })
    assert.deepEqual([unknown.status, unknown.json.code], [404, 108], path)
  }
})

test('a restart of a listener disconnects its clients with 0x8B, accepts new connections, and does not affect other listeners', async (t) => {
  const ws = ['listeners.ws.bind="127.0.0.1:0/mqtt"']
  const broker = await configuredBroker(ws)
  const options = { protocolVersion: 5, reconnectPeriod: 0 } as const
  const url = `mqtt://127.0.0.1:${broker.port}`
  const leaving = await Promise.all(Array.from({ length: 6 }, () => connectAsync(url, options)))
  const staying = await connectAsync(`ws://127.0.0.1:${await portOfListener(broker, 'ws')}/mqtt`, options)
  t.after(() => staying.endAsync(true))
  let isStillOpen = true
  staying.on('close', () => (isStillOpen = false))
  const reasonCodes = leaving.map(
    (client) => new Promise((resolve) => client.on('disconnect', ({ reasonCode }) => resolve(reasonCode))),
  )
  const response = await broker.request('/api/v4/listeners/mqtt%3Atcp%3Adefault/restart', { method: 'PUT' })
  assert.deepEqual([response.status, response.json], [200, { code: 0 }])
  assert.deepEqual(
    await Promise.all(reasonCodes),
    leaving.map(() => 0x8b),
  )
  const again = await connectAsync(url, options)
  await waitForConnections(broker, 'mqtt:tcp:default', 1)
  await staying.publishAsync('a', 'b', { qos: 1 })
  assert.ok(isStillOpen)
  await again.endAsync()
})

test('a restart of an unknown listener is 404 with 108, and the error lists the existing listeners', async () => {
  const broker = await configuredBroker()
  for (const identifier of ['mqtt:tcp:nobody', 'default', 'mqtt:tcp', '%00', '..%2f', 'mqtt:__proto__:default']) {
    const response = await broker.request(`/api/v4/listeners/${identifier}/restart`, { method: 'PUT' })
    assert.deepEqual([response.status, response.json.code], [404, 108], identifier)
    assert.match(response.json.message, /mqtt:tcp:default/)
  }
})
