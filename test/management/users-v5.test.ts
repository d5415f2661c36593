// Accounts and API keys in version 5 of the API: operations, roles and permissions. An account never has more permissions than its request
// says, whatever keys the request uses.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ApiResponse,
  type BrokerWithApi,
  type RequestOptions,
  restartBroker,
  shareConfigurableBroker,
} from './api.ts'

type Outcome = readonly [status: number, code: number, reason: string | undefined]

const outcomeOf = ({ status, json }: ApiResponse): Outcome => [status, json.code, json.reason]
const post = (body: unknown, as?: string): RequestOptions => ({
  method: 'POST',
  body,
  ...(as === undefined ? {} : { as }),
})
const put = (body: unknown, as?: string): RequestOptions => ({
  method: 'PUT',
  body,
  ...(as === undefined ? {} : { as }),
})

/** Each test uses other user names. */
const sharedBroker = shareConfigurableBroker(['node.shards=1'])

const plain = { backend: 'local', mfa: 'none', scopes: null, namespace: null }

test('a user is created, changed, listed and deleted', async () => {
  const broker = await sharedBroker()
  const ann = { username: 'ann', password: 'a long password', description: 'of the night shift' }
  const made = await broker.request('/api/v5/users', post(ann))
  const record = { username: 'ann', role: 'administrator', description: 'of the night shift', ...plain }
  assert.deepEqual(made.json, { code: 0, ...record })
  assert.deepEqual(outcomeOf(await broker.request('/api/v5/users', post(ann))), [400, 113, 'BAD_REQUEST'])
  const changed = await broker.request('/api/v5/users/ann', put({ role: 'viewer' }))
  assert.deepEqual(changed.json, { code: 0, ...record, role: 'viewer' })
  const listed = (await broker.request('/api/v5/users')).json.data
  assert.deepEqual(listed, [
    { username: 'admin', role: 'administrator', description: '', ...plain },
    { ...record, role: 'viewer' },
  ])
  const again = await restartBroker(broker)
  assert.deepEqual((await again.request('/api/v5/users')).json.data, listed)
  assert.deepEqual(outcomeOf(await again.request('/api/v5/users/ann', { method: 'DELETE' })), [200, 0, undefined])
  for (const options of [put({ role: 'viewer' }), { method: 'DELETE' } as const])
    assert.deepEqual(outcomeOf(await again.request('/api/v5/users/ann', options)), [404, 105, 'USER_NOT_FOUND'])
})

test('a missing or weak password and an unknown role are refused, and no account is created', async () => {
  const broker = await sharedBroker()
  const password = 'a long password'
  for (const [body, code] of [
    [{ username: 'weak' }, 107],
    [{ username: '', password }, 108],
    [{ username: 'weak', password: 'short' }, 108],
    [{ username: 'weak', password: 'password1' }, 108],
    [{ username: 'weak', password, role: 'king' }, 108],
    [{ username: 'weak', password, role: 'publisher' }, 108],
    [{ username: 'weak', password, role: 'ns:::viewer' }, 108],
    [{ username: 'weak', password, role: 'ns:a::viewer', namespace: 'b' }, 108],
    [[], 109],
  ] as const)
    assert.deepEqual(
      outcomeOf(await broker.request('/api/v5/users', post(body))),
      [400, code, 'BAD_REQUEST'],
      JSON.stringify(body),
    )
  const names = (await broker.request('/api/v5/users')).json.data.map(({ username }: { username: string }) => username)
  assert.ok(!names.includes('') && !names.includes('weak'))
})

test('the namespace of a user is set with the role or with `namespace`, and can be removed', async () => {
  const broker = await sharedBroker()
  const password = 'a long password'
  const one = await broker.request('/api/v5/users', post({ username: 'one', password, role: 'ns:plant::viewer' }))
  assert.deepEqual([one.json.role, one.json.namespace], ['ns:plant::viewer', 'plant'])
  const other = await broker.request('/api/v5/users', post({ username: 'two', password, namespace: 'plant' }))
  assert.deepEqual([other.json.role, other.json.namespace], ['ns:plant::administrator', 'plant'])
  const as = 'one:a long password'
  const beyond = await broker.request('/api/v5/users', { as: 'two:a long password' })
  assert.deepEqual(outcomeOf(beyond), [403, 103, 'UNAUTHORIZED_ROLE'])
  assert.equal((await broker.request('/api/v4/ctrl/stop', { as, method: 'POST' })).status, 403)
  const change = { old_pwd: password, new_pwd: 'another password' }
  assert.equal((await broker.request('/api/v5/users/one/change_pwd', post(change, as))).status, 200)
  const freed = await broker.request('/api/v5/users/two', put({ namespace: null }))
  assert.deepEqual([freed.json.role, freed.json.namespace], ['administrator', null])
})

test('the account of http_server, its role, and the account of the request cannot be deleted', async () => {
  const broker = await sharedBroker()
  const eve = { username: 'eve', password: 'a long password' }
  await broker.request('/api/v5/users', post(eve))
  const as = 'eve:a long password'
  assert.deepEqual(outcomeOf(await broker.request('/api/v5/users/eve', { as, method: 'DELETE' })), [
    400,
    106,
    'NOT_ALLOWED',
  ])
  assert.deepEqual(outcomeOf(await broker.request('/api/v5/users/admin', { as, method: 'DELETE' })), [
    400,
    106,
    'NOT_ALLOWED',
  ])
  assert.deepEqual(outcomeOf(await broker.request('/api/v5/users/admin', put({ role: 'viewer' }, as))), [
    400,
    106,
    'NOT_ALLOWED',
  ])
  const refused = await broker.request('/api/v5/users/admin', put({ namespace: 'plant' }, as))
  assert.deepEqual(outcomeOf(refused), [400, 106, 'NOT_ALLOWED'])
})

test('a password change needs the old password', async () => {
  const broker = await sharedBroker()
  await broker.request('/api/v5/users', post({ username: 'pat', password: 'a long password' }))
  const change = async (name: string, old: string, password: string): Promise<Outcome> =>
    outcomeOf(await broker.request(`/api/v5/users/${name}/change_pwd`, post({ old_pwd: old, new_pwd: password })))
  assert.deepEqual(await change('pat', 'not that one', 'another password'), [400, 114, 'ERROR_PWD_NOT_MATCH'])
  assert.deepEqual(await change('pat', 'a long password', 'short'), [400, 108, 'BAD_REQUEST'])
  assert.deepEqual(await change('nobody', 'a long password', 'another password'), [404, 105, 'USER_NOT_FOUND'])
  assert.deepEqual(await change('pat', 'a long password', 'another password'), [200, 0, undefined])
  assert.equal((await broker.request('/api/v4/brokers', { as: 'pat:another password' })).status, 200)
})

test('password changes with a wrong old password are delayed increasingly, and do not delay other requests', async () => {
  const broker = await sharedBroker(['http_server.limit_conn=1'])
  await broker.request('/api/v5/users', post({ username: 'gus', password: 'a long password' }))
  const guess = (path: string, method: 'POST' | 'PUT'): Promise<unknown> =>
    broker.request(path, { method, body: { old_pwd: 'not that one', new_pwd: 'another password' } })
  const startedAtMs = performance.now()
  for (let number = 0; number < 3; number++) await guess('/api/v5/users/gus/change_pwd', 'POST')
  for (let number = 0; number < 2; number++) await guess('/api/v4/change_pwd/gus', 'PUT')
  assert.ok(performance.now() - startedAtMs >= 300, 'the fourth request is delayed by 100 ms, the fifth by 200 ms')
  // The delays of these requests add up to half a minute, which the test does not await. A successful login in between resets the delays:
  // eight guesses after it get their responses within 3.1 s, sixteen within 30 s. Therefore there are sixteen.
  let hasResponses = false
  const waiting = Promise.all(Array.from({ length: 16 }, () => guess('/api/v5/users/gus/change_pwd', 'POST')))
  waiting.then(
    () => (hasResponses = true),
    () => {},
  )
  assert.equal((await broker.request('/api/v4/brokers', { as: 'gus:a long password' })).status, 200)
  const change = { old_pwd: 'a long password', new_pwd: 'another password' }
  assert.equal((await broker.request('/api/v5/users/gus/change_pwd', post(change))).status, 200)
  assert.equal(hasResponses, false)
})

async function makeKey(broker: BrokerWithApi, name: string, more: object = {}): Promise<string> {
  const body = { name, desc: '', enable: true, ...more }
  const { status, json, text } = await broker.request('/api/v5/api_key', { method: 'POST', body })
  assert.equal(status, 200, text)
  return `${json.api_key}:${json.api_secret}`
}

test('API keys in version 5: creation, roles, expiry, and no management of accounts', async (t) => {
  const broker = await sharedBroker()

  await t.test('a key is created with a secret that only the first response shows, changed and deleted', async () => {
    const as = await makeKey(broker, 'reports', { desc: 'of the night' })
    const { json } = await broker.request('/api/v5/api_key/reports')
    const { code, api_key: id, created_at: createdAt, ...rest } = json
    assert.deepEqual([code, `${id}:`], [0, as.slice(0, as.indexOf(':') + 1)])
    assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 600_000)
    const plain = { role: 'administrator', scopes: null, namespace: null, expired: false, expired_at: 'infinity' }
    assert.deepEqual(rest, { name: 'reports', desc: 'of the night', enable: true, ...plain })
    assert.equal((await broker.request('/api/v5/data/files', { as })).status, 200)
    const change = (body: object): Promise<ApiResponse> =>
      broker.request('/api/v5/api_key/reports', { method: 'PUT', body })
    assert.equal((await change({ enable: false })).json.enable, false)
    assert.deepEqual(outcomeOf(await broker.request('/api/v5/data/files', { as })), [401, 103, 'BAD_API_KEY_OR_SECRET'])
    const ended = await change({ enable: true, expired_at: '2020-01-01T00:00:00Z' })
    assert.deepEqual([ended.json.expired, Date.parse(ended.json.expired_at)], [true, Date.parse('2020-01-01')])
    assert.equal((await broker.request('/api/v5/data/files', { as })).status, 401)
    assert.equal((await change({ expired_at: 'infinity' })).json.expired, false)
    assert.equal((await broker.request('/api/v5/data/files', { as })).status, 200)
    const { data } = (await broker.request('/api/v5/api_key')).json
    assert.deepEqual(
      data.map(({ name }: { name: string }) => name),
      ['reports'],
    )
    assert.ok(!JSON.stringify(data).includes(as.slice(as.indexOf(':') + 1)))
    assert.deepEqual(outcomeOf(await broker.request('/api/v5/api_key/reports', { method: 'DELETE' })), [
      200,
      0,
      undefined,
    ])
    for (const options of [{ method: 'GET' }, { method: 'DELETE' }, { method: 'PUT', body: {} }] as const)
      assert.deepEqual(outcomeOf(await broker.request('/api/v5/api_key/reports', options)), [404, 108, 'NOT_FOUND'])
    assert.equal((await broker.request('/api/v5/data/files', { as })).status, 401)
  })

  await t.test('a key with a missing or invalid field or with the name of an existing key is refused', async () => {
    await makeKey(broker, 'twice')
    const good = { name: 'one', desc: '', enable: true }
    for (const [body, code] of [
      [{ ...good, name: 'twice' }, 108],
      [{ ...good, name: '1st' }, 108],
      [{ ...good, name: 'a b' }, 108],
      [{ ...good, name: 'a'.repeat(257) }, 108],
      [{ name: 'one', desc: '' }, 107],
      [{ ...good, role: 'king' }, 108],
      [{ ...good, expired_at: 'tomorrow' }, 108],
    ] as const) {
      const response = await broker.request('/api/v5/api_key', { method: 'POST', body })
      assert.deepEqual(outcomeOf(response), [400, code, 'BAD_REQUEST'], JSON.stringify(body))
    }
  })

  await t.test('an API key cannot manage accounts, in version 4 and in version 5', async () => {
    const as = await makeKey(broker, 'clever')
    const before = (await broker.request('/api/v5/users')).json.data
    const user = { username: 'eva', password: 'a long password' }
    const key = { name: 'more', desc: '', enable: true }
    for (const [path, options] of [
      ['users', {}],
      ['users', { method: 'POST', body: user }],
      ['users/admin', { method: 'PUT', body: { role: 'viewer' } }],
      ['users/admin', { method: 'DELETE' }],
      ['users/admin/change_pwd', { method: 'POST', body: { old_pwd: 'a', new_pwd: 'another password' } }],
      ['api_key', {}],
      ['api_key', { method: 'POST', body: key }],
      ['api_key/clever', { method: 'PUT', body: { role: 'administrator' } }],
    ] as const)
      assert.deepEqual(
        outcomeOf(await broker.request(`/api/v5/${path}`, { ...options, as })),
        [401, 103, 'API_KEY_NOT_ALLOW'],
        path,
      )
    const older = await broker.request('/api/v4/users', { as, method: 'POST', body: user })
    assert.deepEqual(outcomeOf(older), [403, 103, undefined])
    assert.deepEqual((await broker.request('/api/v5/users')).json.data, before)
  })

  await t.test('the role publisher can publish but not read or change anything; the role viewer can read', async () => {
    const publisher = await makeKey(broker, 'publisher', { role: 'publisher' })
    const message = { topic: 'a', payload: 'x', clientid: 'c' }
    const publish = (as: string): Promise<ApiResponse> =>
      broker.request('/api/v4/mqtt/publish', { as, method: 'POST', body: message })
    assert.equal((await publish(publisher)).status, 200)
    for (const [path, method] of [
      ['/api/v4/brokers', 'GET'],
      ['/api/v4/clients', 'GET'],
      ['/api/v4/ctrl/stop', 'POST'],
      ['/api/v5/data/files', 'GET'],
      ['/api/v5/audit', 'GET'],
    ] as const)
      assert.equal((await broker.request(path, { as: publisher, method })).status, 403, path)
    const viewer = await makeKey(broker, 'viewer', { role: 'viewer' })
    assert.equal((await publish(viewer)).status, 403)
    assert.equal((await broker.request('/api/v4/clients', { as: viewer })).status, 200)
    assert.deepEqual(outcomeOf(await broker.request('/api/v5/audit', { as: viewer })), [403, 103, 'UNAUTHORIZED_ROLE'])
  })
})

const usual = 'a long password: usual'

const paths = [
  ['POST', '/api/v4/users', { username: 'eva', password: usual }],
  ['PUT', '/api/v4/users/eva', { tags: 'viewer' }],
  ['POST', '/api/v4/apps', { app_id: 'eva' }],
  ['PUT', '/api/v4/apps/eva', {}],
  ['POST', '/api/v5/users', { username: 'eva', password: usual }],
  ['PUT', '/api/v5/users/eva', {}],
  ['POST', '/api/v5/api_key', { name: 'eva', desc: '', enable: true }],
  ['PUT', '/api/v5/api_key/eva', {}],
] as const

test('an unknown key that could mean permissions is refused with its name and the remedy', async () => {
  const broker = await sharedBroker()
  const before = (await broker.request('/api/v4/users')).json.data
  const words =
    'roles Role ROLE scope permission permissions is_admin isAdmin admin superuser is_superuser tag Tags group'
  for (const [method, path, good] of paths) {
    for (const key of [...words.split(' '), 'access', 'read_only', 'rights', 'name-space', '__proto__role']) {
      const { status, json } = await broker.request(path, { method, body: { ...good, [key]: 'viewer' } })
      assert.deepEqual([status, json.code], [400, 108], `${method} ${path} ${key}`)
      assert.match(json.message, /could mean rights; use role, tags|could mean rights; use /, key)
      assert.ok(json.message.includes(JSON.stringify(key)))
    }
    const inQuery = await broker.request(`${path}?role=viewer`, { method, body: good })
    assert.deepEqual([inQuery.status, inQuery.json.code], [400, 108], `${path} in the query`)
  }
  const inV4 = { username: 'eva', password: usual, namespace: 'plant' }
  assert.equal((await broker.request('/api/v4/users', { method: 'POST', body: inV4 })).status, 400)
  assert.deepEqual((await broker.request('/api/v4/users')).json.data, before, 'no account was created')
})

test('`role` and `tags` have the same meaning in both versions of the API', async () => {
  const broker = await sharedBroker()
  for (const [number, spelled] of [
    { role: 'viewer' },
    { tags: 'viewer' },
    { role: 'viewer', tags: 'viewer' },
  ].entries()) {
    for (const version of ['v4', 'v5']) {
      const username = `ann-${version}-${number}`
      const made = await broker.request(`/api/${version}/users`, {
        method: 'POST',
        body: { username, password: usual, ...spelled },
      })
      assert.equal(made.status, 200, made.text)
      const { json } = await broker.request('/api/v4/users')
      assert.equal(json.data.find((user: { username: string }) => user.username === username).tags, 'viewer')
    }
    const app = await broker.request('/api/v4/apps', { method: 'POST', body: { app_id: `app-${number}`, ...spelled } })
    assert.equal(app.status, 200)
    assert.equal((await broker.request(`/api/v4/apps/app-${number}`)).json.data.tags, 'viewer')
    const key = { name: `key-${number}`, desc: '', enable: true, ...spelled }
    assert.equal((await broker.request('/api/v5/api_key', { method: 'POST', body: key })).json.role, 'viewer')
  }
  const change = await broker.request('/api/v4/users/ann-v4-0', { method: 'PUT', body: { role: 'administrator' } })
  assert.equal(change.status, 200)
  for (const version of ['v4', 'v5']) {
    const body = { username: 'bob', password: usual, role: 'viewer', tags: 'administrator' }
    const { status, json } = await broker.request(`/api/${version}/users`, { method: 'POST', body })
    assert.deepEqual([status, json.code], [400, 108])
    assert.match(json.message, /role and tags in the body differ/)
  }
  assert.equal((await broker.request('/api/v4/users/ann-v4-0', { method: 'PUT', body: {} })).json.code, 107)
})

test('a record that the API returned is accepted unchanged: null means no restriction', async () => {
  const broker = await sharedBroker()
  const body = { username: 'carl', password: usual, role: 'viewer', scopes: null, namespace: null }
  assert.equal((await broker.request('/api/v5/users', { method: 'POST', body })).status, 200)
  const { json } = await broker.request('/api/v5/users')
  const record = json.data.find((user: { username: string }) => user.username === 'carl')
  assert.equal((await broker.request('/api/v5/users/carl', { method: 'PUT', body: record })).status, 200)
  const limited = { ...body, username: 'dora', scopes: ['clients:read'] }
  assert.equal((await broker.request('/api/v5/users', { method: 'POST', body: limited })).status, 400)
})
