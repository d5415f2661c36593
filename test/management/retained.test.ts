import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { shapeOf, retainedEndpoints } from '../../src/contract/index.ts'
import { startBrokerWithApi } from './api.ts'

const reply = shapeOf(retainedEndpoints.list_retained.reply)

test('retained messages are listed by filter, from every shard, and it is said where there are more', async (t) => {
  const broker = await startBrokerWithApi(t, { set: ['node.shards=3'] })
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'gardener', protocolVersion: 5 })
  t.after(() => client.endAsync())
  const properties = { messageExpiryInterval: 3_600 }
  for (let bed = 0; bed < 40; bed++) {
    await client.publishAsync(`garden/${bed}/water`, 'wet', { qos: 1, retain: true, properties })
  }
  await client.publishAsync('house/door', 'shut', { qos: 1, retain: true })
  const all = await broker.ask('/api/v4/retained?topic=garden/%2B/water')
  assert.equal(reply.faultOf(all.json), undefined)
  assert.equal(new Set(all.json.data.map(({ topic }: { topic: string }) => topic)).size, 40)
  assert.deepEqual(all.json.meta, { limit: 1_000, hasnext: false })
  const [first] = all.json.data
  assert.deepEqual([first.qos, first.payload_bytes, first.from_clientid], [1, 3, 'gardener'])
  assert.match(first.expires_at, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  const some = await broker.ask('/api/v4/retained?limit=7')
  assert.equal(some.json.data.length, 7)
  assert.deepEqual(some.json.meta, { limit: 7, hasnext: true })
  const exactly = await broker.ask('/api/v4/retained?limit=41')
  assert.deepEqual([exactly.json.data.length, exactly.json.meta.hasnext], [41, false])
})

test('a filter that is none is code 115, a limit that is none 108', async (t) => {
  const broker = await startBrokerWithApi(t)
  for (const [query, code] of [
    ['topic=a/%23/b', 115],
    ['topic=$share/g/a', 115],
    ['limit=0', 108],
    ['limit=10001', 108],
  ] as const) {
    const refused = await broker.ask(`/api/v4/retained?${query}`)
    assert.deepEqual([refused.status, refused.json.code], [400, code], query)
  }
})

test('one retained message is told with what it says, small or large, and is deleted', async (t) => {
  const broker = await startBrokerWithApi(t)
  const client = await connectAsync({ port: broker.port })
  t.after(() => client.endAsync(true))
  const large = Buffer.alloc(200_000, 'ab')
  await client.publishAsync('one/small', 'x', { qos: 1, retain: true })
  await client.publishAsync('one/large', large, { qos: 1, retain: true })
  const small = await broker.ask('/api/v4/retained/one%2Fsmall')
  assert.equal(Buffer.from(small.json.data.payload_base64, 'base64').toString(), 'x')
  const found = await broker.ask('/api/v4/retained/one%2Flarge')
  assert.deepEqual(Buffer.from(found.json.data.payload_base64, 'base64'), large)
  assert.equal((await broker.ask('/api/v4/retained/one%2Flarge', { method: 'DELETE' })).json.code, 0)
  for (const method of ['GET', 'DELETE'] as const) {
    const gone = await broker.ask('/api/v4/retained/one%2Flarge', { method })
    assert.deepEqual([gone.status, gone.json.code], [404, 108], method)
  }
  const wrong = await broker.ask('/api/v4/retained/one%2F%23')
  assert.equal(wrong.json.code, 115)
})
