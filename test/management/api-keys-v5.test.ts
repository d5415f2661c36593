// API keys in version 5 of the API: operations, roles and permissions.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ApiResponse, type BrokerWithApi, startBrokerWithApi } from './api.ts'

type Outcome = readonly [status: number, code: number, reason: string | undefined]

const outcomeOf = ({ status, json }: ApiResponse): Outcome => [status, json.code, json.reason]

async function makeKey(broker: BrokerWithApi, name: string, more: object = {}): Promise<string> {
  const body = { name, desc: '', enable: true, ...more }
  const { status, json, text } = await broker.request('/api/v5/api_key', { method: 'POST', body })
  assert.equal(status, 200, text)
  return `${json.api_key}:${json.api_secret}`
}

test('API keys in version 5: creation, roles, expiry, and no management of accounts', async (t) => {
  const broker = await startBrokerWithApi(t, { set: ['node.shards=1'] })

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
    const user = { username: 'eve', password: 'a long password' }
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
    assert.equal((await broker.request('/api/v5/users')).json.data.length, 1)
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
