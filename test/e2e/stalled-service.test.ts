// A service that has answered at once and then does not answer any more: what waits for it may not keep anybody waiting.

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { startBroker } from './godwit-process.ts'

test('publishers are answered while the service of an action is away', async (t) => {
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
  for (let number = 0; number < 40; number++) await client.publishAsync('readings/1', 'answered', { qos: 1 })
  server.close()
  server.closeAllConnections()
  for (let number = 0; number < 40; number++) await client.publishAsync('readings/1', 'stored', { qos: 1 })
})
