// Plugins over the API: installation, configuration, order, rights, and what is refused.

import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { packPlugin, type PackageText } from '../plugins/plugin-packages.ts'
import { type ApiResponse, type BrokerWithApi, restartBroker, shareBrokerWithApi } from './api.ts'
import { requestOverSocket } from './http.ts'
import { uploadPlugin } from './plugin-requests.ts'

const shared = shareBrokerWithApi({
  set: ['plugins.allow_install=true', 'plugins.max_archive=64KB', 'namespaces.enable=true'],
})

const schema = JSON.stringify({
  type: 'object',
  properties: { rate: { type: 'integer', default: 5 }, token: { type: 'string', format: 'password' } },
  additionalProperties: false,
})

const withSchema: PackageText = { godwit: { api: 1, hooks: ['client.authenticate'], config: 'config.schema.json' } }

function pack(name: string, version = '1.0.0', fields: PackageText = {}): Buffer {
  return packPlugin({ name, version, ...fields }, { 'README.md': `# ${name}`, 'config.schema.json': schema })
}

type Outcome = readonly [status: number, reason: string | undefined]
const toOutcome = ({ status, json }: ApiResponse): Outcome => [status, json?.reason]

async function listNames(broker: BrokerWithApi): Promise<readonly string[]> {
  const { json } = await broker.request('/api/v5/plugins')
  return json.map(({ name, rel_vsn }: { name: string; rel_vsn: string }) => `${name}-${rel_vsn}`)
}

async function deleteAll(broker: BrokerWithApi): Promise<void> {
  for (const name of await listNames(broker)) {
    assert.equal((await broker.request(`/api/v5/plugins/${name}`, { method: 'DELETE' })).status, 204)
  }
}

test('a plugin is installed, described, configured, moved and deleted', async () => {
  const broker = await shared()
  const installed = await uploadPlugin(broker, pack('first', '1.0.0', { ...withSchema, author: 'Ada' }))
  assert.equal(installed.status, 200, installed.text)
  const { sha256, ...row } = installed.json
  assert.match(sha256, /^[0-9a-f]{64}$/)
  const node = row.running_status[0].node
  assert.deepEqual(row, {
    name: 'first',
    rel_vsn: '1.0.0',
    rel_apps: ['first-1.0.0'],
    author: ['Ada'],
    description: '',
    readme: '# first',
    permissions: [],
    hooks: ['client.authenticate'],
    enabled: false,
    network: 'unknown',
    problem: '',
    calls: 0,
    failures: 0,
    pending: 0,
    restarts: 0,
    running_status: [{ node, status: 'stopped' }],
  })
  for (const name of ['first', 'first-1.0.0']) {
    assert.deepEqual((await broker.request(`/api/v5/plugins/${name}`)).json, installed.json)
  }
  assert.deepEqual((await broker.request('/api/v5/plugins')).json, [installed.json])
  await uploadPlugin(broker, pack('second'))
  await uploadPlugin(broker, pack('third'))
  const move = async (name: string, position: string): Promise<Outcome> =>
    toOutcome(await broker.request(`/api/v5/plugins/${name}/move`, { method: 'POST', body: { position } }))
  assert.deepEqual(await move('third', 'front'), [204, undefined])
  assert.deepEqual(await move('first', 'rear'), [204, undefined])
  assert.deepEqual(await move('second-1.0.0', 'before:third-1.0.0'), [204, undefined])
  assert.deepEqual(await listNames(broker), ['second-1.0.0', 'third-1.0.0', 'first-1.0.0'])
  assert.deepEqual(await move('second', 'after:first'), [204, undefined])
  assert.deepEqual(await listNames(broker), ['third-1.0.0', 'first-1.0.0', 'second-1.0.0'])
  for (const position of ['middle', 'before:', 'before:nobody', 'after:second', ''])
    assert.deepEqual(await move('second', position), [400, 'BAD_POSITION'], position)
  assert.deepEqual(await move('nobody', 'front'), [404, 'NOT_FOUND'])
  await deleteAll(broker)
  assert.deepEqual(readdirSync(join(broker.dataDirectory, 'plugins')), ['installed.json'])
})

test('the configuration is checked by the schema, and secrets are masked', async () => {
  const broker = await shared()
  await uploadPlugin(broker, pack('first', '1.0.0', withSchema))
  const path = '/api/v5/plugins/first/config'
  const put = async (body: unknown): Promise<Outcome> => toOutcome(await broker.request(path, { method: 'PUT', body }))
  assert.deepEqual((await broker.request('/api/v5/plugins/first/schema')).json, JSON.parse(schema))
  assert.deepEqual((await broker.request(path)).json, { rate: 5 })
  assert.deepEqual(await put({ rate: 7, token: 'secret' }), [204, undefined])
  const shown = await broker.request(path)
  assert.deepEqual(shown.json, { rate: 7, token: '******' })
  assert.deepEqual(await put({ ...shown.json, rate: 8 }), [204, undefined])
  const records = await requestOverSocket(join(broker.dataDirectory, 'ctl.sock'), path)
  assert.deepEqual(records.json, { rate: 8, token: '******' }, 'also on the machine')
  assert.deepEqual(await put({ rate: 'x' }), [400, 'BAD_CONFIG'])
  assert.deepEqual(await put({ unknown: 1 }), [400, 'BAD_CONFIG'])
  assert.deepEqual(await put([]), [400, 'BAD_REQUEST'])
  await uploadPlugin(broker, pack('second'))
  const other = await broker.request('/api/v5/plugins/second/config', { method: 'PUT', body: { a: 1 } })
  assert.deepEqual(toOutcome(other), [400, 'BAD_CONFIG'], 'without a schema there is no configuration')
  assert.deepEqual(toOutcome(await broker.request('/api/v5/plugins/second/schema')), [404, 'NOT_FOUND'])
  await deleteAll(broker)
})

test('what cannot be installed is refused with a reason, and leaves nothing', async () => {
  const broker = await shared()
  await uploadPlugin(broker, pack('first'))
  const refuse = async (packed: Buffer, query = ''): Promise<Outcome> =>
    toOutcome(await uploadPlugin(broker, packed, { query }))
  assert.deepEqual(await refuse(pack('first')), [400, 'ALREADY_INSTALLED'])
  assert.deepEqual(await refuse(pack('first', '2.0.0')), [400, 'ALREADY_INSTALLED'])
  assert.deepEqual(await refuse(pack('first'), '?upgrade=true'), [400, 'ALREADY_INSTALLED'])
  assert.deepEqual(await refuse(Buffer.from('no archive')), [400, 'BAD_PLUGIN_INFO'])
  assert.deepEqual(await refuse(packPlugin({ name: 'max_archive' })), [400, 'BAD_PLUGIN_INFO'])
  const large = Buffer.concat(Array.from({ length: 4_000 }, (_, at) => Buffer.from(`${Math.sin(at)} ${Math.cos(at)}`)))
  assert.deepEqual(await refuse(packPlugin({}, { large })), [400, 'BAD_PLUGIN_INFO'], 'more than plugins.max_archive')
  const noForm = await broker.request('/api/v5/plugins/install', { method: 'POST', body: {} })
  assert.deepEqual(toOutcome(noForm), [400, 'BAD_FORM_DATA'])
  assert.deepEqual(await listNames(broker), ['first-1.0.0'])
  assert.deepEqual(readdirSync(join(broker.dataDirectory, 'plugins')).toSorted(), [
    'first-1.0.0',
    'first-1.0.0.tgz',
    'installed.json',
  ])
  await deleteAll(broker)
})

test('an upgrade keeps the configuration, and more permissions must be allowed first', async () => {
  const broker = await shared()
  await uploadPlugin(broker, pack('first', '1.0.0', withSchema))
  await broker.request('/api/v5/plugins/first/config', { method: 'PUT', body: { rate: 9 } })
  const upgraded = await uploadPlugin(broker, pack('first', '1.1.0', withSchema), { query: '?upgrade=true' })
  assert.equal(upgraded.json.rel_vsn, '1.1.0', upgraded.text)
  assert.deepEqual((await broker.request('/api/v5/plugins/first/config')).json, { rate: 9 })
  const wider = pack('first', '2.0.0', { godwit: { api: 1, hooks: ['client.connect'], permissions: ['net'] } })
  const refused = await uploadPlugin(broker, wider, { query: '?upgrade=true' })
  assert.deepEqual(toOutcome(refused), [403, 'FORBIDDEN'])
  assert.match(refused.json.message, /net.*godwit plugins allow first/)
  const allowed = await broker.request('/api/v5/plugins/first/allow', { method: 'POST' })
  assert.deepEqual(allowed.json, { permissions: ['net'] })
  assert.equal((await uploadPlugin(broker, wider, { query: '?upgrade=true' })).json.permissions[0], 'net')
  await deleteAll(broker)
})

test('version 4 lists plugins of nodes, and refuses unknown names and nodes with 404 and 102', async () => {
  const broker = await shared()
  await uploadPlugin(broker, pack('first', '1.0.0', { ...withSchema, description: 'Logs in' }))
  const { json } = await broker.request('/api/v4/plugins')
  const [{ node, plugins }] = json.data
  assert.deepEqual(plugins, [{ name: 'first', version: '1.0.0', description: 'Logs in', active: false, type: 'auth' }])
  assert.deepEqual((await broker.request(`/api/v4/nodes/${node}/plugins`)).json, { code: 0, data: plugins })
  const put = async (path: string): Promise<readonly [number, number]> => {
    const response = await broker.request(path, { method: 'PUT' })
    return [response.status, response.json.code]
  }
  for (const prefix of ['/api/v4', `/api/v4/nodes/${node}`]) {
    assert.deepEqual(await put(`${prefix}/plugins/first/unload`), [400, 111])
    assert.deepEqual(await put(`${prefix}/plugins/first/reload`), [400, 111])
    assert.deepEqual(await put(`${prefix}/plugins/nobody/load`), [404, 102])
    assert.equal((await put(`${prefix}/plugins/first/other`))[0], 400)
  }
  assert.deepEqual(await put('/api/v4/nodes/nowhere/plugins/first/load'), [404, 102])
  const unknown = await broker.request('/api/v4/nodes/nowhere/plugins')
  assert.deepEqual([unknown.status, unknown.json.code], [404, 102])
  await deleteAll(broker)
})

test('accounts install, API keys list and start, viewers read, and namespaced accounts see nothing', async () => {
  const broker = await shared()
  await uploadPlugin(broker, pack('first'))
  const password = 'a long password'
  for (const user of [
    { username: 'viewer', password, role: 'viewer' },
    { username: 'plant-admin', password, role: 'ns:plant::administrator' },
  ]) {
    const made = await broker.request('/api/v5/users', { method: 'POST', body: user })
    assert.equal(made.status, 200, made.text)
  }
  const key = await broker.request('/api/v5/api_key', {
    method: 'POST',
    body: { name: 'ci', desc: 'for tests', enable: true, role: 'administrator' },
  })
  assert.equal(key.status, 200, key.text)
  const credentials = {
    key: `${key.json.api_key}:${key.json.api_secret}`,
    viewer: `viewer:${password}`,
    namespaced: `plant-admin:${password}`,
  }
  const changes = [
    ['DELETE', '/api/v5/plugins/first', undefined],
    ['PUT', '/api/v5/plugins/first/config', {}],
    ['POST', '/api/v5/plugins/first/move', { position: 'front' }],
    ['POST', '/api/v5/plugins/first/allow', undefined],
  ] as const
  for (const [who, as] of Object.entries(credentials)) {
    for (const [method, path, body] of changes)
      assert.equal((await broker.request(path, { as, method, body })).status, 403, `${who} ${method} ${path}`)
    assert.equal((await uploadPlugin(broker, pack('second'), { as })).status, 403, who)
    assert.equal((await broker.request('/api/v5/plugins', { as })).status, who === 'namespaced' ? 403 : 200, who)
    assert.equal((await broker.request('/api/v4/plugins', { as })).status, who === 'namespaced' ? 403 : 200, who)
    const stopped = await broker.request('/api/v5/plugins/first/stop', { as, method: 'PUT' })
    assert.equal(stopped.status, who === 'key' ? 204 : 403, who)
  }
  assert.deepEqual(await listNames(broker), ['first-1.0.0'])
  await deleteAll(broker)
})

test('the audit log has name, version and SHA-256 of an installation, and its refusals', async () => {
  const broker = await shared()
  const { json } = await uploadPlugin(broker, pack('audited'))
  await uploadPlugin(broker, pack('audited'))
  const { data } = (await broker.request('/api/v5/audit?operation=install_plugin&limit=2')).json
  assert.deepEqual(
    data.map(({ outcome, username, request }: Record<string, unknown>) => [outcome, username, request]),
    [
      ['refused', 'admin', null],
      ['done', 'admin', { plugin: 'audited', version: '1.0.0', sha256: json.sha256 }],
    ],
  )
  assert.match(data[0].message, /audited-1\.0\.0 is installed/)
  await deleteAll(broker)
})

test('installed plugins are there after a restart', async () => {
  const broker = await shared()
  const { json } = await uploadPlugin(broker, pack('kept', '1.0.0', withSchema))
  await broker.request('/api/v5/plugins/kept/config', { method: 'PUT', body: { rate: 3, token: 't' } })
  const again = await restartBroker(broker)
  assert.deepEqual((await again.request('/api/v5/plugins')).json, [json])
  assert.deepEqual((await again.request('/api/v5/plugins/kept/config')).json, { rate: 3, token: '******' })
  await deleteAll(again)
})

const closed = shareBrokerWithApi({ set: ['node.shards=1'] })

test('without plugins.allow_install nothing is installed over HTTP, and the API cannot change that', async () => {
  const broker = await closed()
  const refused = await uploadPlugin(broker, pack('first'))
  assert.deepEqual(toOutcome(refused), [403, 'FORBIDDEN'])
  assert.match(refused.json.message, /plugins\.allow_install = true/)
  for (const [path, body] of [
    ['/api/v4/config_update', 'plugins.allow_install = true'],
    ['/api/v4/config_update', `plugins.allowed_sha256 = ["${'0'.repeat(64)}"]`],
  ] as const) {
    const response = await broker.request(path, { method: 'POST', body })
    assert.deepEqual([response.status, response.json.code], [400, 108], response.text)
    assert.match(response.json.message, /the API may not change it/)
  }
  const allowed = await broker.request('/api/v5/plugins/first/allow', { method: 'POST' })
  assert.deepEqual(toOutcome(allowed), [403, 'FORBIDDEN'])
  assert.equal(existsSync(join(broker.dataDirectory, 'plugins', 'installed.json')), false)
})
