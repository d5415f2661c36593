// Rules, connectors and actions in an archive: an import on another broker restores them with their secrets, and they run.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import mqtt from 'mqtt'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, shared } from './godwit-process.ts'
import { HttpService } from './http-service.ts'
import { longTest } from '../test-length.ts'

const rule = { id: 'all', sql: 'SELECT payload FROM "in/#"', actions: ['http:hook'], description: 'kept' }

async function post(
  broker: BrokerWithApi,
  path: string,
  body: object,
): Promise<{ status: number; text: string; json: { filename: string } }> {
  return broker.request(`/api/v5/${path}`, { method: 'POST', body })
}

const sharedFrom = shared(startWithNamespaces)
const sharedTo = shared(startWithNamespaces)

test('rules, connectors, actions and settings of topics are in archives: export, preview, import', async (t) => {
  const service = await HttpService.start(t)
  const from = await sharedFrom()
  const url = `http://127.0.0.1:${service.port}`
  const headers = { authorization: 'Bearer hidden' }
  assert.equal((await post(from, 'connectors', { type: 'http', name: 'local', url, headers })).status, 201)
  const parameters = { body: '${payload}' }
  assert.equal(
    (await post(from, 'actions', { type: 'http', name: 'hook', connector: 'local', parameters })).status,
    201,
  )
  assert.equal((await post(from, 'rules', rule)).status, 201)
  const rewrite = [{ action: 'publish', source_topic: 'old/#', re: '^old/(.+)$', dest_topic: 'in/$1' }]
  assert.equal((await from.request('/api/v5/mqtt/topic_rewrite', { method: 'PUT', body: rewrite })).status, 200)
  assert.equal((await post(from, 'mqtt/topic_metrics', { topic: 'in/x' })).status, 200)
  const { filename } = (await post(from, 'data/export', {})).json

  const to = await sharedTo()
  const folder = join(to.dataDirectory, 'backup')
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(from.dataDirectory, 'backup', filename), join(folder, filename))
  const preview = await post(to, 'data/import', { filename, dry_run: true })
  assert.equal(preview.status, 200, preview.text)
  assert.match(preview.text, /rule_engine\.rules\.all/)
  assert.doesNotMatch(preview.text, /hidden/)
  assert.deepEqual((await to.request('/api/v5/rules')).json.data, [])
  const imported = await post(to, 'data/import', { filename })
  assert.equal(imported.status, 200, imported.text)

  assert.equal((await to.request('/api/v5/rules/all')).json.sql, rule.sql)
  assert.equal((await to.request('/api/v4/rules/rule:all')).json.data.description, 'kept')
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${to.port}`, { clientId: 'publisher' })
  t.after(() => client.end(true))
  await client.publishAsync('old/x', 'restored', { qos: 1 })
  await service.until((received) => received.length === 1)
  const [counted] = (await to.request('/api/v5/mqtt/topic_metrics')).json
  assert.deepEqual([counted.topic, counted.metrics['messages.qos1.in.count']], ['in/x', 1])
  assert.deepEqual([service.received[0].body, service.received[0].headers.authorization], ['restored', 'Bearer hidden'])
})

const password = 'a long password'
const namespaced = ['node.shards=1', 'namespaces.enable=true', 'namespaces.username="${namespace}/*"']

/** A broker with administrators of two namespaces. */
async function startWithNamespaces(t: Scope): Promise<BrokerWithApi> {
  const broker = await startBrokerWithApi(t, { set: namespaced })
  for (const namespace of ['plant', 'shop']) {
    const body = { username: `${namespace}-admin`, password, role: `ns:${namespace}::administrator` }
    assert.equal((await post(broker, 'users', body)).status, 200)
  }
  return broker
}

const plant = `plant-admin:${password}`
const shop = `shop-admin:${password}`

/** A connector, an action with a fallback, a source and a rule of a namespace. */
async function makeAll(broker: BrokerWithApi, as: string, url: string): Promise<void> {
  const headers = { authorization: `Bearer hidden of ${as.split('-')[0]}` }
  const spare = { type: 'http', connector: 'local', parameters: { path: '/spare', body: '${payload}' } }
  for (const [path, body] of [
    ['connectors', { type: 'http', name: 'local', url, headers }],
    ['actions', { ...spare, name: 'spare' }],
    ['actions', { ...spare, name: 'hook', parameters: { path: '/hook', body: '${payload}' } }],
    ['connectors', { type: 'mqtt', name: 'far', server: '127.0.0.1:1', enable: false }],
    ['sources', { type: 'mqtt', name: 'in', connector: 'far', parameters: { topic: 'a' }, enable: false }],
    ['rules', { ...rule, actions: [{ action: 'http:hook', fallbacks: ['http:spare'] }] }],
  ] as const)
    assert.equal((await broker.request(`/api/v5/${path}`, { method: 'POST', body, as })).status, 201, path)
  // Wait until their state does not change any more.
  await eventually(async () => {
    const { json } = await broker.request('/api/v5/actions', { as })
    assert.deepEqual(
      json.map(({ status }: { status: string }) => status),
      ['connected', 'connected'],
    )
  })
}

/** Copies an archive into the folder of a namespace at another broker. */
function copyArchive(from: BrokerWithApi, to: BrokerWithApi, filename: string, namespace = 'plant'): void {
  const folder = join(to.dataDirectory, 'backup', 'ns', namespace)
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(from.dataDirectory, 'backup', 'ns', 'plant', filename), join(folder, filename))
}

// Daily: the same without processes in test/node/backup/namespace-configuration.test.ts.
longTest(
  'an archive of a namespace has its rules, connectors, actions and sources, and changes nothing of others',
  async (t) => {
    const service = await HttpService.start(t)
    const url = `http://127.0.0.1:${service.port}`
    const from = await startWithNamespaces(t)
    await makeAll(from, plant, url)
    await makeAll(from, shop, url)
    const made = await from.request('/api/v5/data/export', { method: 'POST', body: {}, as: plant })
    assert.equal(made.status, 200, made.text)
    const { filename } = made.json
    const content = await fetch(`${from.url}/api/v5/data/files/${filename}`, {
      headers: { authorization: `Basic ${Buffer.from(plant).toString('base64')}` },
    })
    const archived = gunzipSync(Buffer.from(await content.arrayBuffer())).toString('latin1')
    assert.match(archived, /Bearer hidden of plant/)
    assert.doesNotMatch(archived, /hidden of shop|@plant/)
    const same = await from.request('/api/v5/data/diff', { method: 'POST', body: { first: filename }, as: plant })
    assert.deepEqual(same.json.data.configuration, [], same.text)

    const to = await startWithNamespaces(t)
    await makeAll(to, shop, url)
    const views = async (as: string): Promise<string[]> =>
      Promise.all(
        ['connectors', 'actions', 'sources'].map(async (kind) => (await to.request(`/api/v5/${kind}`, { as })).text),
      )
    const before = await to.request('/api/v4/configuration')
    copyArchive(from, to, filename)
    const preview = await to.request('/api/v5/data/import', {
      method: 'POST',
      body: { filename, dry_run: true },
      as: plant,
    })
    assert.equal(preview.status, 200, preview.text)
    assert.match(preview.text, /"connectors\.http\.local\.url"/)
    assert.doesNotMatch(preview.text, /hidden|@plant/)
    assert.equal((await to.request('/api/v4/configuration')).text, before.text)
    const imported = await to.request('/api/v5/data/import', { method: 'POST', body: { filename }, as: plant })
    assert.equal(imported.status, 200, imported.text)

    const restored = (await to.request('/api/v5/rules/all', { as: plant })).json
    assert.deepEqual([restored.sql, restored.actions], [rule.sql, [{ action: 'http:hook', fallbacks: ['http:spare'] }]])
    assert.deepEqual((await to.request('/api/v5/rules')).json.data, [])
    assert.deepEqual((await to.request('/api/v5/sources', { as: plant })).json[0].connector, 'far')
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${to.port}`, { clientId: 'c', username: 'plant/c' })
    t.after(() => client.end(true))
    await client.publishAsync('in/x', 'restored', { qos: 1 })
    await service.until((received) => received.length === 1)
    const [hooked] = service.received
    assert.deepEqual(
      [hooked.path, hooked.body, hooked.headers.authorization],
      ['/hook', 'restored', 'Bearer hidden of plant'],
    )
    // The other namespace is unchanged, and a second import makes no changes.
    assert.equal((await to.request('/api/v5/rules/all', { as: shop })).json.actions[0].action, 'http:hook')
    const shops = await views(shop)
    const again = await to.request('/api/v5/data/import', {
      method: 'POST',
      body: { filename, dry_run: true },
      as: plant,
    })
    assert.deepEqual(again.json.data.configuration, [], again.text)
    await to.request('/api/v5/rules/all', { method: 'DELETE', as: plant })
    const other = await to.request('/api/v5/data/diff', { method: 'POST', body: { first: filename }, as: plant })
    assert.ok(
      other.json.data.configuration.some(({ key }: { key: string }) => key === 'rule_engine.rules.all.sql'),
      other.text,
    )
    // A global administrator can also import it, into this namespace only.
    copyArchive(from, to, filename, 'shop')
    const strange = await to.request('/api/v5/data/import', { method: 'POST', body: { filename }, as: shop })
    assert.deepEqual([strange.status, strange.json.reason], [403, 'FORBIDDEN'], strange.text)
    const body = { filename }
    assert.equal((await to.request('/api/v5/data/import?namespace=shop', { method: 'POST', body })).status, 403)
    assert.equal((await to.request('/api/v5/data/import?namespace=plant', { method: 'POST', body })).status, 200)
    assert.equal((await to.request('/api/v5/rules/all', { as: plant })).json.sql, rule.sql)
    assert.deepEqual(await views(shop), shops)
  },
)

test('settings that name files of the machine are imported into a namespace only by a global administrator', async () => {
  const from = await sharedFrom()
  const log = { type: 'disk_log', name: 'log', filepath: 'plant.log' }
  assert.equal((await post(from, 'connectors?namespace=plant', log)).status, 201)
  const { filename } = (await from.request('/api/v5/data/export', { method: 'POST', body: {}, as: plant })).json
  const importData = (broker: BrokerWithApi, as?: string) =>
    broker.request(`/api/v5/data/import${as === undefined ? '?namespace=plant' : ''}`, {
      method: 'POST',
      body: { filename },
      ...(as !== undefined && { as }),
    })
  assert.equal((await importData(from, plant)).status, 200, 'unchanged here')
  const to = await sharedTo()
  copyArchive(from, to, filename)
  const refused = await importData(to, plant)
  assert.deepEqual([refused.status, refused.json.reason], [403, 'FORBIDDEN'], refused.text)
  assert.match(refused.text, /connectors\.disk_log\.log: disk_log writes to files/)
  assert.deepEqual((await to.request('/api/v5/connectors', { as: plant })).json, [])
  assert.equal((await importData(to)).status, 200)
  assert.equal((await to.request('/api/v5/connectors', { as: plant })).json[0].name, 'log')
})
