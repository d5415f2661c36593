// Login with OpenID Connect, with a provider in memory: each invalid claim, and each attempt to complete the login of another browser.

import assert from 'node:assert/strict'
import { createHash, createHmac, generateKeyPairSync } from 'node:crypto'
import { afterEach, describe, mock, test } from 'node:test'
import { signToken } from '../../src/access/index.ts'
import { loadConfig, type OidcConfig } from '../../src/config/index.ts'
import type { SsoBegun } from '../../src/management/index.ts'
import { admitOidcUser, isOfProvider } from '../../src/node/admins/oidc/oidc-accounts.ts'
import { OidcProvider } from '../../src/node/admins/oidc/oidc-provider.ts'
import { createOidcLogin, toOidcUser } from '../../src/node/admins/oidc/oidc-login.ts'
import { hashSecret, PasswordHasher } from '../../src/node/admins/password-hashing.ts'
import { openAccessRecords } from '../../src/node/records/stored-access-records.ts'
import { readAccount3, writeAdminKey, writeAdminValue } from '../../src/storage/encoding/admin-record-bytes.ts'
import { ByteReader } from '../../src/storage/encoding/record-byte-reader.ts'
import { ByteWriter } from '../../src/storage/encoding/record-byte-writer.ts'
import { openMemoryStore } from '../../src/storage/index.ts'

const issuer = 'https://login.example/plant'
const config: OidcConfig = {
  issuer,
  clientId: 'godwit:1',
  clientSecret: 'a secret/with+signs',
  redirectUri: 'https://broker.example/dashboard/',
  scopes: ['openid', 'profile'],
  usernameClaim: 'sub',
  roleClaim: 'roles',
  roles: [
    ['ops', 'administrator'],
    ['plant-a', 'ns:a::viewer'],
  ],
  defaultRole: 'none',
}

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const others = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const pem = (pair: typeof keys): string => pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/auth?tenant=1`,
  token_endpoint: `${issuer}/token`,
  jwks_uri: `${issuer}/jwks`,
  userinfo_endpoint: `${issuer}/me`,
  id_token_signing_alg_values_supported: ['RS256', 'ES256'],
}

interface SentRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

/** The library of OpenID Connect reads `Date.now()`. */
const clock = {
  get nowMs() {
    return Date.now()
  },
  set nowMs(value: number) {
    mock.timers.setTime(value)
  },
}

afterEach(() => mock.timers.reset())

/** A provider whose responses a test can change. It records requests. */
function stage(changed: Partial<OidcConfig> = {}) {
  mock.timers.reset()
  mock.timers.enable({ apis: ['Date'], now: 1_800_000_000_000 })
  const requests: SentRequest[] = []
  const world = {
    clock,
    requests,
    metadata: metadata as Record<string, unknown>,
    signedWith: keys,
    claims: {} as Record<string, unknown>,
    /** Replaces the signed token. */
    token: undefined as string | undefined,
    keys: [
      { kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'too-short' },
      keys.publicKey.export({ format: 'jwk' }),
    ] as unknown[],
    nonce: '',
    userinfo: {} as Record<string, unknown>,
    tokenStatus: 200,
    reachable: true,
  }
  const responseTo = async (path: string): Promise<{ status: number; json: unknown }> => {
    if (path.endsWith('/openid-configuration')) return { status: 200, json: world.metadata }
    if (path.endsWith('/jwks')) return { status: 200, json: { keys: world.keys } }
    if (path.endsWith('/me')) return { status: 200, json: world.userinfo }
    if (world.tokenStatus !== 200) return { status: world.tokenStatus, json: { error: 'invalid_grant' } }
    const nowS = Math.floor(clock.nowMs / 1_000)
    const plain = {
      iss: issuer,
      aud: config.clientId,
      sub: 'ann',
      iat: nowS,
      exp: nowS + 60,
      roles: ['ops'],
      nonce: world.nonce,
    }
    const signed = await signToken({ ...plain, ...world.claims }, pem(world.signedWith))
    assert.ok('token' in signed)
    return {
      status: 200,
      json: { id_token: world.token ?? signed.token, access_token: 'opaque', token_type: 'Bearer' },
    }
  }
  const http = {
    send: async ({ url, headers, body }: { url: URL; headers: SentRequest['headers']; body: string | undefined }) => {
      requests.push({ url: url.href, headers, body })
      if (!world.reachable) return { failure: 'can not be reached: ECONNREFUSED' }
      const { status, json } = await responseTo(url.pathname)
      return { status, contentType: 'application/json', body: JSON.stringify(json) }
    },
  }
  const providers = { current: new OidcProvider({ ...config, ...changed }, { http, nowMs: () => clock.nowMs }) }
  const renew = (): void => {
    providers.current = new OidcProvider({ ...config, ...changed }, { http, nowMs: () => clock.nowMs })
  }
  return { world, providers, renew }
}

async function broker(stages = stage()) {
  const records = await openAccessRecords({ store: openMemoryStore(), sendToShards: async () => {} })
  const lines: unknown[] = []
  const log = { info: () => {}, warn: (...line: unknown[]) => lines.push(line), error: () => {}, debug: () => {} }
  const admit = admitOidcUser({ records, readConfiguredName: () => 'admin', log })
  const { clock } = stages.world
  const logIn = createOidcLogin({ readProvider: () => stages.providers.current, admit, nowMs: () => clock.nowMs })
  const begin = async (address = '10.0.0.1'): Promise<SsoBegun> => {
    const begun = await logIn.begin(address)
    assert.ok('state' in begun, JSON.stringify(begun))
    return begun
  }
  const end = ({ state, secret, url }: SsoBegun, more: { code?: string; issuer?: string } = {}) => {
    stages.world.nonce = new URL(url).searchParams.get('nonce') ?? ''
    return logIn.finish({ code: 'a-code', state, secret, issuer: undefined, ...more }, '10.0.0.1')
  }
  return { ...stages, records, logIn, begin, end, lines }
}

const messageOf = (result: object): string => ('message' in result ? String(result.message) : JSON.stringify(result))

test('the login uses PKCE, state and nonce, and creates an account from the ID token', async () => {
  const { begin, end, world, records, lines } = await broker()
  const begun = await begin()
  const url = new URL(begun.url)
  const { tenant, nonce = '', state, code_challenge: challenge, ...rest } = Object.fromEntries(url.searchParams)
  assert.deepEqual(rest, {
    response_type: 'code',
    client_id: config.clientId,
    redirect_uri: config.redirectUri,
    scope: 'openid profile',
    code_challenge_method: 'S256',
  })
  assert.deepEqual([tenant, state, begun.redirectUri], ['1', begun.state, config.redirectUri])
  assert.ok(!begun.url.includes(begun.secret), 'the URL does not contain the secret of the browser')
  const found = await end(begun)
  assert.deepEqual(found, { name: 'ann', by: 'account', role: 'administrator', namespace: undefined, login: undefined })
  const request = world.requests.find(({ url }) => url.endsWith('/token'))
  const form = Object.fromEntries(new URLSearchParams(request?.body))
  const verifier = form['code_verifier'] ?? ''
  assert.deepEqual(form, {
    grant_type: 'authorization_code',
    code: 'a-code',
    redirect_uri: config.redirectUri,
    code_verifier: verifier,
  })
  assert.equal(createHash('sha256').update(verifier).digest('base64url'), challenge)
  const basic = Buffer.from(request?.headers['authorization']?.slice('Basic '.length) ?? '', 'base64').toString()
  assert.equal(basic, 'godwit%3A1:a+secret%2Fwith%2Bsigns')
  assert.equal(new Set([nonce, state, challenge, verifier, begun.secret]).size, 5)
  const account = records.find({ kind: 'account', name: 'ann' })
  assert.ok(account !== undefined && isOfProvider(account))
  assert.equal(lines.length, 1)
  assert.equal(
    world.requests.filter(({ url }) => url.endsWith('/me')).length,
    0,
    'the ID token has all claims, so that /me is not requested',
  )
})

describe('the completion of a login is refused', () => {
  test('a second time', async () => {
    const { begin, end } = await broker()
    const begun = await begin()
    assert.ok('name' in (await end(begun)))
    assert.match(messageOf(await end(begun)), /was completed already/)
  })

  test('by another browser, which does not affect the login', async () => {
    const { begin, end } = await broker()
    const [own, foreign] = [await begin(), await begin('10.0.0.2')]
    assert.match(messageOf(await end({ ...own, secret: foreign.secret })), /not started in this browser/)
    assert.match(messageOf(await end({ ...own, state: 'unknown' })), /not started in this browser/)
    assert.ok('name' in (await end(own)))
  })

  test('after more than ten minutes', async () => {
    const { begin, end, world } = await broker()
    const begun = await begin()
    world.clock.nowMs += 600_000
    assert.match(messageOf(await end(begun)), /took too long/)
  })

  test('after a change of the provider', async () => {
    const { begin, end, renew } = await broker()
    const begun = await begin()
    renew()
    assert.match(messageOf(await end(begun)), /start again/)
  })

  test('for the oldest login of an address with more than 32 pending logins', async () => {
    const { begin, end } = await broker()
    const foreign = await begin('10.0.0.2')
    const first = await begin()
    for (let count = 0; count < 32; count += 1) await begin()
    assert.match(messageOf(await end(first)), /not started/)
    assert.ok('name' in (await end(foreign)), 'logins of other addresses remain')
  })
})

describe('an ID token is refused', () => {
  const nowS = 1_800_000_000
  const cases: readonly (readonly [what: string, claims: Record<string, unknown>, expectedMessage: RegExp])[] = [
    ['of another issuer', { iss: 'https://evil.example' }, /"iss" .*claim/],
    ['for another client', { aud: 'other' }, /"aud" .*claim/],
    ['for several clients without azp', { aud: [config.clientId, 'other'] }, /"aud" .*additional/],
    ['for another authorized party', { azp: 'other' }, /claim azp/],
    ['with another nonce', { nonce: 'other' }, /"nonce" claim/],
    ['that is too old', { exp: nowS - 31 }, /expired/],
    ['that ends now', { exp: nowS }, /expired/],
    ['that ends after all dates', { exp: 8_640_000_000_001 }, /claim exp/],
    ['without an end', { exp: undefined }, /"exp" .*missing/],
    ['of the future', { iat: nowS + 60 }, /claim iat/],
    ['without a subject', { sub: undefined }, /"sub" .*missing/],
    ['with an empty subject', { sub: '' }, /claim sub/],
    ['that begins later', { nbf: nowS + 60 }, /not yet valid/],
  ]
  for (const [what, claims, expectedMessage] of cases) {
    test(what, async () => {
      const { begin, end, world } = await broker()
      const begun = await begin()
      world.claims = { ...world.claims, ...claims }
      const result = await end(begun)
      assert.deepEqual(
        [expectedMessage.test(messageOf(result)), 'kind' in result && result.kind],
        [true, 'refused'],
        messageOf(result),
      )
    })
  }

  test('signed by a key that the provider does not publish', async () => {
    const { begin, end, world } = await broker()
    const begun = await begin()
    world.signedWith = others
    assert.match(messageOf(await end(begun)), /signature/)
  })

  // The claims are right, the provider announces the algorithms, and the secret of the client is known to it.
  for (const [alg, sign] of [
    ['none', () => ''],
    [
      'HS256',
      (text: string) =>
        createHmac('sha256', config.clientSecret ?? '')
          .update(text)
          .digest('base64url'),
    ],
  ] as const) {
    test(`whose algorithm is ${alg}`, async () => {
      const { begin, end, world } = await broker()
      world.metadata = { ...metadata, id_token_signing_alg_values_supported: ['RS256', alg] }
      const begun = await begin()
      const nonce = new URL(begun.url).searchParams.get('nonce')
      const claims = { iss: issuer, aud: config.clientId, sub: 'ann', iat: nowS, exp: nowS + 60, roles: ['ops'], nonce }
      const text = [{ alg }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
      world.token = `${text}.${sign(text)}`
      assert.match(messageOf(await end(begun)), /the provider sent an invalid response: unsupported JWS/)
    })
  }

  for (const [what, keys] of [
    ['the provider publishes no keys', []],
    ['the keys are numbers', [7]],
    ['the key has the wrong type', [{ kty: 'EC', crv: 'P-256', x: 7, y: [] }]],
    ['the key is not on the curve', [{ kty: 'EC', crv: 'P-256', x: 'AQAB', y: 'AQAB' }]],
    ['the operations of the key are a number', [{ kty: 'EC', crv: 'P-256', key_ops: 7 }]],
  ] as const) {
    test(`if ${what}`, async () => {
      const { begin, end, world } = await broker()
      world.keys = [...keys]
      assert.match(messageOf(await end(await begin())), /^the provider sent an invalid response: ./)
    })
  }

  test('if it is no token', async () => {
    for (const token of ['', 'a', 'a.b.c', 'e30.e30.', 'e30.e30.e30.e30.e30', '.'.repeat(9)]) {
      const { begin, end, world } = await broker()
      world.token = token
      assert.match(messageOf(await end(await begin())), /^the provider sent an invalid response: ./, token)
    }
  })

  test('if the provider does not accept the code', async () => {
    const { begin, end, world } = await broker()
    const begun = await begin()
    world.tokenStatus = 400
    assert.equal(messageOf(await end(begun)), 'the provider returned status 400 (invalid_grant)')
  })
})

test('the issuer in the redirect must be that of the provider, and is required if the provider announces it (mix-up attack)', async () => {
  const { begin, end, world } = await broker()
  assert.match(messageOf(await end(await begin(), { issuer: 'https://evil.example' })), /is not the provider/)
  assert.equal(world.requests.filter(({ url }) => url.endsWith('/token')).length, 0, 'the code is not redeemed')
  const strict = stage()
  strict.world.metadata = { ...metadata, authorization_response_iss_parameter_supported: true }
  const other = await broker(strict)
  assert.match(messageOf(await other.end(await other.begin())), /is not the provider/)
  assert.ok('name' in (await other.end(await other.begin(), { issuer })))
})

describe('a discovery document is refused', () => {
  for (const [what, change, expectedMessage] of [
    ['of another issuer', { issuer: 'https://evil.example' }, /has another issuer/],
    ['with an endpoint over plain HTTP', { token_endpoint: 'http://login.example/token' }, /no safe/],
    ['with an address that is a script', { authorization_endpoint: 'javascript:alert(1)' }, /no safe/],
    ['without keys', { jwks_uri: undefined }, /no safe/],
  ] as const) {
    test(what, async () => {
      const stages = stage()
      stages.world.metadata = { ...metadata, ...change }
      const { logIn } = await broker(stages)
      assert.match(messageOf(await logIn.begin('10.0.0.1')), expectedMessage)
    })
  }

  test('if it is unavailable, and is requested again after five seconds, not for each login', async () => {
    const { logIn, world } = await broker()
    world.reachable = false
    assert.match(messageOf(await logIn.begin('10.0.0.1')), /can not be reached/)
    await logIn.begin('10.0.0.1')
    assert.equal(world.requests.length, 1)
    world.clock.nowMs += 5_000
    world.reachable = true
    assert.ok('url' in (await logIn.begin('10.0.0.1')))
  })
})

test('logins that start together request the discovery document once, and an old document is used while there is no new one', async () => {
  const { logIn, world } = await broker()
  const requests = () => world.requests.length
  await Promise.all(Array.from({ length: 3 }, () => logIn.begin('10.0.0.1')))
  assert.equal(requests(), 1)
  world.reachable = false
  clock.nowMs += 3_600_000
  for (let count = 0; count < 3; count += 1) assert.ok('url' in (await logIn.begin('10.0.0.1')))
  assert.equal(requests(), 2, 'a failed request is not repeated for each login')
  clock.nowMs += 5_000
  world.reachable = true
  world.metadata = { ...metadata, authorization_endpoint: `${issuer}/new` }
  const begun = await logIn.begin('10.0.0.1')
  assert.match('url' in begun ? begun.url : '', /plant\/new\?/)
})

test('the token request has the redirect URI of the first request, and the secret where the provider supports it', async () => {
  const redirectUri = 'https://Broker.example:443/dashboard/?view=1'
  const stages = stage({ redirectUri })
  stages.world.metadata = { ...metadata, token_endpoint_auth_methods_supported: ['client_secret_post'] }
  const { begin, end, world } = await broker(stages)
  const begun = await begin()
  assert.ok('name' in (await end(begun)))
  const request = world.requests.find(({ url }) => url.endsWith('/token'))
  const form = new URLSearchParams(request?.body)
  assert.equal(new URL(begun.url).searchParams.get('redirect_uri'), redirectUri)
  assert.deepEqual(
    ['redirect_uri', 'client_id', 'client_secret'].map((name) => form.getAll(name)),
    [[redirectUri], [config.clientId], [config.clientSecret]],
  )
  assert.equal(request?.headers['authorization'], undefined)
})

test('IDs and secrets of the client are escaped only where it is necessary, because some providers do not decode them', async () => {
  const stages = stage({ clientId: 'my-client_1.x', clientSecret: 'GOCSPX-a_b.c' })
  stages.world.claims = { aud: 'my-client_1.x' }
  const { begin, end, world } = await broker(stages)
  assert.ok('name' in (await end(await begin())))
  const [, text = ''] =
    world.requests.find(({ url }) => url.endsWith('/token'))?.headers['authorization']?.split(' ') ?? []
  assert.equal(Buffer.from(text, 'base64').toString(), 'my-client_1.x:GOCSPX-a_b.c')
})

test('members of a response that are named like those of the broker have no effect', async () => {
  const { begin, end, world } = await broker()
  world.claims = { failure: 'is wrong', kind: 'refused' }
  assert.ok('name' in (await end(await begin())))
})

test('the access token is not sent to a userinfo endpoint over plain HTTP', async () => {
  const stages = stage({ defaultRole: 'viewer' })
  stages.world.metadata = { ...metadata, userinfo_endpoint: 'http://login.example/me' }
  stages.world.claims = { roles: undefined }
  const { begin, end, world } = await broker(stages)
  assert.ok('name' in (await end(await begin())))
  assert.deepEqual(
    world.requests.filter(({ url }) => url.startsWith('http:')),
    [],
  )
})

const roleBy = (claims: Record<string, unknown>, more: Partial<OidcConfig> = {}): unknown => {
  const found = toOidcUser({ sub: 'ann', ...claims }, { ...config, ...more })
  return 'kind' in found ? found.kind : [found.role, found.namespace]
}

describe('roles', () => {
  test('are selected by the first value that matches, also in nested objects, or there is no role', () => {
    assert.deepEqual(roleBy({ roles: ['plant-a', 'ops'] }), ['administrator', undefined])
    assert.deepEqual(roleBy({ roles: 'plant-a' }), ['viewer', 'a'])
    assert.equal(roleBy({ roles: ['__proto__', 'others'] }), 'denied')
    assert.equal(roleBy({}), 'denied')
    assert.deepEqual(roleBy({}, { defaultRole: 'viewer' }), ['viewer', undefined])
    assert.deepEqual(roleBy({ realm: { roles: ['ops'] } }, { roleClaim: 'realm.roles' }), ['administrator', undefined])
    for (const sub of ['', 'a\u0000b', 'a\u202Eb', 'x'.repeat(257), 7])
      assert.equal(roleBy({ sub, roles: 'ops' }), 'denied')
  })

  test('are read from the userinfo endpoint if the ID token has none, for the same subject only', async () => {
    const { begin, end, world } = await broker()
    const begun = await begin()
    world.claims = { ...world.claims, roles: undefined }
    world.userinfo = { sub: 'eve', roles: ['ops'] }
    assert.match(messageOf(await end(begun)), /another user/)
    const other = await broker()
    const again = await other.begin()
    other.world.claims = { ...other.world.claims, roles: undefined }
    other.world.userinfo = { sub: 'ann', roles: ['plant-a'], iss: 'ignored' }
    assert.deepEqual(await other.end(again), {
      name: 'ann',
      by: 'account',
      role: 'viewer',
      namespace: 'a',
      login: undefined,
    })
    const request = other.world.requests.find(({ url }) => url.endsWith('/me'))
    assert.equal(request?.headers['authorization'], 'Bearer opaque')
  })
})

test('accounts that are not of the provider are not used, and a new role applies at the next login', async () => {
  const { begin, end, records, world } = await broker()
  const local = { description: '', role: 'viewer', namespace: undefined, createdAtMs: 1 } as const
  await records.decide(() => ({
    put: [
      { kind: 'account', name: 'bob', password: hashSecret('x'), ...local },
      {
        kind: 'api-key',
        id: 'key',
        name: '',
        isEnabled: true,
        expiresAtMs: undefined,
        secret: hashSecret('x'),
        ...local,
      },
    ],
    delete: [],
  }))
  const as = async (sub: string, roles = 'ops'): Promise<string> => {
    world.claims = { sub, roles }
    return messageOf(await end(await begin()))
  }
  for (const name of ['bob', 'key', 'admin']) assert.match(await as(name), /is the name of an account or API key/)
  assert.match(await as('ann'), /"administrator"/)
  const [before] = [records.find({ kind: 'account', name: 'ann' })]
  assert.match(await as('ann', 'plant-a'), /"viewer","namespace":"a"/)
  const after = records.find({ kind: 'account', name: 'ann' })
  assert.equal(after?.password, before?.password, 'existing logins remain')
  assert.deepEqual([after?.role, after?.namespace], ['viewer', 'a'])
})

const errorsOf = (text: string): readonly string[] => {
  const loaded = loadConfig({ text: `dashboard.oidc { ${text} }`, file: 'test.conf', overrides: [] })
  return 'errors' in loaded ? loaded.errors.map(({ key, message }) => `${key}: ${message}`) : []
}

test('an account without a password is stored without one, and no password is accepted for it', async () => {
  const { begin, end, records } = await broker()
  assert.ok('name' in (await end(await begin())))
  const account = records.find({ kind: 'account', name: 'ann' })
  assert.ok(account !== undefined)
  const [key, value] = [new ByteWriter(64), new ByteWriter(64)]
  writeAdminKey(key, account)
  writeAdminValue(value, account)
  const read = readAccount3(
    Buffer.from(key.bytes.subarray(0, key.length)),
    new ByteReader(Buffer.from(value.bytes.subarray(0, value.length))),
  )
  assert.ok(read.kind === 'account' && isOfProvider(read))
  const hasher = new PasswordHasher()
  for (const password of ['', 'any']) assert.equal(await hasher.isPassword(password, read.password, 'here'), false)
})

test('errors name settings that contradict each other', () => {
  const rest = 'client_id = a, redirect_uri = "https://b.example/dashboard/"'
  assert.deepEqual(errorsOf(`issuer = "https://login.example", ${rest}`), [])
  assert.deepEqual(errorsOf(`issuer = "http://127.0.0.1:8080/realm", ${rest}`), [])
  assert.deepEqual(errorsOf(`issuer = "http://login.example", ${rest}`), ['dashboard.oidc.issuer: it is not safe'])
  assert.deepEqual(errorsOf('issuer = "https://login.example"').toSorted(), [
    'dashboard.oidc.client_id: it is missing',
    'dashboard.oidc.redirect_uri: it is missing',
  ])
  for (const address of ['http://b.example/dashboard/', 'https://b.example/other', 'https://b.example/dashboard']) {
    assert.equal(
      errorsOf(`issuer = "https://l.example", client_id = a, redirect_uri = "${address}"`).length,
      1,
      address,
    )
  }
  assert.equal(errorsOf(`issuer = "https://login.example", ${rest}, scopes = [profile]`).length, 1)
  assert.equal(errorsOf(`issuer = "https://login.example", ${rest}, roles { ops = root }`).length, 1)
})
