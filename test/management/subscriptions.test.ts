import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { compileShape } from '../../src/contract/index.ts'
import { subscriptionEndpoints } from '../../src/api/subscriptions/endpoints.ts'
import { eventually } from '../e2e/eventually.ts'
import { type Scope, shared } from '../e2e/godwit-process.ts'
import { type ApiResponse, type BrokerWithApi, startBrokerWithApi } from './api.ts'

const listShape = compileShape(subscriptionEndpoints.list_subscriptions.reply)
const treeShape = compileShape(subscriptionEndpoints['list_topic-tree'].reply)

async function list(broker: BrokerWithApi, path: string): Promise<ApiResponse['json']> {
  const { status, json, text } = await broker.request(`/api/v4${path}`)
  assert.equal(status, 200, text)
  return json
}

/** Rows as `client topic QoS`, sorted. */
async function rowsOf(broker: BrokerWithApi, path: string): Promise<string[]> {
  const json = await list(broker, path)
  assert.equal(listShape.findFault(json), undefined)
  const rows: { clientid: string; topic: string; qos: number }[] = json.data
  return rows.map(({ clientid, topic, qos }) => `${clientid} ${topic} ${qos}`).toSorted()
}

async function connect(t: Scope, broker: BrokerWithApi, clientId: string): Promise<MqttClient> {
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId })
  t.after(() => client.endAsync(true))
  return client
}

function byTopic(one: { topic: string }, other: { topic: string }): number {
  return one.topic < other.topic ? -1 : 1
}

function topicsOf(data: { topic: string }[]): string[] {
  return data.map(({ topic }) => topic).toSorted()
}

async function startWithTwo(t: Scope): Promise<BrokerWithApi> {
  const broker = await startBrokerWithApi(t, { set: ['node.shards=3', 'node.name="here"'] })
  const { json } = await broker.request('/api/v4/topic-tree')
  assert.deepEqual(json, { code: 0, data: [[{ topic: '', cld_cnt: 0 }]] }, 'the topic tree without subscriptions')
  const ann = await connect(t, broker, 'ann')
  await ann.subscribeAsync({ 'a/b': { qos: 0 }, 'a/+': { qos: 1 }, '$share/g/a/b': { qos: 2 } })
  const bob = await connect(t, broker, 'bob')
  await bob.subscribeAsync({ 'a/b': { qos: 1 }, '$share/h/a/b': { qos: 1 }, '#': { qos: 0 }, 'x y': { qos: 0 } })
  return broker
}

const withTwo = shared(startWithTwo)

test('each query parameter of /subscriptions filters, alone and combined with others', async () => {
  const broker = await withTwo()
  const ann = ['ann $share/g/a/b 2', 'ann a/+ 1', 'ann a/b 0']
  const bob = ['bob # 0', 'bob $share/h/a/b 1', 'bob a/b 1', 'bob x y 0']
  const expected: readonly [string, readonly string[]][] = [
    ['', [...ann, ...bob]],
    ['/ann', ann],
    ['/nobody', []],
    ['/ann?clientid=bob', []],
    ['?clientid=bob', bob],
    ['?client_id=bob', bob],
    ['?topic=a/b', ['ann a/b 0', 'bob a/b 1']],
    ['?topic=a/+', ['ann a/+ 1']],
    ['?topic=a%2F%2B', ['ann a/+ 1']],
    ['?topic=x+y', ['bob x y 0']],
    ['?topic=%23', ['bob # 0']],
    ['?topic=%24share/g/a/b', ['ann $share/g/a/b 2']],
    ['?qos=1', ['ann a/+ 1', 'bob $share/h/a/b 1', 'bob a/b 1']],
    ['?share=g', ['ann $share/g/a/b 2']],
    ['?share=g&topic=a/b', ['ann $share/g/a/b 2']],
    ['?share=g&topic=a/c', []],
    ['?share=g&clientid=bob', []],
    ['?topic=a/b&qos=1', ['bob a/b 1']],
    ['?_match_topic=a/c', ['ann a/+ 1', 'bob # 0']],
    ['?_match_topic=a/%23', ['ann $share/g/a/b 2', 'ann a/+ 1', 'ann a/b 0', 'bob $share/h/a/b 1', 'bob a/b 1']],
    ['?_match_topic=%24SYS/x', []],
  ]
  for (const [query, rows] of expected) assert.deepEqual(await rowsOf(broker, `/subscriptions${query}`), rows, query)
  assert.deepEqual(await rowsOf(broker, '/nodes/here/subscriptions?clientid=ann'), ann)
})

test('subscriptions are listed by page or by cursor, also if a page ends within the subscriptions of a client', async () => {
  const broker = await withTwo()
  const all = await rowsOf(broker, '/subscriptions')
  const paged: string[] = []
  for (const page of [1, 2, 3, 4]) {
    const path = `/subscriptions?_page=${page}&_limit=2`
    paged.push(...(await rowsOf(broker, path)))
    assert.deepEqual((await list(broker, path)).meta, { page, limit: 2, count: 7, hasnext: page < 4 })
  }
  assert.deepEqual(paged.toSorted(), all)
  const listed: string[] = []
  for (let cursor: string | undefined = 'first'; cursor !== undefined;) {
    const path: string = `/subscriptions?cursor=${cursor}&limit=1`
    listed.push(...(await rowsOf(broker, path)))
    assert.ok(listed.length <= all.length)
    cursor = (await list(broker, path)).meta.cursor
  }
  assert.deepEqual(listed.toSorted(), all)
})

test('an invalid or unknown query parameter of /subscriptions is refused with 108', async () => {
  const broker = await withTwo()
  for (const query of ['?qos=3', '?qos=-1', '?qos=x', '?username=x', '?_limit=0', '?_cursor=x', '?topic=a&topic=b']) {
    for (const path of ['/subscriptions', '/subscriptions/x']) {
      const { status, json } = await broker.request(`/api/v4${path}${query}`)
      assert.deepEqual([status, json.code], [400, 108], query)
    }
  }
})

test('the topic tree is listed level by level from the root, with the subscribers of each level', async () => {
  const broker = await withTwo()
  const { json } = await broker.request('/api/v4/topic-tree')
  assert.equal(treeShape.findFault(json), undefined)
  const levels: { topic: string; cld_cnt: number; clientid?: string[] }[][] = json.data
  for (const level of levels) for (const node of level) node.clientid?.sort()
  assert.deepEqual(
    levels.map((level) => level.toSorted(byTopic)),
    [
      [{ topic: '', cld_cnt: 4 }],
      [
        { topic: '#', cld_cnt: 0, clientid: ['bob'] },
        { topic: '$share', cld_cnt: 2 },
        { topic: 'a', cld_cnt: 2 },
        { topic: 'x y', cld_cnt: 0, clientid: ['bob'] },
      ],
      [
        { topic: '+', cld_cnt: 0, clientid: ['ann'] },
        { topic: 'b', cld_cnt: 0, clientid: ['ann', 'bob'] },
        { topic: 'g', cld_cnt: 1 },
        { topic: 'h', cld_cnt: 1 },
      ],
      [
        { topic: 'a', cld_cnt: 1 },
        { topic: 'a', cld_cnt: 1 },
      ],
      [
        { topic: 'b', cld_cnt: 0, clientid: ['ann'] },
        { topic: 'b', cld_cnt: 0, clientid: ['bob'] },
      ],
    ],
  )
})

async function walkRoutes(broker: BrokerWithApi): Promise<string[]> {
  const topics: { topic: string }[] = []
  for (let cursor: string | undefined = 'first'; cursor !== undefined;) {
    const { data, meta } = await list(broker, `/routes?_cursor=${cursor}&_limit=1`)
    assert.ok(data.length <= 1)
    topics.push(...data)
    cursor = meta.cursor
  }
  return topicsOf(topics)
}

test('/routes lists each topic filter with a subscriber once, whatever shards have subscribers', async (t) => {
  const broker = await withTwo()
  const json = await list(broker, '/routes')
  assert.equal(compileShape(subscriptionEndpoints.list_routes.reply).findFault(json), undefined)
  assert.deepEqual(topicsOf(json.data), ['#', 'a/+', 'a/b', 'x y'])
  const pages = await Promise.all([1, 2].map((page) => list(broker, `/routes?_page=${page}&_limit=3`)))
  assert.deepEqual(topicsOf(pages.flatMap(({ data }) => data)), ['#', 'a/+', 'a/b', 'x y'])
  assert.deepEqual(pages[1].meta, { page: 2, limit: 3, count: 4, hasnext: false })
  assert.deepEqual(await walkRoutes(broker), ['#', 'a/+', 'a/b', 'x y'])
  // A topic with subscribers on several shards is listed once, also when some of the subscriptions end.
  const others = await Promise.all(['c1', 'c2', 'c3', 'c4', 'c5', 'c6'].map((id) => connect(t, broker, id)))
  for (const [index, client] of others.entries()) {
    const filters =
      index % 2 === 0 ? ['a/b', 'x y', '$share/only/s/t'] : ['$share/g/a/b', '$share/h/x y', '$share/two/s/t']
    await client.subscribeAsync(filters)
  }
  for (const client of others) {
    // An UNSUBACK does not wait until the other shards know that the subscription has ended.
    await eventually(async () => assert.deepEqual(await walkRoutes(broker), ['#', 'a/+', 'a/b', 's/t', 'x y']))
    await client.unsubscribeAsync(['a/b', 'x y', '$share/only/s/t', '$share/g/a/b', '$share/h/x y', '$share/two/s/t'])
  }
  await eventually(async () => assert.deepEqual(await walkRoutes(broker), ['#', 'a/+', 'a/b', 'x y']))
  assert.deepEqual((await list(broker, '/routes/a%2Fb')).data, [{ topic: 'a/b', node: 'here' }])
  assert.deepEqual((await list(broker, '/routes/nowhere')).data, [])
  const unknown = await broker.request('/api/v4/routes?topic=a')
  assert.deepEqual([unknown.status, unknown.json.code], [400, 108])
})
