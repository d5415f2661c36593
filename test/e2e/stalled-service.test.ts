// A service that stops responding must not delay other clients.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { startBrokerWithApi } from '../management/api.ts'
import { startBroker } from './godwit-process.ts'

test('an action is not shown as connected if its service accepts requests without responding', async (t) => {
  let isSilent = false
  const held: (() => void)[] = []
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => (isSilent ? held.push(() => response.end()) : response.end()))
  })
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const broker = await startBrokerWithApi(t, {
    set: [
      'node.shards=1',
      `connectors.http.service={url="http://127.0.0.1:${address.port}/"}`,
      'actions.http.post={connector=service,resource_opts.request_timeout=1h}',
      'rule_engine.rules.all={sql="SELECT * FROM \\"readings/#\\"",actions=["http:post"]}',
    ],
  })
  const untilStatus = async (status: string): Promise<{ readonly status_reason: string }> => {
    for (;;) {
      const { json } = await broker.request('/api/v5/actions/http:post')
      if (json.status === status) return json
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.end(true))
  await client.publishAsync('readings/1', 'acknowledged', { qos: 1 })
  await untilStatus('connected')
  isSilent = true
  await client.publishAsync('readings/1', 'not acknowledged', { qos: 1 })
  assert.match((await untilStatus('connecting')).status_reason, /not responded/)
  isSilent = false
  for (const respond of held) respond()
  await untilStatus('connected')
})

test('publishers get PUBACK while the service of an action is unavailable', async (t) => {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const broker = await startBroker(t, {
    set: [
      'node.shards=2',
      `connectors.http.service={url="http://127.0.0.1:${address.port}/"}`,
      'actions.http.post={connector=service,resource_opts.retry_interval=100ms}',
      'rule_engine.rules.all={sql="SELECT * FROM \\"readings/#\\"",actions=["http:post"]}',
    ],
  })
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.end(true))
  for (let number = 0; number < 40; number++) await client.publishAsync('readings/1', 'acknowledged', { qos: 1 })
  server.close()
  server.closeAllConnections()
  for (let number = 0; number < 40; number++) await client.publishAsync('readings/1', 'stored', { qos: 1 })
})
