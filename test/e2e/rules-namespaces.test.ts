// Rules, connectors, actions and sources of namespaces: an account of a namespace can read and change only those of its namespace.

/* oxlint-disable no-template-curly-in-string -- placeholders of templates */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import mqtt from 'mqtt'
import type { Endpoint } from '../../src/contract/index.ts'
import { endpoints } from '../../src/api/endpoints.ts'
import { type ApiResponse, type RequestOptions, type BrokerWithApi, shareBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { HttpService } from './http-service.ts'
import { isLong } from '../test-length.ts'

const password = 'a long password'
const plant = `plant-admin:${password}`
const shop = `shop-admin:${password}`

const shared = shareBrokerWithApi({
  set: [
    'namespaces.enable=true',
    'namespaces.username="${namespace}/*"',
    'namespaces.max_rules=3',
    'namespaces.max_actions=2',
    'node.shards=2',
  ],
})

let ready: Promise<BrokerWithApi> | undefined
const prepared = (): Promise<BrokerWithApi> =>
  (ready ??= shared().then(async (broker) => {
    for (const namespace of ['plant', 'shop']) {
      const role = `ns:${namespace === 'plant' ? 'plant.1' : namespace}::administrator`
      const body = { username: `${namespace}-admin`, password, role }
      assert.equal((await broker.request('/api/v5/users', { method: 'POST', body })).status, 200)
    }
    return broker
  }))

async function done(response: Promise<ApiResponse>, status = 201): Promise<ApiResponse['json']> {
  const { status: found, text, json } = await response
  assert.equal(found, status, text)
  return json
}

/** Creates a connector, an action and a rule with the same name. The rule selects messages of `in/#`. */
async function makeAll(
  broker: BrokerWithApi,
  how: Pick<RequestOptions, 'as'> & { readonly url: string; readonly path: string; readonly query?: string },
): Promise<void> {
  const { as, url, path, query = '' } = how
  const post = (kind: string, body: unknown) =>
    done(broker.request(`/api/v5/${kind}${query}`, { method: 'POST', body, ...(as !== undefined && { as }) }))
  const headers = { authorization: `secret of ${path}` }
  await post('connectors', { type: 'http', name: 'hook', url, headers })
  const parameters = { path: `/${path}`, body: '${topic} ${payload}' }
  await post('actions', { type: 'http', name: 'hook', connector: 'hook', parameters })
  await post('rules', { id: 'all', sql: 'SELECT * FROM "in/#"', actions: ['http:hook'] })
  // Wait until their state does not change any more.
  await eventually(async () => {
    const { json } = await broker.request(`/api/v5/actions/http:hook${query}`, as === undefined ? {} : { as })
    assert.equal(json.status, 'connected')
  })
}

async function removeAll(broker: BrokerWithApi, as: string | undefined): Promise<void> {
  for (const path of ['rules/all', 'actions/http:hook?force=true', 'connectors/http:hook'])
    await done(broker.request(`/api/v5/${path}`, { method: 'DELETE', ...(as !== undefined && { as }) }), 204)
}

describe('rules of namespaces', () => {
  test('the same name in two namespaces refers to different rules, and messages, topics and results stay within a namespace', async (t) => {
    const broker = await prepared()
    const service = await HttpService.start(t)
    const url = `http://127.0.0.1:${service.port}`
    await makeAll(broker, { as: plant, url, path: 'plant' })
    await makeAll(broker, { as: shop, url, path: 'shop' })
    await makeAll(broker, { url, path: 'global' })
    for (const [as, path] of [
      [plant, 'plant'],
      [shop, 'shop'],
      [undefined, 'global'],
    ] as const) {
      const request = (of: string) => broker.request(`/api/v5/${of}`, as === undefined ? {} : { as })
      const { data } = await done(request('rules'), 200)
      assert.deepEqual(
        data.map(({ id, actions }: { id: string; actions: string[] }) => [id, actions]),
        [['all', ['http:hook']]],
      )
      const [action, ...others] = await done(request('actions'), 200)
      assert.deepEqual([action.name, action.connector, action.parameters.path], ['hook', 'hook', `/${path}`])
      assert.deepEqual(others, [])
      assert.doesNotMatch((await request('connectors')).text, /secret of|hook@/)
    }
    const publish = async (username: string | undefined, payload: string) => {
      const options = {
        clientId: 'c',
        ...(username !== undefined && { username: `${username === 'plant' ? 'plant.1' : username}/c` }),
      }
      const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, options)
      await client.publishAsync('in/x', payload, { qos: 1 })
      await client.endAsync()
    }
    await publish('plant', 'p')
    await publish('shop', 's')
    await publish(undefined, 'g')
    await service.until((received) => received.length >= 3)
    assert.deepEqual(service.received.map(({ path, body }) => `${path} ${body}`).toSorted(), [
      '/global in/x g',
      '/plant in/x p',
      '/shop in/x s',
    ])
    const { metrics } = await done(broker.request('/api/v5/rules/all/metrics', { as: plant }), 200)
    assert.equal(metrics.matched, 1)
    // A global administrator names the namespace.
    const seen = await done(broker.request('/api/v5/actions?namespace=shop'), 200)
    assert.equal(seen[0].parameters.path, '/shop')
    const inUse = await broker.request('/api/v5/namespaces/shop', { method: 'DELETE' })
    assert.equal(inUse.status, 409)
    for (const as of [plant, shop, undefined]) await removeAll(broker, as)
  })

  test('no endpoint shows or changes rules of other namespaces', async (t) => {
    const broker = await prepared()
    const service = await HttpService.start(t)
    await makeAll(broker, { as: shop, url: `http://127.0.0.1:${service.port}`, path: 'shop' })
    const before = await broker.request('/api/v5/rules?namespace=shop')
    const beforeActions = await broker.request('/api/v5/connectors?namespace=shop')
    const names = ['all', 'all@shop', 'http:hook', 'http:hook@shop', 'mqtt:x@shop']
    // `force` allows more, so that the daily run has no query without it.
    const queries = isLong ? ['', '?namespace=shop', '?force=true&namespace=shop'] : ['', '?force=true&namespace=shop']
    const settings = { sql: 'SELECT 1 FROM "#"', url: 'http://127.0.0.1:1', connector: 'hook', parameters: {} }
    for (const [name, endpoint] of Object.entries(endpoints) as [string, Endpoint][]) {
      if (!/rule|connector|action|source|dead_letter/.test(name) || endpoint.version !== 'v5') continue
      for (const id of names) {
        const filled: Readonly<Record<string, string>> = { id, enable: 'false', operation: 'stop' }
        const path = endpoint.path.replaceAll(/:(\w+)/g, (_, key: string) => encodeURIComponent(filled[key] ?? 'x'))
        if (path === endpoint.path) continue
        for (const query of queries) {
          const body = endpoint.method === 'GET' ? {} : { body: settings }
          const response = await broker.request(`/api/v5${path}${query}`, {
            method: endpoint.method,
            as: plant,
            ...body,
          })
          assert.ok(
            response.status >= 400 && response.status < 500,
            `${name} ${path}: ${response.status} ${response.text}`,
          )
          assert.doesNotMatch(response.text, /secret of/)
        }
      }
    }
    assert.equal((await broker.request('/api/v5/rules?namespace=shop')).text, before.text)
    assert.equal((await broker.request('/api/v5/connectors?namespace=shop')).text, beforeActions.text)
    // Version 4: lists are empty, and named rules are not found.
    for (const path of ['rules', 'resources'])
      assert.deepEqual(
        (await broker.request(`/api/v4/${path}?namespace=shop`, { as: plant })).json.data ?? [],
        [],
        path,
      )
    for (const id of ['rule:all', 'all@shop', 'resource:hook', 'resource:hook@shop', 'http:hook@shop'])
      for (const kind of ['rules', 'resources', 'resource_status'])
        for (const method of ['GET', 'PUT', 'DELETE', 'POST'] as const) {
          const body = method === 'GET' ? {} : { body: { rawsql: 'SELECT 1 FROM "#"', config: {} } }
          const path = `/api/v4/${kind}/${encodeURIComponent(id)}`
          const response = await broker.request(path, { method, as: plant, ...body })
          assert.ok(
            response.status >= 400 && response.status < 500,
            `${method} ${path}: ${response.status} ${response.text}`,
          )
          assert.doesNotMatch(response.text, /secret of/)
        }
    assert.equal((await broker.request('/api/v5/rules?namespace=shop')).text, before.text)
    assert.equal((await broker.request('/api/v5/connectors?namespace=shop')).text, beforeActions.text)
    await removeAll(broker, shop)
  })

  test('version 4 of the API creates and deletes rules of a namespace with its actions and fallbacks', async (t) => {
    const broker = await prepared()
    const service = await HttpService.start(t)
    const request = (path: string, options: RequestOptions = {}) =>
      broker.request(`/api/v4/${path}`, { as: plant, ...options })
    const config = { url: `http://127.0.0.1:${service.port}` }
    await done(request('resources', { method: 'POST', body: { type: 'web_hook', id: 'resource:own', config } }), 200)
    const hook = { name: 'data_to_webserver', params: { $resource: 'resource:own', payload_tmpl: '${topic}' } }
    const failing = { name: 'republish', params: { target_topic: 'wrong/#' } }
    const rawsql = 'SELECT * FROM "in/#"'
    const body = { rawsql, actions: [hook, { ...failing, fallbacks: [hook] }], on_action_failed: 'stop' }
    const { data: rule } = await done(request('rules', { method: 'POST', body }), 200)
    assert.equal(rule.actions[0].params.$resource, 'resource:own')
    assert.equal(rule.actions[1].fallbacks[0].params.$resource, 'resource:own')
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'c', username: 'plant.1/c' })
    t.after(() => client.endAsync(true))
    await client.publishAsync('in/x', '', { qos: 1 })
    await service.until((received) => received.length >= 2)
    assert.deepEqual(
      service.received.map(({ body: topic }) => topic),
      ['in/x', 'in/x'],
    )
    // The rule is not in another namespace and not global; a global administrator names the namespace.
    assert.deepEqual((await broker.request('/api/v4/rules', { as: shop })).json.data, [])
    assert.deepEqual((await broker.request('/api/v4/rules')).json.data, [])
    const { data: named } = (await broker.request('/api/v4/rules?namespace=plant.1')).json
    assert.deepEqual(
      named.map(({ id }: { id: string }) => id),
      [rule.id],
    )
    const shown = await done(
      request('rules?test=true', { method: 'POST', body: { rawsql, ctx: { topic: 'in/y' } } }),
      200,
    )
    assert.equal(shown.data.topic, 'in/y')
    const inUse = await request('resources/resource:own', { method: 'DELETE' })
    assert.deepEqual([inUse.status, inUse.json.code], [400, 108])
    const toFile = { rawsql, actions: [{ name: 'sqlite', params: { table: 't' } }] }
    const refused = await request('rules', { method: 'POST', body: toFile })
    assert.deepEqual([refused.status, refused.json.code], [400, 108], refused.text)
    assert.match(refused.text, /files of the broker/)
    await done(request(`rules/${rule.id}?force=true`, { method: 'DELETE' }), 200)
    await done(request('resources/resource:own', { method: 'DELETE' }), 200)
    for (const kind of ['rules', 'actions', 'connectors']) {
      const { json } = await broker.request(`/api/v5/${kind}?namespace=plant.1`)
      assert.deepEqual(json.data ?? json, [], kind)
    }
  })

  test('an account of a namespace cannot use names of other namespaces or files, or exceed its quota', async (t) => {
    const broker = await prepared()
    const service = await HttpService.start(t)
    const url = `http://127.0.0.1:${service.port}`
    await makeAll(broker, { as: shop, url, path: 'shop' })
    await makeAll(broker, { url, path: 'global' })
    const post = (kind: string, body: unknown, as = plant) =>
      broker.request(`/api/v5/${kind}`, { method: 'POST', body, as })
    for (const action of ['http:hook', 'http:hook@shop', 'http:hook@']) {
      const refused = await post('rules', { id: 'r', sql: 'SELECT * FROM "#"', actions: [action] })
      assert.equal(refused.status, 400, refused.text)
    }
    for (const connector of ['hook', 'hook@shop']) {
      const body = { type: 'http', name: 'a', connector, parameters: {} }
      assert.equal((await post('actions', body)).status, 400)
      assert.equal((await post('actions_probe', body)).status, 400)
    }
    const toDisk = { type: 'disk_log', name: 'd', filepath: 'x.log' }
    for (const body of [toDisk, { type: 'sqlite', name: 'd', path: 'x.db' }])
      for (const kind of ['connectors', 'connectors_probe']) {
        const refused = await post(kind, body)
        assert.equal(refused.status, 400)
        assert.match(refused.text, /files of the broker/)
      }
    const withFile = { type: 'http', name: 'f', url, ssl: { enable: true, cacertfile: '/etc/passwd' } }
    for (const kind of ['connectors', 'connectors_probe']) {
      const refused = await post(kind, withFile)
      assert.equal(refused.status, 400)
      assert.match(refused.text, /cacertfile names a file/)
    }
    // A masked secret with the name of a connector of another namespace.
    const masked = (await broker.request('/api/v5/connectors/http:hook', { as: shop })).json
    const { url: _, ...rest } = masked
    assert.ok(JSON.stringify(rest).includes('*'), JSON.stringify(rest))
    assert.equal((await post('connectors', { type: 'http', name: 'hook', url, headers: masked.headers })).status, 400)
    await done(post('connectors', { type: 'http', name: 'hook', url, headers: { authorization: '******' } }))
    await done(post('actions', { type: 'http', name: 'hook', connector: 'hook', parameters: { body: '${payload}' } }))
    await done(post('rules', { id: 'all', sql: 'SELECT * FROM "in/#"', actions: ['http:hook'] }))
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'c', username: 'plant.1/c' })
    t.after(() => client.endAsync(true))
    await client.publishAsync('in/x', 'masked', { qos: 1 })
    await service.until((received) => received.length > 0)
    assert.doesNotMatch(String(service.received[0]?.headers.authorization), /secret of/)
    for (const name of ['c2', 'c3']) {
      const made = await post('connectors', { type: 'http', name, url })
      assert.equal(made.status, name === 'c2' ? 201 : 400, made.text)
      if (name === 'c3') assert.match(made.text, /namespaces\.max_actions/)
    }
    for (const id of ['r2', 'r3', 'r4']) {
      const made = await post('rules', { id, sql: 'SELECT * FROM "#"' })
      assert.equal(made.status, id === 'r4' ? 400 : 201, made.text)
    }
    for (const path of ['rules/r2', 'rules/r3', 'connectors/http:c2'])
      await done(broker.request(`/api/v5/${path}`, { method: 'DELETE', as: plant }), 204)
    for (const as of [plant, shop, undefined]) await removeAll(broker, as)
  })

  test('a result is published within the namespace', async (t) => {
    const broker = await prepared()
    const republish = { function: 'republish', args: { topic: 'out/${topic}', payload: '${payload}' } }
    const rule = { id: 'again', sql: 'SELECT * FROM "in/#"', actions: [republish] }
    await done(broker.request('/api/v5/rules', { method: 'POST', body: rule, as: plant }))
    const clients = await Promise.all(
      ['plant.1/c', 'shop/c', undefined].map((username) =>
        mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, {
          clientId: 'reader',
          ...(username !== undefined && { username }),
        }),
      ),
    )
    t.after(() => Promise.all(clients.map((client) => client.endAsync(true))))
    const receivedMessages: string[] = []
    const [own] = clients
    const first = new Promise((resolve) => own?.once('message', resolve))
    for (const [place, client] of clients.entries()) {
      client.on('message', (topic, payload) => receivedMessages.push(`${place} ${topic} ${String(payload)}`))
      await client.subscribeAsync('out/#')
    }
    await clients[1]?.publishAsync('in/x', 'of the shop', { qos: 1 })
    await clients[2]?.publishAsync('in/x', 'of no namespace', { qos: 1 })
    await own?.publishAsync('in/x', 'of the plant', { qos: 1 })
    await first
    assert.deepEqual(receivedMessages, ['0 out/in/x of the plant'])
    await done(broker.request('/api/v5/rules/again', { method: 'DELETE', as: plant }), 204)
  })

  test('fallbacks of an action are actions of its namespace, and publish within it', async (t) => {
    const broker = await prepared()
    const service = await HttpService.start(t)
    service.statusFor = ({ path }) => (path === '/hook' ? 400 : 200)
    const made = (path: string, body: object) =>
      done(broker.request(`/api/v5/${path}`, { method: 'POST', body, as: plant }))
    await made('connectors', { type: 'http', name: 'local', url: `http://127.0.0.1:${service.port}` })
    const action = { type: 'http', connector: 'local', resource_opts: { max_retries: 0 } }
    await made('actions', { ...action, name: 'second', parameters: { path: 'second', body: '${topic}' } })
    const reference = { kind: 'reference', type: 'http', name: 'second' }
    const republish = { kind: 'republish', args: { topic: 'refused/${topic}' } }
    const hook = { ...action, name: 'hook', parameters: { path: 'hook', body: '${payload}' } }
    const shown = await made('actions', { ...hook, fallback_actions: [reference, republish] })
    assert.deepEqual(shown.fallback_actions[0], reference)
    const used = await broker.request('/api/v5/actions/http:second', { method: 'DELETE', as: plant })
    assert.match(used.text, /the action http:second is used by http:hook:/)
    await made('rules', { id: 'all', sql: 'SELECT * FROM "in/#"', actions: ['http:hook'] })
    const connect = (username: string) => mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { username })
    const client = await connect('plant.1/c')
    t.after(() => client.endAsync(true))
    await client.subscribeAsync('refused/#', { qos: 1 })
    const refused = new Promise<string>((resolve) => client.once('message', (topic) => resolve(topic)))
    await client.publishAsync('in/x', 'poison', { qos: 1 })
    assert.equal(await refused, 'refused/in/x')
    await service.until((received) => received.some(({ path, body }) => path === '/second' && body === 'in/x'))
    for (const path of [
      'rules/all',
      'actions/http:hook?force=true',
      'actions/http:second?force=true',
      'connectors/http:local',
    ])
      await done(broker.request(`/api/v5/${path}`, { method: 'DELETE', as: plant }), 204)
  })
})
