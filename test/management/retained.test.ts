import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { compileShape } from '../../src/contract/index.ts'
import { retainedEndpoints } from '../../src/api/retained/endpoints.ts'
import { shareBrokerWithApi } from './api.ts'

const sharedBroker = shareBrokerWithApi({ set: ['node.shards=3'] })

const reply = compileShape(retainedEndpoints.list_retained.reply)

test('retained messages of all shards are listed by filter, and `hasnext` shows that there are more', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'gardener', protocolVersion: 5 })
  t.after(() => client.endAsync())
  const properties = { messageExpiryInterval: 3_600 }
  for (let bed = 0; bed < 40; bed++) {
    await client.publishAsync(`garden/${bed}/water`, 'wet', { qos: 1, retain: true, properties })
  }
  await client.publishAsync('house/door', 'shut', { qos: 1, retain: true })
  const all = await broker.request('/api/v4/retained?topic=garden/%2B/water')
  assert.equal(reply.findFault(all.json), undefined)
  assert.equal(new Set(all.json.data.map(({ topic }: { topic: string }) => topic)).size, 40)
  assert.deepEqual(all.json.meta, { limit: 1_000, hasnext: false })
  const [first] = all.json.data
  assert.deepEqual([first.qos, first.payload_bytes, first.from_clientid], [1, 3, 'gardener'])
  assert.match(first.expires_at, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/)
  const some = await broker.request('/api/v4/retained?limit=7')
  assert.equal(some.json.data.length, 7)
  assert.deepEqual(some.json.meta, { limit: 7, hasnext: true })
  const exactly = await broker.request('/api/v4/retained?limit=41')
  assert.deepEqual([exactly.json.data.length, exactly.json.meta.hasnext], [41, false])

  const seen: string[] = []
  const sizes: number[] = []
  let cursor = 'first'
  for (;;) {
    const page = await broker.request(`/api/v4/retained?topic=garden/%23&_limit=9&_cursor=${cursor}`)
    assert.equal(reply.findFault(page.json), undefined)
    seen.push(...page.json.data.map(({ topic }: { topic: string }) => topic))
    sizes.push(page.json.data.length)
    if (page.json.meta.hasnext !== true) break
    cursor = page.json.meta.cursor
  }
  assert.deepEqual([sizes, new Set(seen).size], [[9, 9, 9, 9, 4], 40])
  const beyond = await broker.request('/api/v4/retained?cursor=9.0.0')
  assert.deepEqual([beyond.json.data, beyond.json.meta.hasnext], [[], false])
})

test('shared subscriptions of all shards are listed separately, in pages', async (t) => {
  const broker = await sharedBroker()
  for (let number = 0; number < 6; number++) {
    const client = await connectAsync({ port: broker.port, clientId: `reader-${number}` })
    t.after(() => client.endAsync(true))
    await client.subscribeAsync(['plain/#', '$share/group/hall/+'])
  }
  const topicsOf = async (query: string): Promise<string[]> => {
    const { json } = await broker.request(`/api/v4/subscriptions?${query}`)
    return json.data.map(({ topic }: { topic: string }) => topic)
  }
  assert.deepEqual(new Set(await topicsOf('shared=true')), new Set(['$share/group/hall/+']))
  assert.equal((await topicsOf('shared=true')).length, 6)
  assert.deepEqual(
    await topicsOf('shared=false'),
    Array.from({ length: 6 }, () => 'plain/#'),
  )
  assert.equal((await topicsOf('shared=true&_limit=4&_cursor=first')).length, 4)
  assert.equal((await topicsOf('shared=true&_match_topic=hall/1')).length, 6)
  assert.deepEqual(await topicsOf('shared=true&_match_topic=plain/1'), [])
  assert.equal((await topicsOf('')).length, 12)
})

test('an invalid filter is refused with 115, an invalid limit with 108', async () => {
  const broker = await sharedBroker()
  for (const [query, code] of [
    ['topic=a/%23/b', 115],
    ['topic=$share/g/a', 115],
    ['limit=0', 108],
    ['limit=10001', 108],
    ['cursor=x', 108],
  ] as const) {
    const refused = await broker.request(`/api/v4/retained?${query}`)
    assert.deepEqual([refused.status, refused.json.code], [400, code], query)
  }
})

test('a retained message is returned with its payload, small or large, and is deleted', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync({ port: broker.port })
  t.after(() => client.endAsync(true))
  const large = Buffer.alloc(200_000, 'ab')
  await client.publishAsync('one/small', 'x', { qos: 1, retain: true })
  await client.publishAsync('one/large', large, { qos: 1, retain: true })
  const small = await broker.request('/api/v4/retained/one%2Fsmall')
  assert.equal(Buffer.from(small.json.data.payload_base64, 'base64').toString(), 'x')
  const found = await broker.request('/api/v4/retained/one%2Flarge')
  assert.deepEqual(Buffer.from(found.json.data.payload_base64, 'base64'), large)
  for (const name of ['large', 'small'])
    assert.equal((await broker.request(`/api/v4/retained/one%2F${name}`, { method: 'DELETE' })).json.code, 0)
  for (const method of ['GET', 'DELETE'] as const) {
    const gone = await broker.request('/api/v4/retained/one%2Flarge', { method })
    assert.deepEqual([gone.status, gone.json.code], [404, 108], method)
  }
  const wrong = await broker.request('/api/v4/retained/one%2F%23')
  assert.equal(wrong.json.code, 115)
})
