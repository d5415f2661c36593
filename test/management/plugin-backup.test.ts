// Plugins in backup archives: with configuration, order and state; and imports without the right to install.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packPlugin, type PackageText } from '../plugins/plugin-packages.ts'
import { administrator, type ApiResponse, type BrokerWithApi, shareBrokerWithApi } from './api.ts'
import { uploadPlugin } from './plugin-requests.ts'

const openBroker = shareBrokerWithApi({ set: ['node.shards=1', 'plugins.allow_install=true'] })
const closedBroker = shareBrokerWithApi({ set: ['node.shards=1'] })

const schema = JSON.stringify({
  type: 'object',
  properties: { rate: { type: 'integer', default: 5 }, token: { type: 'string', format: 'password' } },
})
const withSchema: PackageText = { godwit: { api: 1, hooks: ['message.publish'], config: 'config.schema.json' } }

function pack(name: string): Buffer {
  return packPlugin({ name, ...withSchema }, { 'config.schema.json': schema })
}

interface Row {
  readonly name: string
  readonly sha256: string
}

async function listPlugins(broker: BrokerWithApi): Promise<readonly Row[]> {
  return (await broker.request('/api/v5/plugins')).json
}

async function exportArchive(broker: BrokerWithApi, body: object = {}): Promise<string> {
  const { status, json, text } = await broker.request('/api/v5/data/export', { method: 'POST', body })
  assert.equal(status, 200, text)
  return json.filename
}

function importArchive(broker: BrokerWithApi, filename: string, fields: object = {}): Promise<ApiResponse> {
  return broker.request('/api/v5/data/import', { method: 'POST', body: { filename, ...fields } })
}

async function copyArchive(from: BrokerWithApi, to: BrokerWithApi, filename: string): Promise<void> {
  const headers = { authorization: `Basic ${Buffer.from(administrator).toString('base64')}` }
  const downloaded = await fetch(`${from.url}/api/v5/data/files/${filename}`, { headers })
  const form = new FormData()
  form.append('filename', await downloaded.blob(), filename)
  const uploaded = await fetch(`${to.url}/api/v5/data/files`, { method: 'POST', headers, body: form })
  assert.equal(uploaded.status, 200, await uploaded.text())
}

test('plugins are restored with configuration and order, and only by a caller that may install them', async () => {
  const broker = await openBroker()
  for (const name of ['first', 'second', 'third']) assert.equal((await uploadPlugin(broker, pack(name))).status, 200)
  const config = { rate: 9, token: 'a-secret-token' }
  await broker.request('/api/v5/plugins/second/config', { method: 'PUT', body: config })
  await broker.request('/api/v5/plugins/third/move', { method: 'POST', body: { position: 'front' } })
  const before = await listPlugins(broker)
  const filename = await exportArchive(broker)
  const unchanged = await importArchive(broker, filename, { dry_run: true })
  const [row] = unchanged.json.data.tables.filter(({ table }: { table: string }) => table === 'plugins')
  assert.deepEqual([row.inserts, row.updates, row.unchanged], [0, 0, 3])

  await broker.request('/api/v5/plugins/third', { method: 'DELETE' })
  await broker.request('/api/v5/plugins/first', { method: 'DELETE' })
  await broker.request('/api/v5/plugins/second/config', { method: 'PUT', body: { rate: 1 } })
  const imported = await importArchive(broker, filename, { parts: ['plugins'] })
  assert.equal(imported.status, 200, imported.text)
  const [table] = imported.json.data.tables
  assert.deepEqual([table.table, table.inserts, table.updates, table.unchanged], ['plugins', 2, 1, 0])
  assert.deepEqual(await listPlugins(broker), before)
  const shown = await broker.request('/api/v5/plugins/second/config')
  assert.deepEqual(shown.json, { rate: 9, token: '******' })

  const closed = await closedBroker()
  await copyArchive(broker, closed, filename)
  const skipped = await importArchive(closed, filename)
  assert.equal(skipped.status, 200, skipped.text)
  assert.match(skipped.json.data.warnings.join(), /3 plugins are not imported: .*plugins\.allow_install/)
  assert.deepEqual(await listPlugins(closed), [])
})

test('an API key neither exports nor downloads plugins, and imports the rest', async () => {
  const broker = await openBroker()
  const whole = await exportArchive(broker)
  const body = { name: 'backups', desc: '', enable: true, role: 'administrator' }
  const { json } = await broker.request('/api/v5/api_key', { method: 'POST', body })
  const as = `${json.api_key}:${json.api_secret}`
  const exported = await broker.request('/api/v5/data/export', { method: 'POST', body: {}, as })
  assert.equal(exported.json.tables.includes('plugins'), false)
  assert.equal((await broker.request(`/api/v5/data/files/${exported.json.filename}`, { as })).status, 200)
  assert.equal((await broker.request(`/api/v5/data/files/${whole}`, { as })).status, 403)
  const some = await exportArchive(broker, { table_sets: ['plugins'] })
  const skipped = await broker.request('/api/v5/data/import', { method: 'POST', body: { filename: some }, as })
  assert.equal(skipped.status, 200, skipped.text)
  assert.match(skipped.json.data.warnings.join(), /plugins are not imported/)
})
