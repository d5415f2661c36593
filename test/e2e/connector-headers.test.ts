// Headers of a connector that a file configures, changed over the API.

/* oxlint-disable no-template-curly-in-string -- templates of actions */

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { startBrokerWithApi } from '../management/api.ts'
import { temporaryFolder } from './godwit-process.ts'
import { HttpService } from './http-service.ts'

test('null removes a header of the file; others remain, also after a restart, and a mask keeps the stored value', async (t) => {
  const service = await HttpService.start(t)
  const dataDirectory = await temporaryFolder(t)
  const config = join(await temporaryFolder(t), 'godwit.conf')
  const url = `http://127.0.0.1:${service.port}`
  await writeFile(
    config,
    `connectors.http.hook { url = "${url}", headers { x-one = first, x-two = second } }
     actions.http.hook { connector = hook, parameters { body = "\${payload}" } }
     rule_engine.rules.r { sql = "SELECT payload FROM \\"in\\"", actions = ["http:hook"] }`,
  )
  const start = () => startBrokerWithApi(t, { dataDirectory, config, set: ['node.shards=1'] })
  let broker = await start()
  const headersNow = async (): Promise<unknown[]> => {
    const before = service.received.length
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
    await client.publishAsync('in', 'x', { qos: 1 })
    await client.endAsync()
    await service.until((received) => received.length > before)
    const { headers } = service.received[before]
    return [headers['x-one'], headers['x-two'], headers['x-three']]
  }
  assert.deepEqual(await headersNow(), ['first', 'second', undefined])
  const put = async (headers: unknown) =>
    await broker.request('/api/v5/connectors/http:hook', { method: 'PUT', body: { url, headers } })
  const changed = await put({ 'x-two': null, 'x-three': 'third' })
  assert.equal(changed.status, 200, changed.text)
  assert.deepEqual(await headersNow(), ['first', undefined, 'third'])
  // The returned settings can be sent back.
  assert.equal((await put('******')).status, 200)
  assert.deepEqual(await headersNow(), ['first', undefined, 'third'])
  await broker.process.stop('SIGTERM')
  broker = await start()
  assert.deepEqual(await headersNow(), ['first', undefined, 'third'])
  assert.equal((await put({ 'x-two': 'again', 'x-three': null })).status, 200)
  assert.deepEqual(await headersNow(), ['first', 'again', undefined])
  assert.equal((await put({ 'x-one': {} })).status, 400)
})
