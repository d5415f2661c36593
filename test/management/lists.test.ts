import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { ListPosition, ListSlice, Unanswered } from '../../src/management/index.ts'
import { clientHandlers } from '../../src/management/handlers/clients.ts'
import { subscriptionHandlers } from '../../src/management/handlers/subscriptions.ts'
import { answerList, type ListSource } from '../../src/management/lists/answer-list.ts'
import { Refusal } from '../../src/management/refusal.ts'
import { WrittenJson } from '../../src/management/written-json.ts'
import { clientOperations } from '../../src/node/operations/clients.ts'
import { readQueryString } from '../../src/management/query-string.ts'

/** Rows 0 to `count`, 250 in a slice; from row `silentFrom` on nobody answers. */
function numbers(count: number, silentFrom = Infinity): ListSource<number> {
  return {
    record: (row) => ({ row }),
    slice: async ({ from, most }): Promise<ListSlice<number> | Unanswered> => {
      if (from.place >= silentFrom) return { silentShard: 3 }
      const length = Math.min(250, most, count - from.place)
      const rows = Array.from({ length }, (_, index) => from.place + index)
      const next: ListPosition = { shard: 0, place: from.place + length, offset: 0 }
      return { rows, passed: length, next: next.place < count ? next : undefined }
    },
  }
}

test('a list that is too long to be held is sent in pieces that come to the same', async () => {
  const answer = await answerList(numbers(30_000), { part: 'whole' })
  assert.ok(answer instanceof WrittenJson)
  const { body } = answer
  assert.ok(body instanceof Readable)
  const { code, data } = JSON.parse(await text(body)) as { code: number; data: { row: number }[] }
  assert.equal(code, 0)
  assert.deepEqual(
    data.map(({ row }) => row),
    Array.from({ length: 30_000 }, (_, index) => index),
  )
})

test('a shard that falls silent amid a long list breaks the answer off: half of it is not taken for the whole', async () => {
  const answer = await answerList(numbers(30_000, 20_000), { part: 'whole' })
  assert.ok(answer instanceof WrittenJson && answer.body instanceof Readable)
  await assert.rejects(text(answer.body), /shard 3 does not answer/)
})

test('where a shard is not there every answer that needs it is 101 and names it', async () => {
  const asked: number[] = []
  const crew = {
    size: 3,
    ask: async (shard: number) => {
      asked.push(shard)
      return undefined
    },
  }
  const operations = clientOperations(crew, 'here')
  const clients = clientHandlers(operations)
  const subscriptions = subscriptionHandlers(operations)
  const caller = { name: 'admin', by: 'administrator', mayChange: true, address: '' } as const
  const nothing = { params: {}, query: {}, body: undefined, caller } as const
  const ofClient = { ...nothing, params: { clientid: 'c' } }
  const ofTopic = { ...nothing, params: { topic: 't' } }
  const outcomes = [
    clients.list_clients(nothing),
    clients.list_clients({ ...nothing, query: { page: 1, limit: 1 } }),
    clients.list_clients({ ...nothing, query: { cursor: 'first' } }),
    clients.list_clients({ ...nothing, query: { username: 'u', page: 1 } }),
    clients.lookup_client(ofClient),
    clients.kickout_client(ofClient),
    clients.set_keepalive({ ...ofClient, body: { interval: 1 } }),
    clients.list_acl_cache(ofClient),
    clients.clean_acl_cache(ofClient),
    subscriptions.list_subscriptions(nothing),
    subscriptions['list_topic-tree'](nothing),
    subscriptions.list_routes(nothing),
    subscriptions.lookup_routes(ofTopic),
  ]
  for (const outcome of outcomes) {
    const refusal = await outcome
    assert.ok(refusal instanceof Refusal)
    assert.deepEqual([refusal.status, refusal.code], [500, 101])
    assert.match(refusal.message, /^shard \d does not answer/)
  }
  assert.ok(asked.length >= outcomes.length)
})

test('a query is decoded once, and a plus sign is a wildcard where it can be one', () => {
  const cases: readonly [string, Record<string, unknown>][] = [
    ['', {}],
    ['a=b&c', { a: 'b', c: '' }],
    ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
    ['topic=+/+/b+c/%2b', { topic: '+/+/b c/+' }],
    ['topic=a%2F+%2fb', { topic: 'a/+/b' }],
    ['username=+', { username: ' ' }],
    ['a=%2520&b=%zz&c=%ff', { a: '%20', b: '%zz', c: '%ff' }],
    ['a=b=c', { a: 'b=c' }],
  ]
  for (const [raw, query] of cases) assert.deepEqual({ ...readQueryString(raw) }, query, raw)
})
