// A plugin that is installed over the API is started, called, kept over a restart, and stopped.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connectAsync } from 'mqtt'
import { packPlugin } from '../plugins/plugin-packages.ts'
import { type BrokerWithApi, restartBroker, shareBrokerWithApi } from './api.ts'
import { uploadPlugin } from './plugin-requests.ts'

const shared = shareBrokerWithApi({ set: ['plugins.allow_install=true'] })
const folder = fileURLToPath(new URL('../../examples/plugins/payload-check/', import.meta.url))
const readExample = (name: string): string => readFileSync(`${folder}${name}`, 'utf8')

async function publish({ port }: BrokerWithApi, payload: string): Promise<string> {
  const client = await connectAsync(`mqtt://127.0.0.1:${port}`, { protocolVersion: 5, reconnectPeriod: 0 })
  const outcome = await client.publishAsync('sensors/1', payload, { qos: 1 }).then(
    () => 'accepted',
    () => 'refused',
  )
  await client.endAsync()
  return outcome
}

test('an installed plugin is started, called, started again with the broker, and stopped', async () => {
  let broker = await shared()
  const files = { 'index.js': readExample('index.js'), 'config.schema.json': readExample('config.schema.json') }
  const packed = packPlugin(JSON.parse(readExample('package.json')), files)
  assert.equal((await uploadPlugin(broker, packed)).status, 200)
  const put = async (path: string): Promise<readonly unknown[]> => {
    const { status, json } = await broker.request(path, { method: 'PUT' })
    return [status, json?.code]
  }
  const version4 = '/api/v4/plugins/payload-check'
  assert.equal(await publish(broker, 'not JSON'), 'accepted', 'it is not started')
  for (const _ of [1, 2]) assert.deepEqual(await put('/api/v5/plugins/payload-check/start'), [204, undefined])
  assert.deepEqual(await put(`${version4}/load`), [400, 110])
  assert.deepEqual(await put(`${version4}/reload`), [200, 0])
  assert.equal(await publish(broker, '{"value":1}'), 'accepted')
  assert.equal(await publish(broker, 'not JSON'), 'refused')
  broker = await restartBroker(broker)
  assert.equal(await publish(broker, 'not JSON'), 'refused', 'it starts with the broker')
  const { json } = await broker.request('/api/v5/plugins/payload-check')
  assert.equal(json.running_status[0].status, 'running')
  assert.deepEqual(await put(`${version4}/unload`), [200, 0])
  assert.deepEqual(await put(`${version4}/unload`), [400, 111])
  assert.equal(await publish(broker, 'not JSON'), 'accepted')
})

test('a plugin whose files were changed lets no client in, until it can be started again', async () => {
  let broker = await shared()
  const source = "export default () => ({ 'client.authenticate': () => ({ result: 'allow' }) })"
  const fields = { name: 'guard', godwit: { api: 1, hooks: ['client.authenticate'] } }
  assert.equal((await uploadPlugin(broker, packPlugin(fields, { 'index.js': source }))).status, 200)
  const path = '/api/v5/plugins/guard'
  const start = async (): Promise<number> => (await broker.request(`${path}/start`, { method: 'PUT' })).status
  assert.equal(await start(), 204)
  const entry = join(broker.dataDirectory, 'plugins', 'guard-1.0.0', 'index.js')
  const installed = await readFile(entry)
  await writeFile(entry, `${source}\n`)
  broker = await restartBroker(broker)
  for (const _ of ['at the start', 'after an attempt to start it']) {
    await assert.rejects(publish(broker, '{"value":1}'), { code: 0x88 })
    const { json } = await broker.request(path)
    assert.match(json.problem, /were changed after the installation/)
    assert.deepEqual([json.enabled, json.running_status[0].status], [true, 'stopped'])
    assert.equal((await broker.request('/api/v4/plugins/guard/load', { method: 'PUT' })).status, 400)
    assert.equal(await start(), 400)
  }
  await writeFile(entry, installed)
  assert.equal(await start(), 204)
  assert.equal(await publish(broker, '{"value":1}'), 'accepted')
  assert.equal((await broker.request(path)).json.problem, '')
})
