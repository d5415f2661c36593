// A plugin that is installed over the API is started, called, kept over a restart, and stopped.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
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
