// Logins of administrators, and what their tokens allow.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMemoryStore } from '../../src/storage/index.ts'
import { openAccessRecords } from '../../src/node/records/access-records.ts'
import { PasswordHasher } from '../../src/node/admins/password-hashing.ts'
import { loginIdleMs, maxLoginsOfAccount, adminLogins } from '../../src/node/admins/logins.ts'
import { administrator, type ApiResponse, type BrokerWithApi, shareConfigurableBroker } from './api.ts'

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

const sharedBroker = shareConfigurableBroker()

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
  await broker.request('/api/v5/users', {
    method: 'POST',
    body: { username: 'ann', password: 'a long password', role: 'viewer' },
  })
  const { token } = (await logIn(broker, 'ann', 'a long password')).json
  assert.equal((await broker.request('/api/v4/brokers', bearer(token))).status, 200)
  const change = { old_pwd: 'a long password', new_pwd: 'another password' }
  const changed = await broker.request('/api/v5/users/ann/change_pwd', {
    ...bearer(token),
    method: 'POST',
    body: change,
  })
  assert.deepEqual(outcomeOf(changed), [200, 0, undefined])
  assert.deepEqual(outcomeOf(await broker.request('/api/v4/brokers', bearer(token))), [401, 103, undefined])
  assert.equal((await logIn(broker, 'ann', 'another password')).status, 200)
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
  const logins = adminLogins({
    records,
    own: () => ({ username: 'admin', password: undefined }),
    canSignIn: () => true,
    nowMs: () => nowMs,
  })
  const token = logins.begin('ann') ?? ''
  const found = (): unknown => {
    const caller = logins.callerOf(token)
    return typeof caller === 'string' ? caller : caller.role
  }
  for (let shown = 0; shown < 3; shown++) {
    nowMs += loginIdleMs - 1
    assert.equal(found(), 'viewer')
  }
  await records.change({ put: [{ ...ann, role: 'administrator' }], delete: [] })
  assert.equal(found(), 'administrator', 'a change of the role applies at once')
  nowMs += loginIdleMs - 1
  assert.notEqual(typeof logins.callerOf(token, true), 'string', 'the automatic request of a page is accepted')
  nowMs += 1
  assert.equal(found(), 'ended', 'automatic requests of a page do not extend the login')
  const another = logins.begin('ann') ?? ''
  assert.notEqual(logins.callerOf(another), 'wrong')
  await records.change({ put: [], delete: [{ kind: 'account', name: 'ann' }] })
  assert.equal(logins.callerOf(another), 'wrong')
  assert.equal(logins.begin('ann'), undefined)
})

test('the logins of one account are limited, and end no login of another account', async () => {
  const records = await openAccessRecords({ store: openMemoryStore(), sendToShards: async () => {} })
  const own = { username: 'admin', password: 'configured' }
  await records.change({ put: [await accountRecord('ann', 'a long password')], delete: [] })
  const logins = adminLogins({ records, own: () => own, canSignIn: () => true, nowMs: () => 0 })
  const ofAdmin = logins.begin('admin') ?? ''
  const first = logins.begin('ann') ?? ''
  for (let more = 0; more < maxLoginsOfAccount; more++) logins.begin('ann')
  assert.equal(logins.callerOf(first), 'wrong')
  assert.notEqual(logins.callerOf(ofAdmin), 'wrong')
})
