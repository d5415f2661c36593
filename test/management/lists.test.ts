import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { type ClientView, createIdentity } from '../../src/core/index.ts'
import { defaultCoreSettings } from '../core/default-settings.ts'
import { Session } from '../../src/core/state/sessions/session.ts'
import { toClientView } from '../../src/core/views/client-view.ts'
import { createClientHandlers } from '../../src/api/clients/clients.ts'
import {
  createManagementServer,
  type Authenticator,
  type ListPosition,
  type ListSlice,
  type ShardUnavailable,
} from '../../src/management/index.ts'
import { clientEndpoints } from '../../src/api/clients/endpoints.ts'
import { createSubscriptionHandlers } from '../../src/api/subscriptions/subscriptions.ts'
import { replyWithList, type ListSource } from '../../src/management/lists/reply-with-list.ts'
import { ApiError, refuse } from '../../src/management/http/api-error.ts'
import { JsonText } from '../../src/management/http/json-text.ts'
import { ClientQueries } from '../../src/api/clients/client-queries.ts'
import { wholeBroker } from '../../src/api/context/names.ts'
import type { QueryableShards } from '../../src/node/shards/query-shard.ts'
import { readQueryString } from '../../src/management/http/query-string.ts'

/** Rows 0 to `count` - 1, 250 in a slice; from row `unavailableFrom` on, the shard is unavailable. */
function numbers(count: number, unavailableFrom = Infinity): ListSource<number> {
  return {
    toRecord: (row) => ({ row }),
    readSlice: async ({ from, maxRows }): Promise<ListSlice<number> | ShardUnavailable> => {
      if (from.place >= unavailableFrom) return { unavailableShard: 3 }
      const length = Math.min(250, maxRows, count - from.place)
      const rows = Array.from({ length }, (_, index) => from.place + index)
      const next: ListPosition = { shard: 0, place: from.place + length, offset: 0 }
      return { rows, passed: length, next: next.place < count ? next : undefined }
    },
  }
}

const openAuthenticator: Authenticator = {
  isDisabled: true,
  authenticate: async (_authorization, address) => ({
    name: 'a',
    by: 'account',
    role: 'administrator',
    namespace: undefined,
    login: undefined,
    address,
  }),
  logIn: async (_name, _password, address) => ({
    name: 'a',
    by: 'account',
    role: 'administrator',
    namespace: undefined,
    login: undefined,
    address,
  }),
  recordFailure: async () => {},
  logins: { begin: () => undefined, findCaller: () => 'wrong', end: () => {} },
  singleSignOn: {
    isOn: () => false,
    begin: async () => refuse('rpcError', 'off'),
    finish: async () => refuse('rpcError', 'off'),
  },
}

function anyClient(clientId: string): ClientView {
  const session = new Session(clientId, 0, createIdentity(clientId, undefined, ''))
  return toClientView(session, defaultCoreSettings)
}

test('a list that is too long for memory is streamed, with the same content', async () => {
  const response = await replyWithList(numbers(30_000), { part: 'whole' })
  assert.ok(response instanceof JsonText)
  const { body } = response
  assert.ok(body instanceof Readable)
  const { code, data } = JSON.parse(await text(body)) as { code: number; data: { row: number }[] }
  assert.equal(code, 0)
  assert.deepEqual(
    data.map(({ row }) => row),
    Array.from({ length: 30_000 }, (_, index) => index),
  )
})

test('if a shard fails during a long list, the response is aborted: the client cannot mistake a part for the whole list', async () => {
  const response = await replyWithList(numbers(30_000, 20_000), { part: 'whole' })
  assert.ok(response instanceof JsonText && response.body instanceof Readable)
  await assert.rejects(text(response.body), /shard 3 is restarting/)
})

/** Queries of the clients on `size` shards. */
function clientsOn(size: number, query: (shard: number, wanted: { readonly kind: string }) => unknown): ClientQueries {
  const supervisor = { size, query: async (shard, wanted) => query(shard, wanted) } as QueryableShards
  return new ClientQueries({ nodeName: 'here', supervisor, names: wholeBroker })
}

/** Slices of 250 clients each; after 20,000 clients the shard is unavailable. */
function sliceUntilFailure(_shard: number, wanted: { readonly kind: string }): unknown {
  if (wanted.kind !== 'list-clients') return undefined
  const { from } = wanted as unknown as { readonly from: { readonly place: number } }
  if (from.place > 20_000) return undefined
  const rows = Array.from({ length: 250 }, (_, index) => anyClient(`c-${from.place + index}`))
  return { rows, passed: 250, next: { place: from.place + 250, offset: 0 } }
}

test('an aborted response closes its connection, and other connections are served', async (t) => {
  const events: string[] = []
  const note = (event: string): void => void events.push(event)
  const server = createManagementServer({
    endpoints: clientEndpoints,
    handlersFor: () => createClientHandlers(clientsOn(1, sliceUntilFailure)),
    audit: { record: async () => {} },
    authenticator: openAuthenticator,
    log: { debug: note, info: note, warn: note, error: note },
    maxBodyBytes: 1_000,
    maxUploadBytes: 1_000,
    maxRequests: 4,
  })
  t.after(() => server.close(0))
  const listening = await server.listen({ host: '127.0.0.1', port: 0 })
  assert.ok('port' in listening)
  const url = `http://127.0.0.1:${listening.port}/api/v4/clients`
  await assert.rejects(fetch(url).then((response) => response.text()))
  const page = await fetch(`${url}?_cursor=first&_limit=10`)
  assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'application/json; charset=utf-8'])
  await page.text()
})

test('while a shard is unavailable, each response that needs it has code 101 and names the shard', async () => {
  const queried: number[] = []
  const queries = clientsOn(3, (shard) => void queried.push(shard))
  const clients = createClientHandlers(queries)
  const subscriptions = createSubscriptionHandlers(queries)
  const caller = {
    name: 'admin',
    by: 'account',
    role: 'administrator',
    namespace: undefined,
    login: undefined,
    address: '',
  } as const
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
    assert.ok(refusal instanceof ApiError)
    assert.deepEqual([refusal.status, refusal.code], [500, 101])
    assert.match(refusal.message, /^shard \d is restarting/)
  }
  assert.ok(queried.length >= outcomes.length)
})

test('a query string is decoded once, empty values are ignored, and a plus sign is a wildcard if it is a whole topic level', () => {
  const cases: readonly [string, Record<string, unknown>][] = [
    ['', {}],
    ['a=b&c&d=&=e&=&&', { a: 'b' }],
    ['a=&a=1', { a: '1' }],
    ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
    ['topic=+/+/b+c/%2b', { topic: '+/+/b c/+' }],
    ['topic=a%2F+%2fb', { topic: 'a/+/b' }],
    ['username=+', { username: ' ' }],
    ['a=%2520&b=%zz&c=%ff', { a: '%20', b: '%zz', c: '%ff' }],
    ['a=b=c', { a: 'b=c' }],
  ]
  for (const [raw, query] of cases) assert.deepEqual({ ...readQueryString(raw) }, query, raw)
})
