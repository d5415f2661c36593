// Delayed messages in the whole program: after kill -9, over the API and on the command line.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { startBrokerWithApi } from '../management/api.ts'

test('a delayed message is acknowledged, survives kill -9, is listed, shown and deleted', async (t) => {
  const broker = await startBrokerWithApi(t, { set: ['node.shards=2'] })
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'author' })
  t.after(() => client.end(true))
  const large = 'x'.repeat(5_000)
  // Retained, because it may be published before the reader subscribes.
  await client.publishAsync('$delayed/2/soon', 'hello', { qos: 1, retain: true })
  await client.publishAsync('$delayed/3600/later', 'small', { qos: 2 })
  await client.publishAsync('$delayed/3600/later', large, { qos: 1 })
  await broker.process.stop('SIGKILL')
  const again = await startBrokerWithApi(t, { dataDirectory: broker.dataDirectory, set: ['node.shards=2'] })
  const reader = await mqtt.connectAsync(`mqtt://127.0.0.1:${again.port}`, { clientId: 'reader' })
  t.after(() => reader.end(true))
  const received = new Promise<string>((resolve) =>
    reader.on('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`)),
  )
  await reader.subscribeAsync('soon', { qos: 1 })
  const listed = (await again.request('/api/v5/mqtt/delayed/messages')).json
  const later = listed.data.filter(({ topic }: { topic: string }) => topic === 'later')
  assert.equal(later.length, 2)
  assert.equal(await received, 'soon hello')
  const payloads = new Set<string>()
  for (const { node, msgid, from_clientid: from, delayed_interval: interval } of later) {
    assert.deepEqual([from, interval], ['author', 3_600])
    const path = `/api/v5/mqtt/delayed/messages/${encodeURIComponent(node)}/${encodeURIComponent(msgid)}`
    payloads.add(Buffer.from((await again.request(path)).json.payload, 'base64').toString())
    assert.equal((await again.request(path, { method: 'DELETE' })).status, 204)
    assert.equal((await again.request(path, { method: 'DELETE' })).status, 404)
  }
  assert.deepEqual([...payloads].toSorted(), ['small', large])
  const page = (await again.request('/api/v5/mqtt/delayed/messages?limit=1')).json
  assert.deepEqual(page, { data: [], meta: { page: 1, limit: 1, count: 0, hasnext: false } })
  const put = await again.request('/api/v5/mqtt/delayed', { method: 'PUT', body: { max_delayed_messages: 7 } })
  assert.deepEqual(put.json, { enable: true, max_delayed_messages: 7 })
  assert.deepEqual((await again.request('/api/v5/mqtt/delayed')).json, { enable: true, max_delayed_messages: 7 })
})
