import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { endpoints } from '../../src/api/endpoints.ts'
import { compileShape } from '../../src/contract/index.ts'
import { type Scope, shared, temporaryFolder } from '../e2e/godwit-process.ts'
import { Authority } from '../transports/certificates.ts'
import { type BrokerWithApi, restartBroker, startBrokerWithApi } from './api.ts'

const secret = 'kept-from-everybody'

const file = `
bridges.mqtt.office {
  server = "mqtt-tcp://broker.example:1883"
  proto_ver = 5
  clientid = office
  keepalive = 30s
  clean_start = false
  username = alice
  password = "${secret}"
  enable = false
  forwards = [{ remote_topic = "up/#", local_topic = "out/#", qos = 1 }]
  subscription = [{ remote_topic = "down/#", local_topic = "in/#", qos = 2 }]
}
bridges.mqtt.plain { enable = true, server = "mqtt-tcp://127.0.0.1:9" }
bridges.aws.iot {
  server = "endpoint.example:8883", enable = false, clientid = thing, password = "${secret}"
  forwards = [{ local_topic = "a/#", remote_topic = "" }]
}
node.allowed_directories = ["/etc/keys"]
`

/** The configuration file is in the data directory, because the API may change it only there. */
async function brokerWithBridges(t: Scope): Promise<BrokerWithApi & { readonly dataDirectory: string }> {
  const dataDirectory = await temporaryFolder(t)
  await writeFile(join(dataDirectory, 'godwit.conf'), file)
  return startBrokerWithApi(t, { dataDirectory })
}

// oxlint-disable-next-line typescript/no-explicit-any
async function nodeOf(broker: BrokerWithApi, name: string): Promise<any> {
  const response = await broker.request(`/api/v4/bridges/${name}`)
  assert.equal(response.status, 200, response.text)
  assert.equal(compileShape(endpoints.get_mqtt_bridge.reply).findFault(response.json), undefined)
  return settingsIn(response.json.data.bridge.nodes[0])
}

/** The settings of a bridge, without its current state. */
// oxlint-disable-next-line typescript/no-explicit-any
function settingsIn(node: any): any {
  return { ...node, status: undefined }
}

/** The form of PUT requests and responses. */
// oxlint-disable-next-line typescript/no-explicit-any
function flattened({ connector, ...node }: any): any {
  return { ...node, ...connector }
}

async function allSettings(broker: BrokerWithApi): Promise<unknown> {
  return (await broker.request('/api/v4/bridges')).json.data.bridge.nodes.map(settingsIn)
}

const sharedBroker = shared((scope) => brokerWithBridges(scope))

const put = (broker: BrokerWithApi, name: string, body: unknown) =>
  broker.request(`/api/v4/bridges/${name}`, { method: 'PUT', body })

const post = (broker: BrokerWithApi, body: unknown) => broker.request('/api/v4/bridges', { method: 'POST', body })

const remove = (broker: BrokerWithApi, name: string) => broker.request(`/api/v4/bridges/${name}`, { method: 'DELETE' })

test('GET /bridges shows all settings of each bridge in a fixed order, without secrets', async () => {
  const broker = await sharedBroker()
  const response = await broker.request('/api/v4/bridges/')
  assert.equal(compileShape(endpoints.get_mqtt_bridges.reply).findFault(response.json), undefined)
  assert.ok(!response.text.includes(secret))
  const { nodes, sqlite } = response.json.data.bridge
  assert.deepEqual(Object.keys(sqlite), [
    'enable',
    'disk_cache_size',
    'flush_mem_threshold',
    'resend_interval',
    'mounted_file_path',
  ])
  assert.deepEqual(
    nodes.map((node: { name: string }) => node.name),
    ['office', 'plain', 'aws.iot'],
  )
  const [office, plain] = nodes
  assert.deepEqual(Object.keys(office).slice(0, 7), [
    'name',
    'enable',
    'parallel',
    'connector',
    'forwards',
    'subscription',
    'tls',
  ])
  const { conn_properties, will_properties, ...connector } = office.connector
  assert.deepEqual(connector, {
    server: 'mqtt-tcp://broker.example:1883',
    proto_ver: 5,
    clientid: 'office',
    clean_start: false,
    username: 'alice',
    password: '******',
    keepalive: 30,
  })
  assert.equal(conn_properties.request_problem_information, true)
  assert.equal(will_properties.will_delay_interval, 0)
  assert.deepEqual(office.forwards, [{ remote_topic: 'up/#', local_topic: 'out/#', qos: 1 }])
  assert.deepEqual(office.subscription, [{ remote_topic: 'down/#', local_topic: 'in/#', qos: 2 }])
  assert.deepEqual([plain.connector.password, plain.connector.clientid], [null, null])
  assert.ok(!('conn_properties' in plain.connector), 'conn_properties exist only with MQTT 5')
  const { quic_keepalive, quic_discon_timeout, quic_initial_rtt_ms, multi_stream, quic_0rtt } = plain
  assert.deepEqual(
    { quic_keepalive, quic_discon_timeout, quic_initial_rtt_ms, multi_stream, quic_0rtt },
    {
      quic_keepalive: '120s',
      quic_discon_timeout: '20s',
      quic_initial_rtt_ms: '800ms',
      multi_stream: false,
      quic_0rtt: true,
    },
  )
})

test('a PUT of the settings that GET returned changes nothing: masks keep the stored secrets', async () => {
  const broker = await sharedBroker()
  const before = await nodeOf(broker, 'office')
  const response = await put(broker, 'office', { office: before })
  assert.equal(response.status, 200, response.text)
  assert.equal(compileShape(endpoints.put_mqtt_bridge.reply).findFault(response.json), undefined)
  assert.deepEqual(settingsIn(response.json.data.office), flattened(before))
  assert.deepEqual(await nodeOf(broker, 'office'), before)
  const again = await put(broker, 'office', { office: flattened(before) })
  assert.deepEqual(settingsIn(again.json.data.office), flattened(before), 'the response to PUT can be sent back, too')
  const files = await readdir(broker.dataDirectory)
  if (!files.includes('changed-settings.conf')) return
  assert.ok(!(await readFile(join(broker.dataDirectory, 'changed-settings.conf'), 'utf8')).includes('******'))
})

test('PUT replaces all settings of a bridge: keys that are not sent get their defaults, but `enable` is kept', async () => {
  const broker = await sharedBroker()
  const before = { name: 'north', server: 'mqtt-tcp://broker.example:1883', username: 'alice', password: secret }
  assert.equal((await post(broker, before)).status, 200)
  const node = {
    server: 'tls+mqtt-tcp://new.example:8883',
    proto_ver: 5,
    keepalive: 45,
    clean_start: false,
    parallel: 4,
    multi_stream: true,
    quic_idle_timeout: '0s',
    max_send_queue_len: 64,
    conn_properties: {
      receive_maximum: 10,
      request_response_information: true,
      user_properties: [{ key: 'k', value: 'v' }],
    },
    sub_properties: { identifier: 7, user_properties: [{ key: 'a', value: 'b' }] },
    ssl: { enable: true, keyfile: '/etc/keys/bridge.pem', key_password: 'open', verify_peer: false },
    forwards: [{ remote_topic: '', local_topic: 'out/#', prefix: 'site/', suffix: '/x' }],
  }
  const response = await put(broker, 'north', { north: node })
  assert.equal(response.status, 200, response.text)
  const now = await nodeOf(broker, 'north')
  assert.deepEqual(flattened(now), settingsIn(response.json.data.north))
  assert.equal(now.enable, false)
  assert.equal(now.parallel, 4)
  assert.deepEqual([now.connector.server, now.connector.keepalive], ['tls+mqtt-tcp://new.example:8883', 45])
  assert.deepEqual(
    [now.connector.username, now.connector.password],
    [null, null],
    'user name and password were not sent',
  )
  assert.equal(now.connector.conn_properties.receive_maximum, 10)
  assert.equal(now.connector.conn_properties.request_response_information, true)
  assert.deepEqual(now.connector.conn_properties.user_properties, [{ key: 'k', value: 'v' }])
  assert.deepEqual(now.sub_properties, { identifier: 7, user_properties: [{ key: 'a', value: 'b' }] })
  assert.deepEqual(now.forwards, [{ prefix: 'site/', suffix: '/x', remote_topic: '', local_topic: 'out/#' }])
  assert.deepEqual(now.subscription, [])
  const { enable, key, key_password, verify_peer } = now.tls
  assert.deepEqual(
    { enable, key, key_password, verify_peer },
    { enable: true, key: '******', key_password: '******', verify_peer: false },
  )
  assert.deepEqual([now.multi_stream, now.quic_idle_timeout, now.max_send_queue_len], [true, '0s', 64])
})

test('certificates are accepted and shown as PEM, and private keys are never shown', async () => {
  const broker = await sharedBroker()
  const authority = new Authority('ours')
  const { key, certificate: cert } = authority.issue('bridge')
  const node = { connector: { server: 'tls+mqtt-tcp://a.example:8883' }, tls: { enable: true, key, cert } }
  const response = await put(broker, 'plain', { plain: node })
  assert.equal(response.status, 200, response.text)
  assert.ok(!response.text.includes('PRIVATE KEY'))
  const now = await nodeOf(broker, 'plain')
  assert.equal(now.tls.cert.trim(), cert.trim())
  assert.deepEqual([now.tls.key, now.tls.cacert], ['******', null])
  assert.equal((await put(broker, 'plain', { plain: now })).status, 200)
  assert.deepEqual(await nodeOf(broker, 'plain'), now)
})

test('of a file that a bridge names, only certificates are shown', async () => {
  const broker = await sharedBroker()
  const certfile = join(broker.dataDirectory, 'notes.pem')
  await writeFile(certfile, 'auth.password { ann = secret }\n')
  const node = { server: 'mqtt-tcp://a.example:1883', tls: { certfile } }
  assert.equal((await put(broker, 'plain', { plain: node })).status, 200)
  assert.equal((await nodeOf(broker, 'plain')).tls.cert, null)
})

test('a bridge is enabled and disabled, and repeating it is not an error', async () => {
  const broker = await sharedBroker()
  for (const bridge_switch of [true, true, false]) {
    const response = await broker.request('/api/v4/bridges/switch/office', {
      method: 'POST',
      body: { data: { bridge_switch } },
    })
    assert.deepEqual([response.status, response.json], [200, { code: 0 }])
    assert.equal((await nodeOf(broker, 'office')).enable, bridge_switch)
  }
})

test('a bridge is created and deleted, and a second bridge with its name is refused', async () => {
  const broker = await sharedBroker()
  const node = { server: 'mqtt-tcp://new.example:1883', username: 'bob', password: secret, keepalive: 45 }
  const response = await post(broker, { name: 'depot', ...node, forwards: [{ local_topic: 'a/#', remote_topic: '' }] })
  assert.equal(response.status, 200, response.text)
  assert.equal(compileShape(endpoints.post_mqtt_bridge.reply).findFault(response.json), undefined)
  assert.ok(!response.text.includes(secret))
  const now = await nodeOf(broker, 'depot')
  assert.deepEqual(flattened(now), settingsIn(response.json.data.depot))
  assert.deepEqual([now.enable, now.connector.keepalive, now.connector.password], [false, 45, '******'])
  const taken = await post(broker, { name: 'depot', server: 'mqtt-tcp://other.example:1883' })
  assert.deepEqual([taken.status, taken.json.code], [400, 108])
  assert.match(taken.json.message, /already a bridge "depot"/)
  const gone = await remove(broker, 'depot')
  assert.deepEqual([gone.status, gone.json], [200, { code: 0 }])
  assert.equal((await remove(broker, 'depot')).status, 404)
  assert.equal((await broker.request('/api/v4/bridges/depot')).status, 404)
})

test('changed, created and deleted bridges remain so after a restart', async (t) => {
  const broker = await brokerWithBridges(t)
  const node = { server: 'mqtt-tcp://new.example:1883', username: 'bob', password: secret, keepalive: 45 }
  const properties = {
    multi_stream: true,
    sub_properties: { identifier: 7 },
    ssl: { enable: true, keyfile: '/etc/keys/a' },
  }
  const atAws = { server: 'third.example', keepalive: 45 }
  for (const [name, body] of [
    ['office', { ...node, ...properties }],
    ['aws.iot', atAws],
  ] as const) {
    const response = await put(broker, name, { [name]: body })
    assert.equal(response.status, 200, response.text)
  }
  const isOn = await broker.request('/api/v4/bridges/switch/aws.iot', {
    method: 'POST',
    body: { data: { bridge_switch: true } },
  })
  assert.equal(isOn.status, 200, isOn.text)
  assert.equal((await post(broker, { name: 'depot', ...node })).status, 200)
  assert.equal((await remove(broker, 'plain')).status, 200)
  const names = ['office', 'depot', 'aws.iot']
  const now = await Promise.all(names.map((name) => nodeOf(broker, name)))
  assert.deepEqual([now[0].connector.keepalive, now[1].connector.username, now[2].enable], [45, 'bob', true])
  const again = await restartBroker(broker)
  assert.deepEqual(await Promise.all(names.map((name) => nodeOf(again, name))), now)
  assert.equal((await again.request('/api/v4/bridges/plain')).status, 404)
})

test('a new bridge with an invalid key is refused with the name of the key, and nothing is created', async () => {
  const broker = await sharedBroker()
  const before = await allSettings(broker)
  const node = { name: 'wrong', server: 'mqtt-tcp://a.example:1883' }
  const cases: readonly (readonly [unknown, number, RegExp])[] = [
    [{ server: node.server }, 107, /name in the body is missing/],
    [{ name: 'wrong' }, 107, /server/],
    [{ ...node, name: '' }, 108, /name/],
    [{ ...node, server: 'a.example' }, 108, /wrong\.server/],
    [{ ...node, password: '******' }, 108, /password is masked/],
    [{ ...node, tls: { enable: true, key: '******' } }, 108, /key is masked/],
    [{ ...node, keepalife: 1 }, 108, /wrong\.keepalife/],
  ]
  for (const [body, code, message] of cases) {
    const { status, json } = await post(broker, body)
    assert.deepEqual([status, json.code], [400, code], json.message)
    assert.match(json.message, message)
  }
  assert.deepEqual(await allSettings(broker), before)
})

test('of two simultaneous requests to create a bridge with the same name, one is refused', async () => {
  const broker = await sharedBroker()
  const create = (server: string) => post(broker, { name: 'twice', server })
  const responses = await Promise.all([create('mqtt-tcp://a.example:1883'), create('mqtt-tcp://b.example:1883')])
  assert.deepEqual(
    responses.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 400],
  )
  const created = responses.find(({ status }) => status === 200)
  assert.equal((await nodeOf(broker, 'twice')).connector.server, created?.json.data.twice.server)
})

test('PUT and POST add and remove subscriptions of a bridge, and replace one with the same topic', async () => {
  const broker = await sharedBroker()
  const request = (action: string, method: 'PUT' | 'POST', data: unknown) =>
    broker.request(`/api/v4/bridges/${action}/plain`, { method, body: { data } })
  const one = { remote_topic: 'a/#', local_topic: 'b' }
  assert.deepEqual((await request('sub', 'PUT', { subscription: [one, { ...one, remote_topic: 'c' }] })).json, {
    code: 0,
  })
  const sub_properties = { identifier: 3, user_properties: [{ key: 'x', value: 'y' }] }
  assert.deepEqual((await request('sub', 'POST', { subscription: [{ ...one, qos: 2 }], sub_properties })).json, {
    code: 0,
  })
  const common = { local_topic: 'b', retain_as_published: 1, retain_handling: 0 }
  assert.deepEqual((await nodeOf(broker, 'plain')).subscription, [
    { remote_topic: 'c', qos: 0, ...common },
    { remote_topic: 'a/#', qos: 2, ...common },
  ])
  const unsubscription = [{ topic: 'c' }, { topic: 'nothing' }]
  assert.deepEqual((await request('unsub', 'PUT', { unsubscription })).json, { code: 0 })
  assert.deepEqual((await request('unsub', 'POST', { unsubscription })).json, { code: 0 })
  assert.equal((await nodeOf(broker, 'plain')).subscription.length, 1)
})

test('no change is lost when subscriptions of a bridge are added and removed simultaneously', async () => {
  const broker = await sharedBroker()
  const request = (action: string, data: unknown) =>
    broker.request(`/api/v4/bridges/${action}/plain`, { method: 'PUT', body: { data } })
  const topics = ['at-once/1', 'at-once/2', 'at-once/3', 'at-once/4']
  const sub = (remote_topic: string) => request('sub', { subscription: [{ remote_topic, local_topic: '' }] })
  assert.equal((await sub('at-once/0')).status, 200)
  const isOn = await broker.request('/api/v4/bridges/switch/plain', {
    method: 'POST',
    body: { data: { bridge_switch: true } },
  })
  assert.equal(isOn.status, 200)
  const responses = await Promise.all([
    ...topics.map((topic) => sub(topic)),
    request('unsub', { unsubscription: [{ topic: 'at-once/0' }] }),
  ])
  for (const { status, text } of responses) assert.equal(status, 200, text)
  const { subscription } = await nodeOf(broker, 'plain')
  const found: string[] = subscription.map(({ remote_topic }: { remote_topic: string }) => remote_topic)
  assert.deepEqual(found.filter((topic) => topic.startsWith('at-once/')).toSorted(), topics)
})

test('a bridge to AWS IoT is changed, enabled and subscribed like other bridges', async () => {
  const broker = await sharedBroker()
  const request = (action: string, data: unknown) =>
    broker.request(`/api/v4/bridges/${action}/aws.iot`, { method: 'POST', body: { data } })
  const before = await nodeOf(broker, 'aws.iot')
  const same = await put(broker, 'aws.iot', { 'aws.iot': before })
  assert.equal(same.status, 200, same.text)
  assert.deepEqual(await nodeOf(broker, 'aws.iot'), before, 'the returned settings can be sent back')
  const node = {
    connector: { server: 'tls+mqtt-tcp://other.example:8884', proto_ver: 5, password: '******', keepalive: 45 },
    parallel: 4,
    subscription: [{ remote_topic: 'down', local_topic: 'here', qos: 1 }],
  }
  const response = await put(broker, 'aws.iot', { 'aws.iot': node })
  assert.equal(response.status, 200, response.text)
  assert.equal(compileShape(endpoints.put_mqtt_bridge.reply).findFault(response.json), undefined)
  assert.ok(!response.text.includes(secret))
  const { connector, parallel, forwards } = await nodeOf(broker, 'aws.iot')
  const { server, proto_ver, password, keepalive, clientid } = connector
  assert.deepEqual(
    { server, proto_ver, password, keepalive, clientid, parallel, forwards },
    { ...node.connector, clientid: null, parallel: 4, forwards: [] },
  )
  const address = { ...node, connector: { ...node.connector, server: 'third.example' } }
  assert.equal((await put(broker, 'aws.iot', { 'aws.iot': address })).status, 200)
  assert.deepEqual((await request('switch', { bridge_switch: true })).json, { code: 0 })
  assert.deepEqual((await request('sub', { subscription: [{ remote_topic: 'b', local_topic: '' }] })).json, { code: 0 })
  assert.deepEqual((await request('unsub', { unsubscription: [{ topic: 'down' }] })).json, { code: 0 })
  const now = await nodeOf(broker, 'aws.iot')
  assert.deepEqual([now.enable, now.connector.server], [true, 'tls+mqtt-tcp://third.example'])
  assert.deepEqual(
    now.subscription.map(({ remote_topic }: { remote_topic: string }) => remote_topic),
    ['b'],
  )
})

test('settings that a bridge to AWS IoT does not have, or that AWS IoT does not accept, are refused', async () => {
  const broker = await sharedBroker()
  const before = await allSettings(broker)
  const node = { server: 'endpoint.example:8883' }
  const cases: readonly (readonly [string, unknown, number, RegExp])[] = [
    ['aws.iot', { 'aws.iot': { ...node, server: 'mqtt-tcp://a.example:1883' } }, 400, /host:port/],
    ['aws.iot', { 'aws.iot': { ...node, transparent: true } }, 400, /transparent/],
    ['aws.iot', { 'aws.iot': { ...node, quic_keepalive: '5s' } }, 400, /quic_keepalive/],
    ['aws.iot', { 'aws.iot': { ...node, will: { topic: 'gone', payload: '' } } }, 400, /will/],
    [
      'aws.iot',
      { 'aws.iot': { connector: { ...node, conn_properties: { receive_maximum: 5 } } } },
      400,
      /conn_properties/,
    ],
    ['aws.iot', { 'aws.iot': { ...node, forwards: [{ local_topic: 'a/#', remote_topic: 'b/#' }] } }, 400, /wildcards/],
    ['aws.iot', { iot: node }, 400, /aws\.iot/],
    [
      'sub/aws.iot',
      { data: { subscription: [{ remote_topic: 'a', local_topic: '' }], sub_properties: { identifier: 1 } } },
      400,
      /sub_properties/,
    ],
    ['aws.other', { 'aws.other': node }, 404, /aws\.other/],
    ['iot', { iot: node }, 404, /iot/],
  ]
  for (const [path, body, status, message] of cases) {
    const { status: found, json, text } = await broker.request(`/api/v4/bridges/${path}`, { method: 'PUT', body })
    assert.deepEqual([found, json.code], [status, 108], text)
    assert.match(json.message, message)
  }
  assert.deepEqual(await allSettings(broker), before)
})

test('names of the prototype of objects are refused as unknown settings of a bridge', async () => {
  const broker = await sharedBroker()
  for (const key of ['__proto__', 'constructor', 'toString']) {
    const body = `{"office": {"server": "mqtt-tcp://a.example:1883", "${key}": 1}}`
    const { status, json } = await broker.request('/api/v4/bridges/office', { method: 'PUT', body })
    assert.deepEqual([status, json.code], [400, 108])
    assert.match(json.message, new RegExp(`[ .]${key}\\b`))
  }
})

test('an invalid request about bridges is refused with the code of its error, and changes nothing', async () => {
  const broker = await sharedBroker()
  const before = await allSettings(broker)
  const node = { server: 'mqtt-tcp://a.example:1883' }
  const cases: readonly (readonly [string, 'GET' | 'PUT' | 'POST', unknown, number, number])[] = [
    ['nobody', 'GET', undefined, 404, 108],
    ['__proto__', 'GET', undefined, 404, 108],
    ['nobody', 'PUT', { nobody: node }, 404, 108],
    ['office', 'PUT', { plain: node }, 400, 108],
    ['office', 'PUT', '{"office": ', 400, 109],
    ['office', 'PUT', [node], 400, 109],
    ['office', 'PUT', { office: [] }, 400, 109],
    ['office', 'PUT', { office: { ...node, proto_ver: 7 } }, 400, 108],
    ['office', 'PUT', { office: { ...node, keepalive: 'soon' } }, 400, 108],
    ['office', 'PUT', { office: { ...node, sever: 'x' } }, 400, 108],
    ['office', 'PUT', { office: { ...node, tls: 'yes' } }, 400, 108],
    ['office', 'PUT', { office: { ...node, connector: [] } }, 400, 108],
    ['office', 'PUT', { office: { ...node, forwards: [{ local_topic: 'a', qos: 3 }] } }, 400, 108],
    ['office', 'PUT', '{"office": {"server": "mqtt-tcp://a.example:1883", "__proto__": {"server": "x"}}}', 400, 108],
    ['office', 'PUT', { office: {} }, 400, 107],
    ['office', 'PUT', { office: { ...node, server: null } }, 400, 107],
    ['office', 'PUT', { office: { connector: { keepalive: 5 } } }, 400, 107],
    ['switch/office', 'POST', [], 400, 109],
    ['switch/office', 'POST', {}, 400, 108],
    ['switch/office', 'POST', { data: { bridge_switch: 'on' } }, 400, 108],
    ['switch/nobody', 'POST', { data: { bridge_switch: true } }, 404, 108],
    ['sub/office', 'PUT', { data: { subscription: {} } }, 400, 109],
    ['sub/office', 'PUT', { data: { subscription: [{ remote_topic: 'a' }] } }, 400, 108],
    ['sub/office', 'POST', { data: { subscription: [{ remote_topic: 'a', local_topic: '', qos: 3 }] } }, 400, 108],
    [
      'sub/office',
      'PUT',
      { data: { subscription: [{ remote_topic: 'a', local_topic: '', retain_as_published: 2 }] } },
      400,
      108,
    ],
    ['sub/nobody', 'PUT', { data: { subscription: [] } }, 404, 108],
    ['unsub/office', 'PUT', { data: {} }, 400, 109],
    ['unsub/office', 'PUT', { data: { unsubscription: [{ topic: 'down/#' }] } }, 404, 108],
    ['unsub/plain', 'POST', { data: { unsubscription: [{}] } }, 400, 108],
  ]
  for (const [path, method, body, status, code] of cases) {
    const response = await broker.request(`/api/v4/bridges/${path}`, { method, body })
    assert.deepEqual(
      [response.status, response.json.code],
      [status, code],
      `${method} ${path} ${JSON.stringify(body)}: ${response.text}`,
    )
    assert.ok(!response.text.includes(secret))
  }
  assert.deepEqual(await allSettings(broker), before)
})
