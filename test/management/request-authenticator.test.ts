// Authentication of API requests: passwords, API keys, tokens, `no_auth`.

import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runHere } from '../cli/run-here.ts'
import { type Scope, shared, temporaryFolder } from '../e2e/godwit-process.ts'
import {
  administrator,
  type ApiResponse,
  type BrokerWithApi,
  restartBroker,
  shareConfigurableBroker,
  startBrokerWithApi,
  withCurrentPorts,
} from './api.ts'

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const publicPem = publicKey.export({ type: 'spki', format: 'pem' })
const nowSeconds = (): number => Math.floor(Date.now() / 1_000)

type Signer = (text: string) => Buffer

const withKey = (key: KeyObject): Signer => {
  return (text) => sign('sha256', Buffer.from(text), key)
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

function tokenOf(claims: object, signer: Signer = withKey(privateKey), header: object = { alg: 'RS256' }): string {
  const signed = `${part({ typ: 'JWT', ...header })}.${part(claims)}`
  return `${signed}.${signer(signed).toString('base64url')}`
}

async function requestWith(broker: BrokerWithApi, authorization: string): Promise<[number, number]> {
  const headers = { authorization }
  const { status, json } = await broker.request('/api/v4/brokers', { as: null, headers })
  return [status, json.code]
}

async function keyFile(folder: string, text: string | Buffer = publicPem): Promise<string> {
  const path = join(folder, 'issuer.pem')
  writeFileSync(path, text)
  return path
}

const configuredBroker = shareConfigurableBroker()

test('a token of the issuer is accepted like names and passwords; any other token is 103, an expired one 116', async (t) => {
  const key = await keyFile(await temporaryFolder(t))
  const settings = [`http_server.jwt.public.keyfile="${key}"`, 'http_server.jwt.issuer="ours"']
  const broker = await configuredBroker(settings)
  const good = { iss: 'ours', sub: 'ann', exp: nowSeconds() + 600 }
  assert.deepEqual(await requestWith(broker, `Bearer ${tokenOf(good)}`), [200, 0])
  assert.deepEqual(await requestWith(broker, `Basic ${Buffer.from(administrator).toString('base64')}`), [200, 0])
  assert.deepEqual(await requestWith(broker, `Bearer ${tokenOf({ ...good, exp: nowSeconds() - 60 })}`), [401, 116])
  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
  const bad: Readonly<Record<string, string>> = {
    'without account': tokenOf(good, () => Buffer.of(), { alg: 'none' }),
    'signed with the public key': tokenOf(good, (text) => createHmac('sha256', publicPem).update(text).digest(), {
      alg: 'HS256',
    }),
    'of another key': tokenOf(good, withKey(otherKey)),
    'ended and of another key': tokenOf({ ...good, exp: 1 }, withKey(otherKey)),
    'without an end': tokenOf({ iss: 'ours' }),
    'with an end that is a text': tokenOf({ ...good, exp: String(good.exp) }),
    'not begun': tokenOf({ ...good, nbf: nowSeconds() + 60 }),
    'of another issuer': tokenOf({ ...good, iss: 'theirs' }),
    'of another algorithm': tokenOf(good, withKey(privateKey), { alg: 'PS256' }),
    'with a key of its own': tokenOf(good, () => Buffer.of(1), {
      alg: 'RS256',
      jwk: publicKey.export({ format: 'jwk' }),
    }),
    'that is none': 'a.b.c',
  }
  for (const [what, token] of Object.entries(bad))
    assert.deepEqual(await requestWith(broker, `Bearer ${token}`), [401, 103], what)
  const statusesWith = async (role: unknown): Promise<[look: number, change: number, publish: number]> => {
    const headers = { authorization: `Bearer ${tokenOf({ ...good, role })}` }
    const status = async (path: string, body?: object): Promise<number> => {
      const sent = body === undefined ? {} : ({ method: 'POST', body } as const)
      return (await broker.request(`/api/v4${path}`, { as: null, headers, ...sent })).status
    }
    const body = { topic: 'a', payload: '' }
    return [await status('/stats'), await status('/reload', { data: {} }), await status('/mqtt/publish', body)]
  }
  assert.deepEqual(await statusesWith('administrator'), [200, 200, 200])
  assert.deepEqual(await statusesWith('viewer'), [200, 403, 403])
  assert.deepEqual(await statusesWith('publisher'), [403, 403, 200])
  assert.deepEqual(
    await statusesWith('ns:plant::administrator'),
    [403, 403, 200],
    'the account is restricted to its namespace',
  )
  assert.deepEqual(await requestWith(broker, `Bearer ${tokenOf({ ...good, role: 'king' })}`), [401, 103])
  assert.deepEqual(await requestWith(broker, 'Digest username="admin"'), [401, 104])
  assert.deepEqual(await requestWith(broker, 'Basic !!!!'), [401, 103])
  assert.deepEqual(await requestWith(broker, 'Basic'), [401, 104])
  assert.deepEqual(await requestWith(broker, `Bearer ${'a'.repeat(16_000)}`), [401, 103])
  assert.deepEqual(
    await requestWith(broker, `Bearer ${'a'.repeat(100_000)}`),
    [400, 108],
    'the header exceeds the limit of all headers',
  )
})

test('with auth_type jwt, the account of http_server is refused, and tokens, other accounts and API keys are accepted', async (t) => {
  const key = await keyFile(await temporaryFolder(t))
  const settings = ['http_server.auth_type=jwt', `http_server.jwt.public.keyfile="${key}"`]
  const broker = await configuredBroker(settings)
  assert.equal((await broker.request('/api/v4/brokers')).status, 401)
  const authorization = `Bearer ${tokenOf({ exp: nowSeconds() + 600 })}`
  const app = { app_id: 'reports', secret: 'a secret of my own' }
  const made = await broker.request('/api/v4/apps', { as: null, headers: { authorization }, method: 'POST', body: app })
  assert.equal(made.status, 200, made.text)
  assert.equal((await broker.request('/api/v4/brokers', { as: 'reports:a secret of my own' })).status, 200)
  const body = { username: 'ann', password: 'correct-horse' }
  const user = await broker.request('/api/v4/users', { as: null, headers: { authorization }, method: 'POST', body })
  assert.equal(user.status, 200, user.text)
  assert.equal((await broker.request('/api/v4/brokers', { as: 'ann:correct-horse' })).status, 200)
  assert.equal((await broker.request('/api/v4/brokers')).status, 401)
})

test('a login of the account of http_server ends when auth_type becomes jwt, and logins of other accounts continue', async (t) => {
  const keySetting = `http_server.jwt.public.keyfile="${await keyFile(await temporaryFolder(t))}"`
  const broker = await configuredBroker([keySetting])
  const send = (path: string, body: object): Promise<ApiResponse> => broker.request(path, { method: 'POST', body })
  await send('/api/v4/users', { username: 'lou', password: 'correct-horse' })
  const login = async (words: string): Promise<string> => {
    const [username, password] = words.split(':')
    return `Bearer ${(await send('/api/v5/login', { username, password })).json.token}`
  }
  const [own, lou] = [await login(administrator), await login('lou:correct-horse')]
  assert.deepEqual(await requestWith(broker, own), [200, 0])
  await configuredBroker([keySetting, 'http_server.auth_type=jwt'])
  assert.deepEqual(await requestWith(broker, own), [401, 103])
  assert.deepEqual(await requestWith(broker, lou), [200, 0])
})

test('a token is refused if no key is configured', async () => {
  const broker = await configuredBroker()
  assert.deepEqual(await requestWith(broker, `Bearer ${tokenOf({ exp: nowSeconds() + 600 })}`), [401, 104])
})

/** Resolves with the error output. */
async function failToStart(t: Scope, settings: readonly string[]): Promise<string> {
  const own = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.port=0', ...settings]
  const words = own.flatMap((setting) => ['--set', setting])
  const dataDirectory = await temporaryFolder(t)
  const { code, errors } = await runHere(['start', '--data', dataDirectory, ...words])
  assert.notEqual(code, 0)
  assert.ok(!existsSync(join(dataDirectory, 'store')), 'the start fails before it serves clients')
  return errors
}

test('a key file that is missing, has no key or has a private key prevents the start, and the error names the setting', async (t) => {
  const folder = await temporaryFolder(t)
  const setting = 'http_server.jwt.public.keyfile'
  const missing = ['http_server.auth_type=jwt', `${setting}="${join(folder, 'none.pem')}"`]
  assert.match(await failToStart(t, missing), /jwt\.public\.keyfile.*no such file/)
  assert.match(
    await failToStart(t, [`${setting}="${await keyFile(folder, 'no key')}"`]),
    /jwt\.public\.keyfile.*no public key/,
  )
  const secret = await keyFile(folder, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const errors = await failToStart(t, [`${setting}="${secret}"`])
  assert.match(errors, /jwt\.public\.keyfile.*private key/)
  assert.doesNotMatch(errors, /BEGIN/)
  assert.match(await failToStart(t, ['http_server.auth_type=jwt']), /needs the key that tokens are checked with/)
})

/** A broker whose command line does not set the password. */
const fileBroker = shared(async (scope) => {
  const config = join(await temporaryFolder(scope), 'godwit.conf')
  writeFileSync(config, 'http_server.password = public')
  return { config, started: await startBrokerWithApi(scope, { config, generatesPassword: true }) }
})

async function brokerWithFile(text: string): Promise<BrokerWithApi> {
  const { config, started } = await fileBroker()
  if (readFileSync(config, 'utf8') === text) return withCurrentPorts(started)
  writeFileSync(config, text)
  return restartBroker(started)
}

test('a well-known password causes a warning on loopback and is refused on other addresses', async (t) => {
  const broker = await brokerWithFile('http_server.password = public')
  await broker.process.until(/this is a well-known password/)
  assert.equal((await broker.request('/api/v4/brokers', { as: 'admin:public' })).status, 200)
  const change = { method: 'POST', body: { data: { msq_len: 5 } }, as: 'admin:public' } as const
  const { data } = (await broker.request('/api/v4/reload', change)).json
  assert.match(data.warnings.join(), /http_server\.password: this is a well-known password; set one/)
  const open = ['http_server.password=public', 'http_server.ip_addr="0.0.0.0"']
  const errors = await failToStart(t, open)
  assert.match(errors, /http_server\.password.*not opened to others/)
})

test('the legacy profile accepts the documented password until another one is set', async () => {
  const broker = await brokerWithFile('node.security_profile = legacy\nhttp_server.ip_addr = "127.0.0.1"\n')
  assert.equal((await broker.request('/api/v4/brokers', { as: 'admin:public' })).status, 200)
})

test('no_auth needs no account, is refused on other addresses than loopback, and does not serve pages of other sites', async (t) => {
  const broker = await configuredBroker(['http_server.auth_type=no_auth'])
  const statusWith = async (headers: Record<string, string>, method: 'GET' | 'POST' = 'GET'): Promise<number> =>
    (await broker.request('/api/v4/brokers', { as: null, headers, method })).status
  assert.equal(await statusWith({}), 200)
  assert.equal(await statusWith({ origin: 'https://evil.example' }), 403)
  assert.equal(await statusWith({ 'sec-fetch-site': 'cross-site' }), 403)
  const beyond = await failToStart(t, ['http_server.auth_type=no_auth', 'http_server.ip_addr="0.0.0.0"'])
  assert.match(beyond, /no_auth is for loopback only/)
})
