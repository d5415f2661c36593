// Each result code: a request here causes it, or the reference of errors states why no request can. For requests with small mistakes, the error
// suggests the correct path, method or key, and each client can read it.

import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { signToken } from '../../src/access/index.ts'
import { type Caller, type ResultCodeName, resultCodes } from '../../src/contract/index.ts'
import { ApiError, formatErrorBody, refuse, refuseFor } from '../../src/management/http/api-error.ts'
import { createBackupHandlers, type UsedBackups } from '../../src/api/backup/backup.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { testLength } from '../test-length.ts'
import { administrator, type BrokerWithApi, type RequestOptions, shareConfigurableBroker } from './api.ts'

const configuredBroker = shareConfigurableBroker()

async function messageOf(
  path: string,
  method: 'GET' | 'POST' | 'DELETE',
  body?: unknown,
): Promise<[status: number, message: string]> {
  const broker = await configuredBroker()
  const response = await broker.request(path, { method, body })
  return [response.status, response.json?.message ?? '']
}

describe('the error for an unknown path or method suggests the correct one:', () => {
  const cases = [
    ['GET', '/api/v4/mqtt/publish', /; use POST$/],
    ['POST', '/api/v4/brokers', /; use GET$/],
    ['POST', '/api/v4/bridges/br1', /; use GET or PUT or DELETE$/],
    ['GET', '/api/v4/client', /did you mean \/api\/v4\/clients\?/],
    ['GET', '/api/v4/cleints/some-id', /did you mean \/api\/v4\/clients\/some-id\?/],
    ['GET', '/api/v5/usres', /did you mean \/api\/v5\/users\?/],
    ['POST', '/api/v4/client', /did you mean GET \/api\/v4\/clients\?/],
    ['DELETE', '/api/v4/client/some-id', /did you mean \/api\/v4\/clients\/some-id\?/],
    ['GET', '/nothing/like/this/at/all', /^there is no GET \/nothing\/like\/this\/at\/all$/],
  ] as const
  for (const [method, path, expected] of cases) {
    test(`${method} ${path}`, async () => {
      const [status, message] = await messageOf(path, method, method === 'GET' ? undefined : {})
      assert.equal(status, 404)
      assert.match(message, expected)
    })
  }
})

test('GET / names the broker to authenticated programs, and to browsers if the dashboard is disabled', async () => {
  const broker = await configuredBroker()
  const unknown = await broker.request('/', { as: null })
  assert.deepEqual([unknown.status, unknown.json.code], [401, 104])
  assert.match((await broker.request('/')).text, /Godwit MQTT broker[^]*\/api\/docs/)
  const bare = await configuredBroker(['dashboard.enable=false'])
  const response = await fetch(new URL('/', bare.url), { headers: { accept: 'text/html' } })
  assert.equal(response.status, 200)
  assert.match(await response.text(), /Godwit MQTT broker[^]*\/api\/docs/)
})

test('a key that differs from a known key only by case or by one letter is refused, also in a batch', async () => {
  const message = { topic: 'a', payload: 'x', Qos: 1 }
  assert.deepEqual(await messageOf('/api/v4/mqtt/publish', 'POST', message), [
    400,
    '"Qos" in the body is not known; did you mean qos?',
  ])
  const broker = await configuredBroker()
  const batch = await broker.request('/api/v4/mqtt/publish_batch', {
    method: 'POST',
    body: [message, { topic: 'a', payload: 'x' }],
  })
  assert.deepEqual(
    batch.json.data.map(({ code }: { code: number }) => code),
    [108, 0],
  )
  const nested = { topic: 'a', payload: 'x', properties: { Content_Type: 'text' } }
  assert.match((await messageOf('/api/v4/mqtt/publish', 'POST', nested))[1], /did you mean content_type\?/)
  for (const key of ['qoss', 'qs', 'retian', 'retan', 'Payloadd']) {
    const [status, text] = await messageOf('/api/v4/mqtt/publish', 'POST', { topic: 'a', [key]: 1 })
    assert.equal(status, 400, key)
    assert.equal(/did you mean (\w+)\?/.test(text), key !== 'qs', `${key}: ${text}`)
  }
  for (const key of ['more', 'topicality', 'qoz', 'ratain']) {
    const message = await messageOf('/api/v4/mqtt/publish', 'POST', { topic: 'a', payload: 'x', [key]: 1 })
    assert.deepEqual(message, [200, ''], key)
  }
})

test('a lone surrogate is refused in payloads and in topics', async () => {
  assert.match(
    (await messageOf('/api/v4/mqtt/publish', 'POST', { topic: 'a', payload: '\ud800' }))[1],
    /lone surrogate/,
  )
  assert.equal((await messageOf('/api/v4/mqtt/publish', 'POST', { topic: '\ud800', payload: 'x' }))[0], 400)
})

test('error messages shorten long values', async () => {
  const [status, message] = await messageOf('/api/v4/mqtt/publish', 'POST', { topic: '#'.repeat(60_000), payload: 'x' })
  assert.equal(status, 400)
  assert.ok(message.length < 200)
})

test('creating an existing user has code 113 in version 5, as in version 4', async () => {
  const broker = await configuredBroker()
  const body = { username: 'twice', password: 'a-password-1', role: 'viewer' }
  await broker.request('/api/v5/users', { method: 'POST', body })
  const again = await broker.request('/api/v5/users', { method: 'POST', body })
  assert.deepEqual([again.status, again.json.code, again.json.reason], [400, 113, 'BAD_REQUEST'])
})

/** Like most HTTP libraries, reads nothing before everything is sent. */
function sendAllFirst(broker: BrokerWithApi, bytes: number): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Basic ${btoa(administrator)}`, 'content-length': bytes }
    const sending = request(new URL('/api/v4/mqtt/publish', broker.url), { method: 'POST', headers })
    sending.once('response', (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sending.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    const piece = Buffer.alloc(65_536, 97)
    let left = bytes
    const write = (): void => {
      while (left > 0) {
        const part = piece.subarray(0, Math.min(left, piece.length))
        left -= part.length
        if (!sending.write(part)) return void sending.once('drain', write)
      }
      sending.end()
    }
    write()
  })
}

test('a client that sends a whole oversized body before it reads gets 400', async () => {
  const broker = await configuredBroker()
  for (let time = 0; time < testLength({ daily: 2, long: 5 }); time++)
    assert.equal(await sendAllFirst(broker, 20_000_000), 400)
})

type Provocation = readonly [path: string, options?: RequestOptions]

const user = { username: 'anna', password: 'a-password' }

/** Requests that cause each code, in this order. */
const provocations: Partial<Record<ResultCodeName, Provocation>> = {
  success: ['/api/v4/auth_username', { method: 'POST', body: user }],
  rpcError: ['/api/v4/ctrl/dance', { method: 'POST' }],
  unknownError: ['/api/v4/nowhere'],
  wrongCredentials: ['/api/v4/brokers', { as: 'admin:wrong' }],
  emptyCredentials: ['/api/v4/brokers', { as: null }],
  userNotFound: ['/api/v4/auth_username/nobody', { method: 'DELETE' }],
  adminCannotBeDeleted: ['/api/v4/users/admin', { method: 'DELETE' }],
  missingParameter: ['/api/v4/mqtt/publish', { method: 'POST', body: { topic: 'a' } }],
  invalidParameter: ['/api/v4/clients?clean_start=perhaps'],
  notJson: ['/api/v4/mqtt/publish', { method: 'POST', body: '{' }],
  clientOffline: ['/api/v4/clients/nobody', { method: 'DELETE' }],
  userExists: ['/api/v4/auth_username', { method: 'POST', body: user }],
  wrongOldPassword: [
    '/api/v4/change_pwd/bert',
    { method: 'PUT', body: { old_pwd: 'not-the-old-one', new_pwd: 'another-password' } },
  ],
  invalidTopic: ['/api/v4/mqtt/publish', { method: 'POST', body: { topic: 'a/#', payload: 'x' } }],
  notHocon: ['/api/v4/config_update', { method: 'POST', body: 'a = {' }],
}

test('each code of the table is returned for a request, or the test states why not', async (t) => {
  const folder = await temporaryFolder(t)
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const keyFile = join(folder, 'public.pem')
  await writeFile(keyFile, publicKey.export({ type: 'spki', format: 'pem' }))
  const broker = await configuredBroker([`http_server.jwt.public.keyfile="${keyFile}"`])
  const bert = { username: 'bert', password: 'correct-horse' }
  assert.equal((await broker.request('/api/v4/users', { method: 'POST', body: bert })).status, 200)
  const seen = new Set<number>()
  for (const [name, [path, options]] of Object.entries(provocations)) {
    const response = await broker.request(path, options)
    assert.equal(response.json.code, resultCodes[name as ResultCodeName].code, `${name}: ${response.text}`)
    if (name !== 'success') assert.notEqual(response.json.message, '', name)
    seen.add(response.json.code)
  }
  const ended = await signToken(
    { sub: 'late', exp: 1_000 },
    String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  )
  assert.ok('token' in ended)
  const expired = await broker.request('/api/v4/brokers', {
    as: null,
    headers: { authorization: `Bearer ${ended.token}` },
  })
  assert.deepEqual([expired.status, expired.json.code], [401, 116])
  seen.add(116)
  for (const [name, { code }] of Object.entries(resultCodes)) {
    if (testedInOtherFiles.has(name)) continue
    assert.ok(seen.has(code), `no request here gets ${code} (${name})`)
  }
})

/** Code 118 needs a failing disk: see test/management/configuration.test.ts; 110 and 111 need a plugin: see plugins.test.ts. */
const testedInOtherFiles = new Set(['configNotWritten', 'pluginEnabled', 'pluginClosed'])

const caller: Caller = {
  name: 'admin',
  by: 'account',
  role: 'administrator',
  namespace: undefined,
  address: '',
  login: undefined,
}

test('the error of a partly failed import names the parts that failed', async () => {
  const parts = { global: 'bans: the disk is full' }
  const message = 'some parts were not restored'
  const backup = { nodeName: 'here', import: async () => ({ symbol: 'BAD_REQUEST', message, parts }) as const }
  const { import_backup: handle } = createBackupHandlers(backup as unknown as UsedBackups)
  const refused = await handle({ params: {}, query: {}, body: { filename: 'a.tar.gz' }, caller })
  assert.ok(refused instanceof ApiError)
  assert.equal(refused.status, 400)
  const body = JSON.parse(formatErrorBody(refused, '/api/v5/data/import?x=1'))
  assert.deepEqual(body, { code: 108, reason: 'BAD_REQUEST', message, parts })
})

test('errors of version 4 have no field `reason`; errors of version 5 always have it', () => {
  const one = refuse('userNotFound', 'nobody')
  assert.equal(formatErrorBody(one, '/api/v4/users/x'), '{"code":105,"message":"nobody"}')
  assert.equal(formatErrorBody(one, '/auth_username'), '{"code":105,"message":"nobody"}')
  assert.equal(formatErrorBody(one, '/api/v5'), '{"code":105,"reason":"USER_NOT_FOUND","message":"nobody"}')
  for (const [refused, status, reason] of [
    [refuse('notJson', ''), 400, 'BAD_REQUEST'],
    [refuse('unknownError', '', 404), 404, 'NOT_FOUND'],
    [refuse('rpcError', '', 503), 503, 'SERVICE_UNAVAILABLE'],
    [refuse('unknownError', ''), 500, 'INTERNAL_ERROR'],
    [refuse('tokenExpired', ''), 401, 'TOKEN_TIME_OUT'],
    [refuse('wrongCredentials', '', 403), 403, 'FORBIDDEN'],
    [refuseFor('CONFLICT', ''), 409, 'CONFLICT'],
  ] as const)
    assert.deepEqual([refused.status, refused.reason], [status, reason])
})
