// Accounts of administrators and viewers, and API keys.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startBroker } from '../e2e/godwit-process.ts'
import { type BrokerWithApi, restartBroker, shareBrokerWithApi } from './api.ts'

/** The status of GET /brokers. */
async function statusAs(broker: BrokerWithApi, as: string): Promise<number> {
  return (await broker.request('/api/v4/brokers', { as })).status
}

const codeOf = ({ status, json }: { status: number; json: { code: number } }): [number, number] => [status, json.code]

const sharedBroker = shareBrokerWithApi()

test('an account can log in until it is deleted', async () => {
  const broker = await sharedBroker()
  const body = { username: 'ann', password: 'a long password', tags: 'administrator' }
  assert.deepEqual(codeOf(await broker.request('/api/v4/users', { method: 'POST', body })), [200, 0])
  assert.equal(await statusAs(broker, 'ann:a long password'), 200)
  assert.equal(await statusAs(broker, 'ann:another password'), 401)
  assert.deepEqual(codeOf(await broker.request('/api/v4/users', { method: 'POST', body })), [400, 113])
  assert.deepEqual(codeOf(await broker.request('/api/v4/users/ann', { method: 'DELETE' })), [200, 0])
  assert.equal(await statusAs(broker, 'ann:a long password'), 401)
  assert.deepEqual(codeOf(await broker.request('/api/v4/users/ann', { method: 'DELETE' })), [404, 105])
})

test('an account without a name, with an empty field or with a weak password is not created', async () => {
  const broker = await sharedBroker()
  const create = async (body: unknown): Promise<[number, number]> =>
    codeOf(await broker.request('/api/v4/users', { method: 'POST', body }))
  const before = (await broker.request('/api/v4/users')).json.data
  assert.deepEqual(await create({ username: 'ann' }), [400, 107])
  assert.deepEqual(await create({ password: 'a long password' }), [400, 107])
  assert.deepEqual(await create({ username: '', password: 'a long password' }), [400, 104])
  assert.deepEqual(await create({ username: 'ann', password: '' }), [400, 104])
  assert.deepEqual(await create({ username: 'ann', password: 'short' }), [400, 108])
  assert.deepEqual(await create({ username: 'ann', password: 'x'.repeat(65) }), [400, 108])
  assert.deepEqual(await create({ username: 'ann', password: 'pässwörter' }), [400, 108])
  assert.deepEqual(await create({ username: 'ann', password: 'password1' }), [400, 108])
  assert.deepEqual(await create({ username: 'ann', password: 'a long password', tags: 'king' }), [400, 108])
  assert.deepEqual(await create([]), [400, 109])
  assert.deepEqual(await create('no json'), [400, 109])
  assert.deepEqual((await broker.request('/api/v4/users')).json.data, before)
})

test('a viewer can read everything and change nothing except its own password', async () => {
  const broker = await sharedBroker()
  const body = { username: 'vic', password: 'a long password', tags: 'viewer' }
  await broker.request('/api/v4/users', { method: 'POST', body })
  const as = 'vic:a long password'
  assert.equal(await statusAs(broker, as), 200)
  assert.deepEqual(codeOf(await broker.request('/api/v4/users', { as, method: 'POST', body })), [403, 103])
  assert.deepEqual(
    codeOf(await broker.request('/api/v4/users/vic', { as, method: 'PUT', body: { tags: 'administrator' } })),
    [403, 103],
  )
  const change = { old_pwd: 'a long password', new_pwd: 'another password' }
  const others = await broker.request('/api/v4/change_pwd/admin', { as, method: 'PUT', body: change })
  assert.deepEqual(codeOf(others), [403, 103])
  const own = await broker.request('/api/v4/change_pwd/vic', { as, method: 'PUT', body: change })
  assert.deepEqual(codeOf(own), [200, 0])
  assert.equal(await statusAs(broker, as), 401)
  assert.equal(await statusAs(broker, 'vic:another password'), 200)
  assert.deepEqual(
    codeOf(await broker.request('/api/v4/users/vic', { method: 'PUT', body: { tags: 'administrator' } })),
    [200, 0],
  )
  const unknown = await broker.request('/api/v4/users/nobody', { method: 'PUT', body: { tags: 'viewer' } })
  assert.deepEqual(codeOf(unknown), [404, 105])
})

test('a password change needs the old password, and is refused for the account of the configuration', async () => {
  const broker = await sharedBroker()
  await broker.request('/api/v4/users', { method: 'POST', body: { username: 'ann', password: 'a long password' } })
  const change = async (name: string, old: string, password: string): Promise<[number, number]> => {
    const body = { old_pwd: old, new_pwd: password }
    return codeOf(await broker.request(`/api/v4/change_pwd/${name}`, { method: 'PUT', body }))
  }
  assert.deepEqual(await change('ann', 'not that one', 'another password'), [400, 114])
  assert.deepEqual(await change('ann', 'a long password', 'short'), [400, 108])
  assert.deepEqual(await change('nobody', 'a long password', 'another password'), [404, 105])
  assert.deepEqual(await change('admin', 'a-password-for-tests', 'another password'), [400, 108])
  assert.deepEqual(await change('ann', 'a long password', 'another password'), [200, 0])
  assert.equal(await statusAs(broker, 'ann:another password'), 200)
})

test('the account of http_server cannot be deleted and remains an administrator', async () => {
  const broker = await sharedBroker()
  assert.deepEqual(codeOf(await broker.request('/api/v4/users/admin', { method: 'DELETE' })), [400, 106])
  const demoted = await broker.request('/api/v4/users/admin', { method: 'PUT', body: { tags: 'viewer' } })
  assert.deepEqual(codeOf(demoted), [400, 106])
  const duplicate = { username: 'admin', password: 'a long password' }
  assert.deepEqual(codeOf(await broker.request('/api/v4/users', { method: 'POST', body: duplicate })), [400, 113])
})

test('POST /auth reports whether a password is correct, and needs no authentication itself', async () => {
  const broker = await sharedBroker()
  const check = async (body: unknown): Promise<[number, number]> =>
    codeOf(await broker.request('/api/v4/auth', { as: null, method: 'POST', body }))
  assert.deepEqual(await check({ username: 'admin', password: 'a-password-for-tests' }), [200, 0])
  assert.deepEqual(await check({ username: 'admin', password: 'wrong' }), [401, 103])
  assert.deepEqual(await check({ username: 'nobody', password: 'wrong' }), [401, 103])
  assert.deepEqual(await check({ username: 'admin', password: '' }), [401, 104])
  assert.deepEqual(await check({ username: 'admin' }), [400, 107])
  assert.deepEqual(await check({ username: 'admin', password: 'x'.repeat(5_000) }), [400, 108])
})

test('an API key authenticates with its ID and secret while it is enabled and not expired', async () => {
  const broker = await sharedBroker()
  const made = await broker.request('/api/v4/apps', { method: 'POST', body: { app_id: 'a/b c', name: 'reports' } })
  assert.equal(made.status, 200, made.text)
  const { secret } = made.json.data
  assert.match(secret, /^[0-9A-Za-z]{32,}$/)
  const as = `a/b c:${secret}`
  assert.equal(await statusAs(broker, as), 200)
  const path = `/api/v4/apps/${encodeURIComponent('a/b c')}`
  const found = await broker.request(path)
  const expected = { app_id: 'a/b c', name: 'reports', desc: '', status: true, expired: null, tags: 'administrator' }
  assert.deepEqual(found.json, { code: 0, data: expected })
  assert.deepEqual((await broker.request('/api/v4/apps')).json.data, [expected])
  const change = async (body: unknown): Promise<number> => (await broker.request(path, { method: 'PUT', body })).status
  assert.equal(await change({ status: false }), 200)
  assert.equal(await statusAs(broker, as), 401)
  assert.equal(await change({ status: true, expired: 1 }), 200)
  assert.equal(await statusAs(broker, as), 401)
  assert.equal(await change({ expired: null, tags: 'viewer' }), 200)
  assert.equal(await statusAs(broker, as), 200)
  assert.equal((await broker.request('/api/v4/ctrl/stop', { as, method: 'POST' })).status, 403)
  assert.deepEqual(codeOf(await broker.request(path, { method: 'DELETE' })), [200, 0])
  assert.equal(await statusAs(broker, as), 401)
  for (const method of ['GET', 'DELETE'] as const)
    assert.deepEqual(codeOf(await broker.request(path, { method })), [404, 105])
  assert.deepEqual(codeOf(await broker.request(path, { method: 'PUT', body: {} })), [404, 105])
})

test('an API key is created with a given secret and a unique ID, and cannot manage accounts', async () => {
  const broker = await sharedBroker()
  const create = async (body: unknown, as?: string): Promise<[number, number]> =>
    codeOf(await broker.request('/api/v4/apps', { method: 'POST', body, ...(as === undefined ? {} : { as }) }))
  assert.deepEqual(await create({ app_id: 'one', secret: 'a secret of my own' }), [200, 0])
  assert.equal(await statusAs(broker, 'one:a secret of my own'), 200)
  assert.equal(await statusAs(broker, 'one:a secret of others'), 401)
  assert.deepEqual(await create({ app_id: 'one' }), [400, 113])
  assert.deepEqual(await create({ app_id: 'admin' }), [400, 113])
  assert.deepEqual(await create({ app_id: 'two', secret: 'short' }), [400, 108])
  assert.deepEqual(await create({ name: 'two' }), [400, 107])
  assert.deepEqual(await create({ app_id: 'two' }, 'one:a secret of my own'), [403, 103])
  const users = await broker.request('/api/v4/users', { as: 'one:a secret of my own' })
  assert.deepEqual(codeOf(users), [403, 103])
})

test('the first start generates a password and prints it once; accounts remain after a restart', async (t) => {
  const first = await startBroker(t, { generatesPassword: true })
  const [, password = ''] = await first.process.until(/sign in as +admin with (\S+) \(shown this once\)/)
  const [, url] = await first.process.until(/management API +(http:\S+)\/api\/v4/)
  const request = (
    place: string | undefined,
    path: string,
    credentials = `admin:${password}`,
    body?: object,
  ): Promise<Response> =>
    fetch(`${place}/api/v4/${path}`, {
      headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    })
  const ann = { username: 'ann', password: 'a long password', tags: 'administrator' }
  assert.equal((await request(url, 'users', undefined, ann)).status, 200)
  const { url: again, process: godwit } = await restartBroker(first)
  assert.equal((await request(again, 'brokers', 'ann:a long password')).status, 200)
  const { data } = (await (await request(again, 'users')).json()) as { readonly data: unknown }
  assert.deepEqual(data, [
    { username: 'admin', tags: 'administrator' },
    { username: 'ann', tags: 'administrator' },
  ])
  await godwit.stop()
  assert.equal(godwit.output.split('sign in as').length - 1, 1)
})
