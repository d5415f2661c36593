// Accounts of administrators and viewers, API keys, logins of administrators, and what their tokens allow.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAdminLogins, loginIdleMs, maxLoginsOfAccount } from '../../src/node/admins/logins.ts'
import { PasswordHasher } from '../../src/node/admins/password-hashing.ts'
import { openAccessRecords } from '../../src/node/records/stored-access-records.ts'
import { openMemoryStore } from '../../src/storage/index.ts'
import { startBroker } from '../e2e/godwit-process.ts'
import { administrator, type ApiResponse, type BrokerWithApi, restartBroker, shareConfigurableBroker } from './api.ts'

/** The status of GET /brokers. */
async function statusAs(broker: BrokerWithApi, as: string): Promise<number> {
  return (await broker.request('/api/v4/brokers', { as })).status
}

const codeOf = ({ status, json }: { status: number; json: { code: number } }): [number, number] => [status, json.code]

const sharedBroker = shareConfigurableBroker(['node.shards=2'])

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
  const [, password = ''] = await first.process.until(/log in as +admin with (\S+) \(shown this once\)/)
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
  assert.equal(godwit.output.split('log in as').length - 1, 1)
})

type Outcome = readonly [status: number, code: number, reason: string | undefined]

const outcomeOf = ({ status, json }: ApiResponse): Outcome => [status, json.code, json.reason]

const [, adminPassword = ''] = administrator.split(':')

const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`

async function logIn(broker: BrokerWithApi, username = 'admin', password = adminPassword): Promise<ApiResponse> {
  return broker.request('/api/v5/login', { as: null, method: 'POST', body: { username, password } })
}

const bearer = (token: string): { as: null; headers: Record<string, string> } => ({
  as: null,
  headers: { authorization: `Bearer ${token}` },
})

test('a login returns a token for both versions, valid until logout', async () => {
  const broker = await sharedBroker()
  const login = await logIn(broker)
  assert.equal(login.status, 200, login.text)
  const { token, ...rest } = login.json
  const version = rest.version
  assert.deepEqual(rest, {
    code: 0,
    role: 'administrator',
    namespace: null,
    version,
    license: { edition: 'opensource' },
  })
  assert.equal((await broker.request('/api/v5/users', bearer(token))).status, 200)
  assert.equal((await broker.request('/api/v4/brokers', bearer(token))).status, 200)
  const logOut = (username: string): Promise<ApiResponse> =>
    broker.request('/api/v5/logout', { ...bearer(token), method: 'POST', body: { username } })
  assert.deepEqual(outcomeOf(await logOut('ann')), [401, 103, 'WRONG_TOKEN_OR_USERNAME'])
  assert.deepEqual(outcomeOf(await logOut('admin')), [200, 0, undefined])
  assert.deepEqual(outcomeOf(await broker.request('/api/v5/users', bearer(token))), [401, 103, 'BAD_TOKEN'])
  const withoutLogin = await broker.request('/api/v5/logout', { method: 'POST', body: { username: 'admin' } })
  assert.deepEqual(outcomeOf(withoutLogin), [401, 103, 'WRONG_TOKEN_OR_USERNAME'])
})

test('each refused login has its own error, and none shows which names exist', async () => {
  const broker = await sharedBroker()
  const request = async (authorization?: string): Promise<ApiResponse> =>
    broker.request('/api/v5/users', { as: null, headers: authorization === undefined ? {} : { authorization } })
  const without = await request()
  assert.deepEqual(outcomeOf(without), [401, 104, 'AUTHORIZATION_HEADER_ERROR'])
  assert.match(without.headers.get('www-authenticate') ?? '', /^Basic realm=/)
  assert.deepEqual(outcomeOf(await request('Digest a=b')), [401, 104, 'AUTHORIZATION_HEADER_ERROR'])
  assert.deepEqual(outcomeOf(await request(basic('admin:wrong'))), [401, 103, 'BAD_API_KEY_OR_SECRET'])
  const wrong = await request(basic('nobody:wrong'))
  assert.deepEqual(outcomeOf(wrong), [401, 103, 'BAD_API_KEY_OR_SECRET'])
  assert.match(wrong.headers.get('www-authenticate') ?? '', /^Basic realm=/)
  const badToken = await request('Bearer abc')
  assert.deepEqual(outcomeOf(badToken), [401, 103, 'BAD_TOKEN'])
  assert.match(badToken.headers.get('www-authenticate') ?? '', /^Bearer/)
  assert.deepEqual(outcomeOf(await request('Bearer a.b.c')), [401, 104, 'BAD_TOKEN'])
  const [one, other] = [await logIn(broker, 'admin', 'wrong'), await logIn(broker, 'nobody', 'wrong')]
  assert.deepEqual(outcomeOf(one), [401, 103, 'BAD_USERNAME_OR_PWD'])
  assert.equal(one.text, other.text)
  assert.deepEqual(outcomeOf(await logIn(broker, 'admin', '')), [401, 103, 'BAD_USERNAME_OR_PWD'])
  const half = await broker.request('/api/v5/login', { as: null, method: 'POST', body: { username: 'admin' } })
  assert.deepEqual(outcomeOf(half), [400, 107, 'BAD_REQUEST'])
  assert.deepEqual(outcomeOf(await broker.request('/api/v5/nothing')), [404, 102, 'NOT_FOUND'])
})

test('an API key cannot log in, and a password change ends the tokens of the account', async () => {
  const broker = await sharedBroker()
  await broker.request('/api/v4/apps', { method: 'POST', body: { app_id: 'reports', secret: 'a secret of my own' } })
  assert.deepEqual(outcomeOf(await logIn(broker, 'reports', 'a secret of my own')), [401, 103, 'BAD_USERNAME_OR_PWD'])
  await broker.request('/api/v4/apps/reports', { method: 'DELETE' })
  await broker.request('/api/v5/users', {
    method: 'POST',
    body: { username: 'kim', password: 'a long password', role: 'viewer' },
  })
  const { token } = (await logIn(broker, 'kim', 'a long password')).json
  assert.equal((await broker.request('/api/v4/brokers', bearer(token))).status, 200)
  const change = { old_pwd: 'a long password', new_pwd: 'another password' }
  const changed = await broker.request('/api/v5/users/kim/change_pwd', {
    ...bearer(token),
    method: 'POST',
    body: change,
  })
  assert.deepEqual(outcomeOf(changed), [200, 0, undefined])
  assert.deepEqual(outcomeOf(await broker.request('/api/v4/brokers', bearer(token))), [401, 103, undefined])
  assert.equal((await logIn(broker, 'kim', 'another password')).status, 200)
})

test('a login with a well-known password returns an explanation instead of a token', async () => {
  const legacy = ['node.security_profile=legacy', 'http_server.ip_addr="127.0.0.1"']
  const before = await sharedBroker(legacy)
  const body = { username: 'wes', password: 'changeme' }
  assert.equal((await before.request('/api/v5/users', { method: 'POST', body })).status, 200)
  assert.equal((await logIn(before, 'wes', 'changeme')).status, 200)
  const hardened = await sharedBroker()
  const refused = await logIn(hardened, 'wes', 'changeme')
  assert.deepEqual(outcomeOf(refused), [401, 103, 'BAD_USERNAME_OR_PWD'])
  assert.match(refused.json.message, /this is a well-known password: set another one/)
})

const accountRecord = async (name: string, password: string) =>
  ({
    kind: 'account',
    name,
    description: '',
    role: 'viewer',
    namespace: undefined,
    password: await new PasswordHasher().hash(password),
    createdAtMs: 1,
  }) as const

test('a login ends an hour after its last use, and with its account', async () => {
  const records = await openAccessRecords({ store: openMemoryStore(), sendToShards: async () => {} })
  const ann = await accountRecord('ann', 'a long password')
  await records.change({ put: [ann], delete: [] })
  let nowMs = 0
  const logins = createAdminLogins({
    records,
    readConfiguredAccount: () => ({ username: 'admin', password: undefined }),
    canLogIn: () => true,
    nowMs: () => nowMs,
  })
  const token = logins.begin('ann') ?? ''
  const found = (): unknown => {
    const caller = logins.findCaller(token)
    return typeof caller === 'string' ? caller : caller.role
  }
  for (let shown = 0; shown < 3; shown++) {
    nowMs += loginIdleMs - 1
    assert.equal(found(), 'viewer')
  }
  await records.change({ put: [{ ...ann, role: 'administrator' }], delete: [] })
  assert.equal(found(), 'administrator', 'a change of the role applies at once')
  nowMs += loginIdleMs - 1
  assert.notEqual(typeof logins.findCaller(token, true), 'string', 'the automatic request of a page is accepted')
  nowMs += 1
  assert.equal(found(), 'ended', 'automatic requests of a page do not extend the login')
  const another = logins.begin('ann') ?? ''
  assert.notEqual(logins.findCaller(another), 'wrong')
  await records.change({ put: [], delete: [{ kind: 'account', name: 'ann' }] })
  assert.equal(logins.findCaller(another), 'wrong')
  assert.equal(logins.begin('ann'), undefined)
})

test('the logins of one account are limited, and end no login of another account', async () => {
  const records = await openAccessRecords({ store: openMemoryStore(), sendToShards: async () => {} })
  const own = { username: 'admin', password: 'configured' }
  await records.change({ put: [await accountRecord('ann', 'a long password')], delete: [] })
  const logins = createAdminLogins({ records, readConfiguredAccount: () => own, canLogIn: () => true, nowMs: () => 0 })
  const ofAdmin = logins.begin('admin') ?? ''
  const first = logins.begin('ann') ?? ''
  for (let more = 0; more < maxLoginsOfAccount; more++) logins.begin('ann')
  assert.equal(logins.findCaller(first), 'wrong')
  assert.notEqual(logins.findCaller(ofAdmin), 'wrong')
})
