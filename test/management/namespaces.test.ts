// Accounts of a namespace can read and change only objects of this namespace, whatever they request.

import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { Writable } from 'node:stream'
import { describe, test } from 'node:test'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { writeArchive } from '../../src/archives/index.ts'
import { metaMember, ownFormat, ownProduct, writeMeta, writeRow } from '../../src/backup/index.ts'
import { endpoints } from '../../src/api/endpoints.ts'
import type { Endpoint } from '../../src/contract/index.ts'
import { ctlDone } from '../cli/ctl/ctl.ts'
import { eventually } from '../e2e/eventually.ts'
import type { Scope } from '../e2e/godwit-process.ts'
import {
  administrator,
  type ApiResponse,
  type RequestOptions,
  type BrokerWithApi,
  restartBroker,
  shareBrokerWithApi,
  shareConfigurableBroker,
} from './api.ts'

const set = ['namespaces.enable=true', 'namespaces.username="${namespace}/*"', 'node.shards=3']
const configuredBroker = shareConfigurableBroker([...set, 'node.shards=2'])
/** A broker with a listener whose clients are in the namespace `hall`. */
const hallBroker = (): Promise<BrokerWithApi> => configuredBroker(['listeners.tcp.namespace=hall'])
const password = 'a long password'
/** An administrator of the namespace `plant`. */
const plantAdministrator = `plant-administrator:${password}`
const viewer = `watcher:${password}`

/** Creates both users unless another test has created them. */
async function makeUsers(broker: BrokerWithApi): Promise<void> {
  if ((await broker.request('/api/v4/brokers', { as: viewer })).status !== 401) return
  for (const [username, role] of [
    ['plant-administrator', 'ns:plant::administrator'],
    ['watcher', 'ns:plant::viewer'],
  ]) {
    const made = await broker.request('/api/v5/users', { method: 'POST', body: { username, password, role } })
    assert.equal(made.status, 200, made.text)
  }
}

const shared = shareBrokerWithApi({ set })
let ready: Promise<BrokerWithApi> | undefined
/** One broker with both users, for all tests that change no settings. */
const brokerWithUsers = (): Promise<BrokerWithApi> =>
  (ready ??= shared().then(async (broker) => {
    await makeUsers(broker)
    return broker
  }))

async function connect(t: Scope, broker: BrokerWithApi, name: string, more: IClientOptions = {}): Promise<MqttClient> {
  const [namespace, clientId] = name.includes('/') ? name.split('/') : [undefined, name]
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, {
    reconnectPeriod: 0,
    protocolVersion: 5,
    ...(namespace === undefined ? {} : { username: `${namespace}/${clientId}` }),
    clientId,
    ...more,
  })
  t.after(() => client.endAsync(true))
  return client
}

const post = (body: unknown, as = plantAdministrator): RequestOptions => ({ method: 'POST', body, as })

/** The values of one key in a list. */
async function column(broker: BrokerWithApi, path: string, key: string, as = plantAdministrator): Promise<string[]> {
  const { status, json, text } = await broker.request(path, { as })
  assert.equal(status, 200, `${path}: ${text}`)
  return json.data.map((row: Record<string, string>) => row[key]).toSorted()
}

const userOf = (json: string): unknown => (JSON.parse(json) as { username: string }[])[0]?.username

function next(client: MqttClient): Promise<string> {
  return new Promise((resolve) => client.once('message', (topic, payload) => resolve(`${topic} ${String(payload)}`)))
}

function pathOf({ path, version }: Endpoint): string {
  return `/api/${version ?? 'v4'}${path.replaceAll(/:(\w+)/g, 'x')}`
}

function requestEndpoint(broker: BrokerWithApi, endpoint: Endpoint, as: string): Promise<ApiResponse> {
  const { method } = endpoint
  return broker.request(pathOf(endpoint), { method, as, ...(method === 'GET' ? {} : { body: {} }) })
}

async function assertDone(request: Promise<ApiResponse>): Promise<void> {
  const { json, text } = await request
  assert.equal(json.code, 0, text)
}

describe('the administrator of a namespace', () => {
  test('sees the clients and subscriptions of the namespace, with client IDs and topics without prefix', async (t) => {
    const broker = await brokerWithUsers()
    const plant = await connect(t, broker, 'plant/same')
    const shop = await connect(t, broker, 'shop/same')
    const withoutNamespace = await connect(t, broker, 'same')
    for (const client of [plant, shop, withoutNamespace]) await client.subscribeAsync(['lamp', '$share/g/door/#'])
    const ids = ['same']
    assert.deepEqual(await column(broker, '/api/v4/clients', 'clientid'), ids)
    assert.deepEqual(await column(broker, '/api/v4/clients?page=1&limit=10', 'namespace'), ['plant'])
    assert.deepEqual(await column(broker, '/api/v4/clients/same', 'username'), ['plant/same'])
    assert.deepEqual(await column(broker, '/api/v4/clients?_like_clientid=plant', 'clientid'), [])
    assert.deepEqual(await column(broker, '/api/v4/subscriptions', 'topic'), ['$share/g/door/#', 'lamp'])
    assert.deepEqual(await column(broker, '/api/v4/subscriptions?topic=lamp', 'clientid'), ids)
    assert.deepEqual(await column(broker, '/api/v4/subscriptions?_match_topic=door/1', 'clientid'), ids)
    assert.deepEqual(await column(broker, '/api/v4/subscriptions/same', 'topic'), ['$share/g/door/#', 'lamp'])
    assert.deepEqual(await column(broker, '/api/v4/routes', 'topic'), ['door/#', 'lamp'])
    const tree = await broker.request('/api/v4/topic-tree', { as: plantAdministrator })
    assert.doesNotMatch(tree.text, /ns|plant|shop/)
    const meta = (await broker.request('/api/v4/clients?page=1&limit=1', { as: plantAdministrator })).json.meta
    assert.deepEqual(meta, { page: 1, limit: 1, count: 1, hasnext: false })
    // A global administrator sees three clients with this client ID.
    assert.deepEqual(await column(broker, '/api/v4/clients', 'clientid', administrator), ['same', 'same', 'same'])
    assert.deepEqual(await column(broker, '/api/v4/clients/same', 'username', administrator), [''])
    assert.deepEqual(await column(broker, '/api/v4/clients/same?namespace=shop', 'username', administrator), [
      'shop/same',
    ])
    assert.deepEqual(await column(broker, '/api/v4/clients?namespace=nowhere', 'clientid', administrator), [])
    assert.equal(await ctlDone(broker, ['clients', 'list', '--namespace', 'shop', '--json']).then(userOf), 'shop/same')
    assert.deepEqual(await column(broker, '/api/v4/clients/same?namespace=plant', 'username'), ['plant/same'])
  })

  test('publishes, subscribes and disconnects only clients of the namespace', async (t) => {
    const broker = await brokerWithUsers()
    const plant = await connect(t, broker, 'plant/p1')
    const shop = await connect(t, broker, 'shop/p1')
    for (const client of [plant, shop]) await client.subscribeAsync('#', { qos: 1 })
    const received: string[] = []
    shop.on('message', (topic) => received.push(topic))
    const first = next(plant)
    const published = await broker.request(
      '/api/v4/mqtt/publish',
      post({ topic: 'lamp', payload: 'on', qos: 1, receipt: true }),
    )
    for (const topic of ['$SYS/x', '$event/client_connected', '$delayed/1/$SYS/x', '$share/g/x']) {
      const reserved = await broker.request('/api/v4/mqtt/publish', post({ topic, payload: 'x' }))
      assert.deepEqual([reserved.status, reserved.json.code], [400, 115], `${topic}: ${reserved.text}`)
    }
    assert.equal(published.json.data.receipt.matched, 1, published.text)
    assert.equal(await first, 'lamp on')
    const escape = await broker.request('/api/v4/mqtt/publish', post({ topic: '$ns/shop/lamp', payload: 'x', qos: 1 }))
    assert.deepEqual([escape.status, escape.json.code], [400, 115], escape.text)
    const offline = { topic: 'a', clientid: 'nobody', qos: 1 }
    assert.deepEqual((await broker.request('/api/v4/mqtt/subscribe', post(offline))).json.code, 112)
    const subscribed = await broker.request('/api/v4/mqtt/subscribe', post({ topic: 'b', clientid: 'p1', qos: 1 }))
    assert.equal(subscribed.json.code, 0, subscribed.text)
    assert.deepEqual(await column(broker, '/api/v4/subscriptions/p1', 'topic'), ['#', 'b'])
    assert.deepEqual(await column(broker, '/api/v4/subscriptions/p1?namespace=shop', 'topic', administrator), ['#'])
    const closed = new Promise<void>((resolve) => plant.once('close', () => resolve()))
    await assertDone(broker.request('/api/v4/clients/p1', { method: 'DELETE', as: plantAdministrator }))
    await closed
    assert.equal(shop.connected, true)
    assert.deepEqual(received, [])
  })

  test('reads and deletes retained messages, and reads access decisions, queues and dropped messages of the namespace', async (t) => {
    const broker = await brokerWithUsers()
    const body = { topic: 'kept', payload: 'x', qos: 1, retain: true }
    await broker.request('/api/v4/mqtt/publish', post(body))
    await broker.request('/api/v4/mqtt/publish', post({ ...body, topic: 'other' }, administrator))
    await broker.request('/api/v4/mqtt/publish?namespace=shop', post({ ...body, topic: 'of the shop' }, administrator))
    assert.deepEqual(await column(broker, '/api/v4/retained', 'topic'), ['kept'])
    assert.deepEqual(await column(broker, '/api/v4/retained?namespace=shop', 'topic', administrator), ['of the shop'])
    const watched = await connect(t, broker, 'plant/watched')
    await watched.subscribeAsync('lamp/+', { qos: 1 })
    await (await connect(t, broker, 'shop/watched')).subscribeAsync('#', { qos: 1 })
    const query = 'clientid=watched&action=publish&topic=lamp/1'
    const { data } = (await broker.request(`/api/v4/explain?${query}`, { as: plantAdministrator })).json
    assert.deepEqual([data.topic_here, data.subscriptions.length, data.subscriptions[0].topic], ['lamp/1', 1, 'lamp/+'])
    const absent = (
      await broker.request('/api/v4/explain?clientid=no&action=publish&topic=lamp/1', { as: plantAdministrator })
    ).json
    assert.deepEqual([absent.data.topic_here, absent.data.subscriptions.length], ['lamp/1', 1])
    const timeline = await column(broker, '/api/v4/clients/watched/timeline', 'event')
    assert.deepEqual(timeline, ['connected'])
    assert.deepEqual(await column(broker, '/api/v4/dropped', 'topic'), [])
    assert.deepEqual(await column(broker, '/api/v4/slow_subscriptions?threshold=0', 'clientid'), [])
  })

  test('sees only traces that the namespace created', async (t) => {
    const broker = await brokerWithUsers()
    const trace = { name: 'mine', type: 'topic', topic: 'traced/#' }
    await assertDone(broker.request('/api/v4/trace', post(trace)))
    await assertDone(broker.request('/api/v4/trace', post({ ...trace, name: 'theirs' }, administrator)))
    assert.deepEqual(await column(broker, '/api/v4/trace', 'name'), ['mine'])
    for (const name of ['plant/t1', 'shop/t1']) {
      const client = await connect(t, broker, name)
      await client.subscribeAsync('traced/+', { qos: 1 })
      await client.publishAsync('traced/x', name, { qos: 1 })
    }
    for (let count = 2; count <= 6; count++) {
      const made = await broker.request('/api/v4/trace', post({ ...trace, name: `more-${count}` }))
      assert.equal(made.json.code, count <= 5 ? 0 : 108, 'a namespace has at most five traces')
    }
    const lines = await eventually(async () => {
      const { text } = await broker.request('/api/v4/trace/mine/download', { as: plantAdministrator })
      assert.match(text, /"clientid":"t1".*"topic":"traced\/x"/)
      return text
    })
    assert.doesNotMatch(lines, /shop|\$ns|u0000/)
    assert.equal((await broker.request('/api/v4/trace/theirs/download', { as: plantAdministrator })).status, 404)
    await assertDone(broker.request('/api/v4/trace', { method: 'DELETE', as: plantAdministrator }))
    assert.deepEqual(await column(broker, '/api/v4/trace', 'name', administrator), ['theirs'])
  })

  test('manages credentials, rules and bans, which apply to clients of the namespace only', async (t) => {
    const broker = await configuredBroker(['auth.acl.rules=[{permit=allow}]'])
    await makeUsers(broker)
    const query = '/api/v4/explain?clientid=c&action=publish&topic=open'
    const { decision } = (await broker.request(query, { as: plantAdministrator })).json.data
    assert.deepEqual([decision.result, decision.because, decision.rule], ['allow', 'configured-rule', null])
    const decisionOn = async (topic: string, clientId = 'c'): Promise<unknown> => {
      const path = `/api/v4/explain?clientid=${encodeURIComponent(clientId)}&action=publish&topic=${topic}`
      const { result, because, rule, place } = (await broker.request(path, { as: plantAdministrator })).json.data
        .decision
      return [result, because, rule, place]
    }
    const stored = [{ topic: 'hidden/${clientid}', action: 'pub', access: 'deny' }]
    await assertDone(broker.request('/api/v4/acl', post(stored, administrator)))
    assert.deepEqual(await decisionOn('hidden/c'), ['deny', 'global-rule', null, null])
    assert.deepEqual(await decisionOn('hidden/c', '+'), ['deny', 'unusable-placeholder', null, null])
    const hidden = `/api/v4/acl/$all/topic/${encodeURIComponent('hidden/${clientid}')}`
    await assertDone(broker.request(hidden, { method: 'DELETE', as: administrator }))
    const shown = [{ topic: 'shown', action: 'pub', access: 'deny' }]
    await assertDone(broker.request('/api/v4/acl', post(shown)))
    assert.deepEqual(await decisionOn('shown'), ['deny', 'stored-rule', 'deny all publish "shown"', null])
    await assertDone(broker.request('/api/v4/acl/$all/topic/shown', { method: 'DELETE', as: plantAdministrator }))
    const user = { username: 'plant/ann', password: 'secret' }
    await assertDone(broker.request('/api/v4/auth_username', post(user)))
    await assertDone(broker.request('/api/v4/auth_username', post([{ ...user, username: 'shop/bob' }])))
    assert.deepEqual(await column(broker, '/api/v4/auth_username', 'username'), ['plant/ann', 'shop/bob'])
    assert.deepEqual(await column(broker, '/api/v4/auth_username', 'username', administrator), [])
    const others = '/api/v4/auth_username?namespace=plant'
    assert.deepEqual(await column(broker, others, 'username', administrator), ['plant/ann', 'shop/bob'])
    await assert.rejects(connect(t, broker, 'plant/ann', { password: 'wrong' }))
    await connect(t, broker, 'plant/ann', { password: 'secret' })
    // Rules of the administrator of `plant` have no effect on clients of `shop`.
    await connect(t, broker, 'shop/bob', { password: 'whatever' })
    const rule = { topic: 'closed', action: 'pub', access: 'deny' }
    await assertDone(broker.request('/api/v4/acl', post([rule])))
    assert.deepEqual(await column(broker, '/api/v4/acl/$all', 'topic', administrator), [])
    const shop = await connect(t, broker, 'shop/c')
    const plant = await connect(t, broker, 'plant/c')
    await shop.publishAsync('closed', 'x', { qos: 1 })
    await assert.rejects(plant.publishAsync('closed', 'x', { qos: 1 }), /[Nn]ot authorized/)
    const long = { ...rule, clientid: 'x'.repeat(65_535) }
    assert.notEqual((await broker.request('/api/v4/acl', post([long]))).json.code, 0)
    const ban = { as: 'clientid', who: 'c' }
    const closed = new Promise<void>((resolve) => plant.once('close', () => resolve()))
    await assertDone(broker.request('/api/v4/banned', post(ban)))
    await closed
    assert.deepEqual(await column(broker, '/api/v4/banned', 'who', administrator), [])
    await assert.rejects(connect(t, broker, 'plant/c'))
    await connect(t, broker, 'shop/c')
    await assertDone(broker.request('/api/v4/banned/clientid/c', { method: 'DELETE', as: plantAdministrator }))
    await connect(t, broker, 'plant/c')
    const again = await restartBroker(broker)
    assert.deepEqual(await column(again, '/api/v4/auth_username', 'username'), ['plant/ann', 'shop/bob'])
    assert.deepEqual(await column(again, '/api/v4/acl/$all', 'topic'), ['closed'])
  })
})

describe('an administrator of one namespace', () => {
  const known = Object.entries<Endpoint>(endpoints).filter(([, { access }]) => !['open', 'signed-in'].includes(access))

  test('is refused requests about more than one namespace', async () => {
    const broker = await brokerWithUsers()
    for (const [name, endpoint] of known) {
      if (endpoint.isForNamespaces === true || endpoint.atRoot === 'only') continue
      const { status } = await requestEndpoint(broker, endpoint, plantAdministrator)
      assert.equal(status, 403, name)
    }
  })

  test('with the role viewer cannot change anything', async () => {
    const broker = await brokerWithUsers()
    for (const [name, endpoint] of known) {
      if (endpoint.access === 'read' || endpoint.atRoot === 'only') continue
      assert.equal((await requestEndpoint(broker, endpoint, viewer)).status, 403, name)
    }
    assert.equal((await broker.request('/api/v4/clients', { as: viewer })).status, 200)
  })

  test('sees limits and usage of its own namespace, and not of others', async () => {
    const broker = await brokerWithUsers()
    await broker.request('/api/v5/namespaces', post({ namespace: 'shop' }, administrator))
    for (const as of [plantAdministrator, viewer, administrator])
      assert.equal((await broker.request('/api/v5/namespaces/plant', { as })).json.namespace, 'plant')
    const shop = '/api/v5/namespaces/shop'
    assert.equal((await broker.request(shop, { as: plantAdministrator })).status, 404)
    assert.equal((await broker.request(`${shop}?namespace=shop`, { as: plantAdministrator })).status, 403)
    assert.equal((await broker.request('/api/v5/namespaces/shop')).status, 200)
    assert.equal((await broker.request('/api/v5/namespaces/shop?namespace=plant')).status, 404)
  })

  test('cannot select another namespace, at any endpoint; for other administrators an invalid one is an error', async () => {
    const broker = await brokerWithUsers()
    for (const [name, endpoint] of known) {
      if (endpoint.access === 'open' || endpoint.atRoot === 'only') continue
      for (const query of ['namespace=shop', 'namespace=a%2Fb', 'namespace=plant&namespace=shop', 'n%61mespace=shop']) {
        const { method } = endpoint
        const options = { method, as: plantAdministrator, ...(method === 'GET' ? {} : { body: {} }) }
        const refused = await broker.request(`${pathOf(endpoint)}?${query}`, options)
        assert.equal(refused.status, 403, `${name} ${query}: ${refused.text}`)
        if (endpoint.isForNamespaces === true) assert.match(refused.text, /limited to the namespace plant/)
      }
    }
    assert.equal((await broker.request('/api/v4/clients?namespace=plant', { as: plantAdministrator })).status, 200)
    const wrong = await broker.request('/api/v4/clients?namespace=a%2Fb')
    assert.deepEqual([wrong.status, wrong.json.code], [400, 108])
    assert.equal((await broker.request('/api/v4/listeners?namespace=plant')).status, 200)
  })
})

/** Builds an archive. `members`: contents by name. */
async function archiveOf(
  folder: string,
  namespace: string | undefined,
  members: Record<string, string>,
): Promise<Blob> {
  const contents = Object.entries(members).map(([name, text]) => [name, Buffer.from(text)] as const)
  const meta = writeMeta({
    product: ownProduct,
    format: ownFormat,
    version: '0.1.0',
    edition: 'ce',
    profile: 'hardened',
    createdAtMs: 1,
    namespace,
    counts: 'tables/rules.jsonl' in members ? { rules: 1 } : {},
    members: contents.map(([name, bytes]) => ({ name, bytes: bytes.length, sha256: hash('sha256', bytes) })),
  })
  const all = [[metaMember, meta] as const, ...contents]
  const pieces: Buffer[] = []
  const target = new Writable({ write: (piece: Buffer, _encoding, done) => done(void pieces.push(piece)) })
  const written = all.map(([name, bytes]) => ({ name, bytes: bytes.length, readContent: () => [bytes] }))
  await writeArchive(target, { folder, createdAtMs: 1, members: written })
  return new Blob([Buffer.concat(pieces)])
}

describe('an administrator of a namespace who uses archives', () => {
  const folder = 'godwit-export-2026-01-01-00-00-00.000'
  const filename = `${folder}.tar.gz`
  const rule = writeRow('rules', {
    kind: 'rule',
    about: 'all',
    who: '',
    topic: '#',
    action: 'pubsub',
    permit: 'deny',
    createdAtMs: 1,
  })

  async function upload(broker: BrokerWithApi, archive: Blob): Promise<ApiResponse> {
    const form = new FormData()
    form.append('filename', archive, filename)
    const headers = { authorization: `Basic ${Buffer.from(plantAdministrator).toString('base64')}` }
    const response = await fetch(`${broker.url}/api/v5/data/files`, { method: 'POST', headers, body: form })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: JSON.parse(text) }
  }

  for (const [what, namespace, members] of [
    ['of the whole broker', undefined, { 'tables/rules.jsonl': rule }],
    ['of another namespace', 'shop', { 'ns/shop/cluster.hocon': '{}' }],
    ['that claims to be of the namespace and contains global rules', 'plant', { 'tables/rules.jsonl': rule }],
    ['that claims it and contains a global configuration', 'plant', { 'cluster.hocon': 'mqtt.max_mqueue_len = 7' }],
    [
      'that contains global settings at the path of the settings of the namespace',
      'plant',
      { 'ns/plant/cluster.hocon': 'mqtt { max_mqueue_len = 7 }' },
    ],
  ] as const) {
    test(`uploads an archive ${what}, and nothing of it is imported`, async () => {
      const broker = await brokerWithUsers()
      const kept = await upload(broker, await archiveOf(folder, namespace, members))
      const imported = await broker.request('/api/v5/data/import', post({ filename }))
      const refused = kept.status === 200 ? imported : kept
      assert.deepEqual([refused.status, refused.json.reason], [403, 'FORBIDDEN'], refused.text)
      assert.deepEqual(await column(broker, '/api/v4/acl/$all', 'topic', administrator), [])
      assert.match((await broker.request('/api/v4/configuration')).text, /"max_mqueue_len":1024/)
      // The archive is only in the folder of the namespace: a global administrator neither sees it nor imports it by mistake.
      assert.deepEqual(await column(broker, '/api/v5/data/files', 'filename', administrator), [])
      assert.equal((await broker.request('/api/v5/data/import', post({ filename }, administrator))).status, 404)
      await broker.request(`/api/v5/data/files/${filename}`, { method: 'DELETE', as: plantAdministrator })
    })
  }

  test('gets exports in a separate folder, without data of other namespaces', async () => {
    const broker = await brokerWithUsers()
    const made = await broker.request('/api/v5/data/export', post({}))
    assert.equal(made.status, 200, made.text)
    const files = [made.json.filename]
    assert.deepEqual(await column(broker, '/api/v5/data/files', 'filename'), files)
    assert.equal((await broker.request('/api/v5/data/files?namespace=shop', { as: plantAdministrator })).status, 403)
    assert.deepEqual(await column(broker, '/api/v5/data/files?namespace=plant', 'filename', administrator), files)
    assert.deepEqual(await column(broker, '/api/v5/data/files', 'filename', administrator), [])
    const { counts, members } = (await broker.request('/api/v5/data/verify', post({ filename: files[0] }))).json.data
    assert.deepEqual([counts, members.map(({ name }: { name: string }) => name)], [{}, ['ns/plant/cluster.hocon']])
    await broker.request('/api/v4/acl', post([{ topic: 'of/all', action: 'pub', access: 'deny' }], administrator))
    const compared = await broker.request('/api/v5/data/diff', post({ first: files[0] }))
    assert.deepEqual(compared.json.data, { tables: [], configuration: [] }, compared.text)
    assert.equal((await broker.request(`/api/v5/data/files/${files[0]}`, { as: viewer })).status, 403)
    assert.equal((await broker.request('/api/v5/data/import', post({ filename: files[0] }))).status, 200)
  })
})

describe('namespaces', () => {
  test('are created, listed and deleted with their data by a global administrator', async () => {
    const broker = await hallBroker()
    await makeUsers(broker)
    const path = '/api/v5/namespaces'
    const made = await broker.request(path, post({ namespace: 'shop' }, administrator))
    assert.deepEqual([made.status, made.json.code, made.json.namespace], [200, 0, 'shop'])
    assert.ok(Date.parse(made.json.created_at) > 0)
    assert.deepEqual(await column(broker, path, 'namespace', administrator), ['hall', 'plant', 'shop'])
    const again = await broker.request(path, post({ namespace: 'shop' }, administrator))
    assert.deepEqual([again.status, again.json.reason], [400, 'BAD_REQUEST'])
    for (const namespace of ['', 'a/b', '..', '$SYS', '+', 'x'.repeat(129)])
      assert.equal((await broker.request(path, post({ namespace }, administrator))).status, 400, namespace)
    const entries = { username: 'ann', password: 'secret' }
    await broker.request('/api/v4/auth_username?namespace=shop', post(entries, administrator))
    await broker.request(
      '/api/v4/acl?namespace=shop',
      post([{ topic: 'a', action: 'pub', access: 'deny' }], administrator),
    )
    await broker.request('/api/v4/banned?namespace=shop', post({ as: 'clientid', who: 'c' }, administrator))
    const remove = { method: 'DELETE', as: administrator } as const
    await assertDone(broker.request(`${path}/shop`, remove))
    for (const list of ['auth_username', 'acl/$all', 'banned'])
      assert.deepEqual((await broker.request(`/api/v4/${list}?namespace=shop`)).json.data, [], list)
    const missing = await broker.request(`${path}/shop`, remove)
    assert.deepEqual([missing.status, missing.json.reason], [404, 'NOT_FOUND'])
    for (const name of ['plant', 'hall']) {
      const refused = await broker.request(`${path}/${name}`, remove)
      assert.deepEqual([refused.status, refused.json.reason], [409, 'CONFLICT'])
    }
    assert.equal((await broker.request(path, { as: plantAdministrator })).status, 403)
    await ctlDone(broker, ['namespaces', 'add', 'field'])
    assert.match(await ctlDone(broker, ['namespaces', 'list']), /^field\t2/m)
    await ctlDone(broker, ['namespaces', 'del', 'field'])
    assert.doesNotMatch(await ctlDone(broker, ['namespaces', 'list']), /^field/m)
  })

  test('are deleted with their clients, sessions and retained messages, and without those of other namespaces', async (t) => {
    const broker = await brokerWithUsers()
    const durable = { clean: false, properties: { sessionExpiryInterval: 3_600 } }
    const will = { topic: 'gone', payload: Buffer.from('x'), retain: true }
    const here = await connect(t, broker, 'doomed/here', { ...durable, will })
    const away = await connect(t, broker, 'doomed/away', durable)
    await away.subscribeAsync('lamp', { qos: 1 })
    await away.endAsync()
    const shop = await connect(t, broker, 'shop/here')
    for (const client of [here, shop]) {
      for (const topic of ['kept/1', 'kept/2', 'kept/3'])
        await client.publishAsync(topic, 'x', { qos: 1, retain: true })
    }
    await here.publishAsync('lamp', 'waits', { qos: 1 })
    const reasonCode = new Promise<number | undefined>((resolve) =>
      here.once('disconnect', ({ reasonCode }) => resolve(reasonCode)),
    )
    const remove = { method: 'DELETE' } as const
    const removed = await broker.request('/api/v5/namespaces/doomed', remove)
    assert.deepEqual(removed.json, { code: 0, sessions: 2, retained_messages: 3 })
    assert.equal(await reasonCode, 0x98)
    assert.deepEqual(await column(broker, '/api/v4/clients?namespace=doomed', 'clientid', administrator), [])
    assert.deepEqual(await column(broker, '/api/v4/retained?namespace=doomed', 'topic', administrator), [])
    const kept = await column(broker, '/api/v4/retained?namespace=shop', 'topic', administrator)
    assert.deepEqual(
      kept.filter((topic) => topic.startsWith('kept/')),
      ['kept/1', 'kept/2', 'kept/3'],
    )
    assert.equal(shop.connected, true)
    assert.equal((await broker.request('/api/v5/namespaces/doomed', remove)).status, 404)
    // A client that connects later gets a new session, and is not delayed.
    const again = await connect(t, broker, 'doomed/away', durable)
    assert.deepEqual(await column(broker, '/api/v4/subscriptions?namespace=doomed', 'topic', administrator), [])
    await again.endAsync(true)
    assert.equal((await broker.request('/api/v5/namespaces/doomed', remove)).json.sessions, 1)
  })

  test('have separate limits, which apply at once and after a restart', async (t) => {
    const broker = await configuredBroker(['namespaces.max_clients=2'])
    const path = '/api/v5/namespaces/mill'
    assert.equal((await broker.request(path)).status, 404)
    assert.equal((await broker.request(path, { method: 'PUT', body: {} })).status, 404)
    await broker.request('/api/v5/namespaces', post({ namespace: 'mill' }, administrator))
    const one = await connect(t, broker, 'mill/1')
    await connect(t, broker, 'mill/2')
    await assert.rejects(connect(t, broker, 'mill/3'), /Quota exceeded/)
    const limits = { max_clients: 3, max_retained_messages: 1, messages_rate: 'infinity' }
    const changed = await broker.request(path, { method: 'PUT', body: limits })
    assert.deepEqual([changed.status, changed.json.limits], [200, limits], changed.text)
    await connect(t, broker, 'mill/3')
    await assert.rejects(connect(t, broker, 'mill/4'), /Quota exceeded/)
    await connect(t, broker, 'shop/1')
    for (const topic of ['a', 'b']) await one.publishAsync(topic, 'x', { qos: 1, retain: true })
    const { clients, retained_messages: retained } = (await broker.request(path)).json
    assert.deepEqual([clients, retained], [3, 1])
    const limitClients = (max: unknown): Promise<ApiResponse> =>
      broker.request(path, { method: 'PUT', body: { max_clients: max } })
    for (const wrong of [0, -1, 1.5, 'many', true]) assert.equal((await limitClients(wrong)).status, 400, `${wrong}`)
    assert.deepEqual((await limitClients(null)).json.limits, { ...limits, max_clients: null })
    assert.match(await ctlDone(broker, ['namespaces', 'show', 'mill']), /max_retained_messages\s+1\b/)
    await ctlDone(broker, ['namespaces', 'limit', 'mill', '--max-clients', '1', '--messages-rate', 'default'])
    const again = await restartBroker(broker)
    assert.deepEqual((await again.request(path)).json.limits, { ...limits, max_clients: 1, messages_rate: null })
    assert.equal((await again.request(path)).json.retained_messages, 1)
    await connect(t, again, 'mill/1')
    await assert.rejects(connect(t, again, 'mill/2'), /Quota exceeded/)
    await assertDone(again.request(path, { method: 'DELETE' }))
  })

  test('can be set by a listener, whatever client ID and user name a client sends', async (t) => {
    const broker = await hallBroker()
    const client = await connect(t, broker, 'plant/c')
    assert.deepEqual(await column(broker, '/api/v4/clients', 'namespace', administrator), ['hall'])
    await client.subscribeAsync('#', { qos: 1 })
    const received = next(client)
    await broker.request('/api/v4/mqtt/publish?namespace=plant', post({ topic: 'x', payload: '1' }, administrator))
    await broker.request('/api/v4/mqtt/publish?namespace=hall', post({ topic: 'x', payload: '2' }, administrator))
    assert.equal(await received, 'x 2')
  })
})
