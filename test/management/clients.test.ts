import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { clientEndpoints } from '../../src/api/clients/endpoints.ts'
import { compileShape } from '../../src/contract/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { type Scope, shared } from '../e2e/godwit-process.ts'
import { type ApiResponse, type BrokerWithApi, shareConfigurableBroker, startBrokerWithApi } from './api.ts'

const listShape = compileShape(clientEndpoints.list_clients.reply)

/** Requests a list and checks the response against the contract. */
async function list(broker: BrokerWithApi, path: string): Promise<ApiResponse['json']> {
  const { status, json, text } = await broker.request(`/api/v4${path}`)
  assert.equal(status, 200, text)
  assert.equal(listShape.findFault(json), undefined)
  return json
}

async function idsOf(broker: BrokerWithApi, path: string): Promise<string[]> {
  const { data } = await list(broker, path)
  return data.map((client: { clientid: string }) => client.clientid).toSorted()
}

async function connect(t: Scope, broker: BrokerWithApi, options: IClientOptions): Promise<MqttClient> {
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0, ...options })
  t.after(() => client.endAsync(true))
  return client
}

const persistent = { protocolVersion: 5, clean: false, properties: { sessionExpiryInterval: 600 } } as const

/** Two connected clients, one of MQTT 5.0 (user ann) and one of 3.1.1 (user bob), and a disconnected session with a full queue. */
async function startWithThree(t: Scope): Promise<BrokerWithApi> {
  const broker = await startBrokerWithApi(t, { set: ['node.shards=3', 'mqtt.max_stored_messages=2'] })
  const disconnectedClient = await connect(t, broker, { clientId: 'sensor/offline', username: 'ann', ...persistent })
  await disconnectedClient.subscribeAsync('queue', { qos: 1 })
  await disconnectedClient.endAsync()
  // The owner shard may not be the shard of the connection, so it may notice the end of the connection later.
  await eventually(async () => assert.deepEqual(await idsOf(broker, '/clients?connected=false'), ['sensor/offline']))
  await connect(t, broker, { clientId: 'sensor-5', username: 'ann', protocolVersion: 5, keepalive: 33 })
  const third = await connect(t, broker, { clientId: 'lamp-4', username: 'bob' })
  for (let count = 0; count < 3; count++) await third.publishAsync('queue', 'x', { qos: 1 })
  return broker
}

const withThree = shared(startWithThree)
const configuredBroker = shareConfigurableBroker(['node.name="here@127.0.0.1"', 'node.shards=3'])

test('GET /clients/:clientid shows all attributes of a client, with the client ID as `clientid` and `client_id`', async () => {
  const broker = await withThree()
  const { data } = await list(broker, '/clients/sensor-5')
  assert.equal(data.length, 1)
  const [client] = data
  const { clientid, client_id, username, conn_state, connected, keepalive, proto_name, proto_ver, clean_start } = client
  assert.deepEqual(
    { clientid, client_id, username, conn_state, connected, keepalive, proto_name, proto_ver, clean_start },
    {
      clientid: 'sensor-5',
      client_id: 'sensor-5',
      username: 'ann',
      conn_state: 'connected',
      connected: true,
      keepalive: 33,
      proto_name: 'MQTT',
      proto_ver: 5,
      clean_start: true,
    },
  )
  assert.equal(client.ip_address, '127.0.0.1')
  assert.ok(client.port > 0 && client.recv_pkt > 0 && client.send_pkt > 0 && client.send_oct > 0)
  assert.match(client.connected_at, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  const [disconnectedClient] = (await list(broker, '/clients/sensor%2Foffline')).data
  assert.deepEqual(
    [disconnectedClient.conn_state, disconnectedClient.connected, disconnectedClient.port],
    ['disconnected', false, 0],
  )
  assert.deepEqual(
    [disconnectedClient.subscriptions_cnt, disconnectedClient.mqueue_len, disconnectedClient.mqueue_dropped],
    [1, 2, 1],
  )
  assert.match(disconnectedClient.disconnected_at, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  assert.equal((await list(broker, '/clients/lamp-4')).data[0].recv_msg, 3)
})

test('each query parameter of /clients filters, alone, combined with others and with the path', async () => {
  const broker = await withThree()
  const all = ['lamp-4', 'sensor-5', 'sensor/offline']
  const expected: readonly [string, readonly string[]][] = [
    ['', all],
    ['?clientid=lamp-4', ['lamp-4']],
    ['?client_id=sensor%2Foffline', ['sensor/offline']],
    ['?clientid=lamp-4&client_id=sensor-5', []],
    ['?username=ann', ['sensor-5', 'sensor/offline']],
    ['?conn_state=connected', ['lamp-4', 'sensor-5']],
    ['?conn_state=DISCONNECTED', ['sensor/offline']],
    ['?conn_state=idle', []],
    ['?connected=true', ['lamp-4', 'sensor-5']],
    ['?clean_start=false', ['sensor/offline']],
    ['?clean_start=True', ['lamp-4', 'sensor-5']],
    ['?proto_name=MQTT', all],
    ['?proto_name=CoAP', []],
    ['?proto_ver=4', ['lamp-4']],
    ['?proto_ver=77', []],
    ['?ip_address=127.0.0.1', all],
    ['?ip_address=10.0.0.1', []],
    ['?_like_clientid=ens', ['sensor-5', 'sensor/offline']],
    ['?_like_username=o', ['lamp-4']],
    ['?_gte_created_at=2020-01-01%2000:00:00', all],
    ['?_lte_created_at=1600000000', []],
    ['?_gte_connected_at=1600000000&_lte_connected_at=99999999999', all],
    ['?_lte_connected_at=1600000000000', []],
    ['?_gte_mqueue_len=2', ['sensor/offline']],
    ['?_lte_mqueue_len=1', ['lamp-4', 'sensor-5']],
    ['?_gte_mqueue_dropped=1', ['sensor/offline']],
    ['?_lte_mqueue_dropped=0', ['lamp-4', 'sensor-5']],
    ['?username=ann&conn_state=connected', ['sensor-5']],
    ['?username=ann&proto_ver=4', []],
    ['?username=', all],
    ['/lamp-4', ['lamp-4']],
    ['/lamp-4?username=ann', []],
    ['/lamp-4?clientid=sensor-5', []],
    ['/nobody', []],
    ['/username/ann', ['sensor-5', 'sensor/offline']],
    ['/username/ann?connected=false', ['sensor/offline']],
    ['/username/nobody', []],
  ]
  for (const [query, ids] of expected) assert.deepEqual(await idsOf(broker, `/clients${query}`), ids, query)
})

test('an unknown query parameter of /clients or an invalid value is refused with 108', async () => {
  const broker = await configuredBroker()
  const wrong = [
    '?zone=default',
    '?__proto__=1',
    '?conn_state=awake',
    '?connected=perhaps',
    '?clean_start=1',
    '?proto_ver=five',
    '?proto_ver=4.5',
    '?_gte_created_at=yesterday',
    '?_lte_connected_at=2020-99-01%2000:00:00',
    '?_gte_mqueue_len=-1',
    '?_lte_mqueue_dropped=many',
    '?clientid=a&clientid=b',
    '?_page=0',
    '?_page=1.5',
    '?_limit=0',
    '?_limit=10001',
    '?_cursor=nowhere',
    '?_cursor=first&_page=1',
  ]
  for (const query of wrong) {
    for (const path of ['/clients', '/clients/x', '/clients/username/x']) {
      const { status, json } = await broker.request(`/api/v4${path}${query}`)
      assert.deepEqual([status, json.code], [400, 108], path + query)
    }
  }
})

test('clients are listed by page or by cursor, each once, with the total number', async (t) => {
  const broker = await configuredBroker()
  // Clients of the previous test.
  await eventually(async () => assert.deepEqual(await idsOf(broker, '/clients'), []))
  const ids = Array.from({ length: 11 }, (_, number) => `c${number}`).toSorted()
  await Promise.all(ids.map((clientId) => connect(t, broker, { clientId, username: clientId < 'c2' ? 'a' : 'b' })))
  const pages = await Promise.all([1, 2, 3, 4].map((page) => list(broker, `/clients?_page=${page}&_limit=4`)))
  assert.deepEqual(
    pages.map(({ meta }) => meta),
    [true, true, false, false].map((hasnext, at) => ({ page: at + 1, limit: 4, count: 11, hasnext })),
  )
  const paged: string[] = pages.flatMap(({ data }) => data.map((client: { clientid: string }) => client.clientid))
  assert.deepEqual(paged.toSorted(), ids)
  const bytes = pages.flatMap(({ data }) => data.map((client: { recv_oct: number }) => client.recv_oct))
  assert.equal(
    new Set(bytes).size,
    2,
    'the bytes of CONNECT are counted, whichever shard received it: client IDs have two lengths',
  )
  const filtered = await list(broker, '/clients?username=a&limit=2&page=2')
  assert.deepEqual(filtered.meta, { page: 2, limit: 2, count: 3, hasnext: false })
  assert.equal(filtered.data.length, 1)
  assert.equal((await list(broker, '/clients')).meta, undefined)

  const listed: string[] = []
  let cursor = 'first'
  for (let pages = 0; cursor !== ''; pages++) {
    assert.ok(pages < 10, 'the cursor ends')
    const { data, meta } = await list(broker, `/clients?_cursor=${cursor}&_limit=3`)
    for (const { clientid } of data) listed.push(clientid)
    assert.equal(meta.hasnext, meta.cursor !== undefined)
    cursor = meta.cursor ?? ''
  }
  assert.deepEqual(listed.toSorted(), ids)
  assert.deepEqual(await idsOf(broker, '/clients?_cursor=99.0.0'), [], 'a cursor of an unknown shard')
})

test('clients are listed in the order of a number, over all shards, with the number of those that match', async (t) => {
  const broker = await configuredBroker()
  await eventually(async () => assert.deepEqual(await idsOf(broker, '/clients'), []))
  const ids = ['Ordered-1', 'ordered-2', 'ordered-3', 'ORDERED-4', 'ordered-5', 'other']
  const clients = await Promise.all(ids.map((clientId) => connect(t, broker, { clientId })))
  for (const [at, client] of clients.entries())
    for (let count = 0; count <= at; count++) await client.publishAsync('x', 'y', { qos: 1 })
  const page = '/clients?_like_clientid=oRDered&order_by=-recv_msg&_limit=2&_page='
  const pages = await Promise.all([1, 2, 3].map((number) => list(broker, `${page}${number}`)))
  const numbers = pages.flatMap(({ data }) => data.map((row: { recv_msg: number }) => row.recv_msg))
  assert.deepEqual(numbers, [5, 4, 3, 2, 1])
  assert.deepEqual(
    pages.map(({ meta }) => [meta.count, meta.hasnext]),
    [
      [5, true],
      [5, true],
      [5, false],
    ],
  )
  const [fewest] = (await list(broker, '/clients?order_by=recv_msg&_limit=1')).data
  assert.equal(fewest.clientid, 'Ordered-1')
  for (const wrong of ['order_by=clientid', 'order_by=-recv_msg', 'order_by=recv_msg&_page=11&_limit=1000']) {
    const { status, json } = await broker.request(`/api/v4/clients?${wrong}`)
    assert.deepEqual([status, json.code], [400, 108], wrong)
    assert.match(json.message, /order_by/)
  }
})

test('the busiest clients are those that send while it is measured, not those that sent most before', async (t) => {
  const broker = await configuredBroker()
  const before = await connect(t, broker, { clientId: 'sent-before' })
  for (let count = 0; count < 50; count++) await before.publishAsync('x', 'y', { qos: 1 })
  const floods = await connect(t, broker, { clientId: 'floods' })
  const measured = new AbortController()
  const flood = async (): Promise<void> => {
    while (!measured.signal.aborted) await floods.publishAsync('x', 'payload', { qos: 1 })
  }
  const flooding = flood()
  const { status, json } = await broker.request('/api/v4/busy_clients?seconds=1')
  measured.abort()
  await flooding
  assert.equal(status, 200)
  assert.deepEqual(
    json.data.map(({ clientid }: { clientid: string }) => clientid),
    ['floods'],
  )
  const [busiest] = json.data
  assert.ok(busiest.recv_msg_rate > 0 && busiest.recv_oct_rate > busiest.recv_msg_rate, JSON.stringify(busiest))
  assert.equal((await broker.request('/api/v4/busy_clients?seconds=11')).json.code, 108)
})

test('DELETE /clients/:clientid disconnects the client with reason code 0x98; for a client that is not connected it is 112', async (t) => {
  const broker = await configuredBroker()
  const client = await connect(t, broker, { clientId: 'a/b c', ...persistent })
  const disconnected = new Promise<number | undefined>((resolve) => {
    client.once('disconnect', ({ reasonCode }) => resolve(reasonCode))
  })
  const kicked = await broker.request('/api/v4/clients/a%2Fb%20c', { method: 'DELETE' })
  assert.deepEqual([kicked.status, kicked.json], [200, { code: 0 }])
  assert.equal(await disconnected, 0x98)
  assert.deepEqual(await idsOf(broker, '/clients?conn_state=disconnected'), ['a/b c'])
  for (const id of ['a%2Fb%20c', 'nobody']) {
    const offline = await broker.request(`/api/v4/clients/${id}`, { method: 'DELETE' })
    assert.deepEqual([offline.status, offline.json.code], [404, 112])
  }
})

test('the keep alive of a client is changed while it is connected', async (t) => {
  const broker = await configuredBroker()
  const client = await connect(t, broker, { clientId: 'c', keepalive: 0 })
  const change = (body: unknown, id = 'c'): Promise<ApiResponse> =>
    broker.request(`/api/v4/clients/${id}/keepalive`, { method: 'PUT', body })
  assert.deepEqual((await change({ interval: 77 })).json, { code: 0 })
  assert.equal((await list(broker, '/clients/c')).data[0].keepalive, 77)
  const wrong: readonly [unknown, number, number][] = [
    [{ interval: -1 }, 400, 108],
    [{ interval: 65_536 }, 400, 108],
    [{ interval: '5' }, 400, 108],
    [{}, 400, 107],
    ['{', 400, 109],
  ]
  for (const [body, status, code] of wrong) {
    const refused = await change(body)
    assert.deepEqual([refused.status, refused.json.code], [status, code], JSON.stringify(body))
  }
  const offline = await change({ interval: 5 }, 'nobody')
  assert.deepEqual([offline.status, offline.json.code], [404, 112])
  // The client connected without a keep alive and sends nothing by itself. Now it has a keep alive.
  const closed = new Promise<void>((resolve) => void client.once('close', resolve))
  assert.deepEqual((await change({ interval: 1 })).json, { code: 0 })
  await closed
})

test('cached authorizations of a client are listed and deleted', async (t) => {
  const rules = 'auth.acl.rules=[{permit=deny,action=publish,topics=["no"]},{permit=allow}]'
  const broker = await configuredBroker([rules])
  const client = await connect(t, broker, { clientId: 'c' })
  await client.publishAsync('yes', 'x', { qos: 1 })
  await client.publishAsync('no', 'x', { qos: 1 })
  const cache = '/api/v4/clients/c/acl_cache'
  const { json } = await broker.request(cache)
  assert.equal(compileShape(clientEndpoints.list_acl_cache.reply).findFault(json), undefined)
  const listed = json.data.map(({ topic, result }: { topic: string; result: string }) => `${topic}: ${result}`)
  assert.deepEqual(listed.toSorted(), ['no: deny', 'yes: allow'])
  assert.deepEqual((await broker.request(cache, { method: 'DELETE' })).json, { code: 0 })
  assert.deepEqual((await broker.request(cache)).json, { code: 0, data: [] })
  for (const path of ['/api/v4/acl-cache', '/api/v4/nodes/here@127.0.0.1/acl-cache']) {
    await client.publishAsync('yes', 'x', { qos: 1 })
    assert.equal((await broker.request(cache)).json.data.length, 1)
    assert.deepEqual((await broker.request(path, { method: 'DELETE' })).json, { code: 0 })
    assert.deepEqual((await broker.request(cache)).json.data, [], path)
  }
  for (const method of ['GET', 'DELETE'] as const) {
    const offline = await broker.request('/api/v4/clients/nobody/acl_cache', { method })
    assert.deepEqual([offline.status, offline.json.code], [404, 112])
  }
})

test('the paths of the node list the same clients, and an unknown node is 404', async (t) => {
  const broker = await configuredBroker()
  const client = await connect(t, broker, { clientId: 'c', username: 'ann' })
  await client.subscribeAsync('a')
  assert.deepEqual(await idsOf(broker, '/nodes/here@127.0.0.1/clients?username=ann'), ['c'])
  assert.deepEqual(await idsOf(broker, '/nodes/here%40127.0.0.1/clients/c'), ['c'])
  assert.deepEqual(await idsOf(broker, '/nodes/here@127.0.0.1/clients/d'), [])
  assert.deepEqual(await idsOf(broker, '/nodes/here@127.0.0.1/clients/username/ann'), ['c'])
  assert.deepEqual(await idsOf(broker, '/nodes/here@127.0.0.1/clients/username/ann?proto_ver=5'), [])
  const { json } = await broker.request('/api/v4/nodes/here@127.0.0.1/subscriptions/c')
  assert.deepEqual(json.data, [{ clientid: 'c', topic: 'a', qos: 0, node: 'here@127.0.0.1' }])
  const paths = ['clients', 'clients/c', 'clients/username/ann', 'subscriptions', 'subscriptions/c']
  for (const [method, path] of [
    ...paths.map((path) => ['GET', path]),
    ['DELETE', 'clients/c'],
    ['DELETE', 'acl-cache'],
  ]) {
    const unknownNode = await broker.request(`/api/v4/nodes/there/${path}`, { method: method as 'GET' | 'DELETE' })
    assert.deepEqual([unknownNode.status, unknownNode.json.code], [404, 108], path)
  }
  const kick = { method: 'DELETE' } as const
  assert.deepEqual((await broker.request('/api/v4/nodes/here@127.0.0.1/clients/c', kick)).json, { code: 0 })
  const gone = await broker.request('/api/v4/nodes/here@127.0.0.1/clients/c', kick)
  assert.deepEqual([gone.status, gone.json.code], [404, 112])
})
