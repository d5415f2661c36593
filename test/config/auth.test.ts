// Authentication settings: their results, and settings that contradict each other.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatConfigError, loadConfig, type GodwitConfig } from '../../src/config/index.ts'

const load = (text: string) =>
  loadConfig({
    text,
    file: 'test.conf',
    overrides: [],
    readFile: (path) => (path === 'key' ? { text: 'KEY' } : { error: 'there is no such file' }),
  })

function configOf(text: string): GodwitConfig {
  const loaded = load(text)
  assert.ok('config' in loaded, 'errors' in loaded ? loaded.errors.map(formatConfigError).join('\n') : '')
  assert.deepEqual(loaded.warnings.map(formatConfigError), [])
  return loaded.config
}

function errorsOf(text: string): string[] {
  const loaded = load(text)
  return 'errors' in loaded ? loaded.errors.map(formatConfigError) : []
}

test('without settings, there is a default chain without configured users, and no external service is used', () => {
  const { auth } = configOf('')
  assert.equal(auth.chain, undefined)
  assert.deepEqual(auth.credentials, [])
  assert.deepEqual([auth.jwt, auth.http, auth.certificate, auth.isPskEnough], [undefined, undefined, undefined, false])
  assert.deepEqual(auth.scram, { iterations: 10_000, users: [] })
})

test('users and clients are read from each section that can contain them', () => {
  const { credentials } = configOf(`auth {
    password { alice = one, "bob@home" = 2 }
    user.1 { username = carol, password = three, is_superuser = true }
    client.x { clientid = pump, password = four }
  }`).auth
  assert.deepEqual(
    credentials.map(({ by, id, password, isSuperuser }) => [by, id, password, isSuperuser]),
    [
      ['username', 'alice', 'one', false],
      ['username', 'bob@home', '2', false],
      ['username', 'carol', 'three', true],
      ['clientid', 'pump', 'four', false],
    ],
  )
})

test('a chain has the configured order, and an empty chain is not replaced by the default', () => {
  assert.deepEqual(configOf('auth.chain = [password, certificate]').auth.chain, ['password', 'certificate'])
  assert.deepEqual(configOf('auth.chain = []').auth.chain, [])
  assert.deepEqual(configOf('auth.chain = auto').auth.chain, undefined)
})

const keyOf = (text: string) => configOf(`auth.jwt { ${text} }`).auth.jwt?.key

test('tokens are verified with a secret as text or base64, or with the content of a file', () => {
  const secret = 'x'.repeat(32)
  const base64 = Buffer.alloc(32, 1).toString('base64')
  assert.deepEqual(keyOf(`secret = ${secret}`), { kind: 'secret', secret: Buffer.from(secret) })
  assert.deepEqual(keyOf(`secret = "${base64}", secret_encoding = base64`), {
    kind: 'secret',
    secret: Buffer.alloc(32, 1),
  })
  assert.deepEqual(keyOf('public_key_file = key'), { kind: 'public-key', text: 'KEY' })
  assert.deepEqual(keyOf('jwks_file = key'), { kind: 'jwks', text: 'KEY' })
  assert.equal(keyOf('jwks_file = key, enable = false'), undefined)
})

test('settings that contradict each other are an error with line and key', () => {
  for (const [text, error] of [
    ['user.1 { password = x }', /test\.conf:2:\d+: auth\.user\.1: it has no username; set auth\.user\.1\.username/],
    ['user.1 { username = x }', /test\.conf:2:\d+: auth\.user\.1: it has no password/],
    ['client.a { password = x }', /auth\.client\.a: it has no clientid/],
    ['scram.user.a { username = x }', /auth\.scram\.user\.a: it has no password/],
    [
      'password.x = 1\nuser.1 { username = x, password = 2 }',
      /test\.conf:3:\d+: auth\.user\.1: "x" has a password already, by auth\.password\.x/,
    ],
    [
      'jwt { public_key_file = key, secret = "0123456789abcdef0123456789abcdef" }',
      /test\.conf:2:\d+: auth\.jwt: .*more than one key/,
    ],
    ['jwt { public_key_file = key, jwks_file = key }', /more than one key/],
    ['jwt { secret = short }', /test\.conf:2:\d+: auth\.jwt\.secret: .*fewer than 32 bytes/],
    ['jwt { secret = "not base64 at all, but long enough", secret_encoding = base64 }', /is not base64/],
    [
      'jwt { public_key_file = gone }',
      /test\.conf:2:\d+: auth\.jwt\.public_key_file: gone cannot be read: there is no such file/,
    ],
    ['chain = [jwt]', /test\.conf:2:\d+: auth\.chain: jwt has no key/],
    ['chain = [http]', /auth\.chain: http has no address/],
    ['chain = [password, password]', /password occurs twice/],
    ['chain = [ldap]', /is not .*one of certificate, psk, password, scram, jwt, http/],
    ['http_auth.auth_req.url = "ftp://x"', /auth\.http_auth\.auth_req\.url: this is not an address of http or https/],
    ['http_auth.auth_req.url = "http://"', /not an address/],
    ['http_auth.auth_req { url = "http://a", headers { "a b" = c } }', /"a b" can not be sent as a header/],
    ['http_auth.auth_req { url = "http://a", headers { a = "b\\r\\nc: d" } }', /can not be sent as a header/],
  ] as const) {
    const errors = errorsOf(`auth {\n${text}\n}`)
    assert.match(errors.join('\n'), error, text)
  }
})

test('auth.password.enable is an error, because it would be a user with the name enable', () => {
  for (const value of ['true', 'false'])
    assert.match(
      errorsOf(`auth.password.enable = ${value}`).join('\n'),
      /^test\.conf:1:24: auth\.password\.enable: .*the user "enable"/,
    )
})

test('no error contains a secret', () => {
  const errors = errorsOf('auth { jwt { secret = hunter2 }, user.1 { password = hunter2 }, scram.iterations = 1 }')
  assert.equal(errors.length, 3)
  assert.doesNotMatch(errors.join('\n'), /hunter2/)
})

const withKey = (authType: string) => load(`http_server { auth_type = ${authType}\n jwt.public.keyfile = gone }`)

test('an unreadable key for API tokens is an error if tokens are the only authentication, otherwise a warning', () => {
  const needed = withKey('jwt')
  assert.ok('errors' in needed)
  const asRead = /test\.conf:2:\d+: http_server\.jwt\.public\.keyfile: gone cannot be read: there is no such file/
  assert.match(formatConfigError(needed.errors[0]), asRead)
  const besides = withKey('basic')
  assert.ok('warnings' in besides)
  const [warning] = besides.warnings.filter(({ key }) => key.startsWith('http_server'))
  assert.match(formatConfigError(warning), asRead)
  assert.match(formatConfigError(warning), /tokens are not accepted/)
  assert.equal(besides.config.http.jwt.keyText, undefined)
})
