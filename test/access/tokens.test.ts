// Tokens: which are accepted, their claims, and every way to forge one.

import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign as signWith, type KeyObject } from 'node:crypto'
import { test } from 'node:test'
import type { JwtConfig } from '../../src/config/index.ts'
import { makeScramRecord, readTokenKeys, type TokenKeySource } from '../../src/access/index.ts'
import type { AuthenticationResult } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { AccessStage, credential, outcomeOf, type RequestOptions } from './stage.ts'
import { fc } from '../properties.ts'

const { badUserNameOrPassword } = reasonCodes

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed = generateKeyPairSync('ed25519')
const secret = Buffer.alloc(32, 7)

const pemOf = ({ publicKey }: { publicKey: KeyObject }): string =>
  publicKey.export({ type: 'spki', format: 'pem' }).toString()
const pem = (pair: { publicKey: KeyObject }): TokenKeySource => ({ kind: 'public-key', text: pemOf(pair) })

const nowSeconds = 1_800_000_000
const fresh = { exp: nowSeconds + 60 }

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

type Signer = (input: string) => Buffer
const signers: Record<string, Signer> = {
  RS256: (input) => signWith('sha256', Buffer.from(input), rsa.privateKey),
  ES256: (input) => signWith('sha256', Buffer.from(input), { key: ec.privateKey, dsaEncoding: 'ieee-p1363' }),
  EdDSA: (input) => signWith(null, Buffer.from(input), ed.privateKey),
  HS256: (input) => createHmac('sha256', secret).update(input).digest(),
}

function token(
  alg: string,
  claims: object,
  { header = {}, signer = signers[alg] }: { header?: object; signer?: Signer } = {},
) {
  const input = `${part({ alg, ...header })}.${part(claims)}`
  return `${input}.${signer(input).toString('base64url')}`
}

function stageFor(key: TokenKeySource, more: Partial<JwtConfig> = {}): AccessStage {
  return new AccessStage({
    chain: ['jwt', 'password'],
    token: {
      from: 'password',
      key,
      leewayMs: 5_000,
      claims: [],
      usernameClaim: undefined,
      aclClaim: 'acl',
      endsWithToken: true,
      ...more,
    },
  })
}

async function authenticate(
  stage: AccessStage,
  password: string,
  options: RequestOptions = {},
): Promise<AuthenticationResult> {
  return stage.authenticate({ username: 'alice', password, ...options })
}

async function outcome(stage: AccessStage, password: string, options: RequestOptions = {}): Promise<unknown> {
  return outcomeOf(await authenticate(stage, password, options))
}

test('tokens signed with RS256, ES256, EdDSA and HS256 are accepted with the matching key', async () => {
  for (const [alg, key] of [
    ['RS256', pem(rsa)],
    ['ES256', pem(ec)],
    ['EdDSA', pem(ed)],
    ['HS256', { kind: 'secret', secret }],
  ] as const) {
    const stage = stageFor(key)
    assert.equal(await outcome(stage, token(alg, fresh)), 'accepted', alg)
    const other = token(alg, fresh).slice(0, -6)
    assert.equal(await outcome(stage, `${other}AAAAAA`), badUserNameOrPassword, alg)
  }
})

test('an unsigned token is refused', async () => {
  for (const alg of ['none', 'None', 'NONE', 'nOnE']) {
    const unsigned = `${part({ alg })}.${part(fresh)}.`
    assert.equal(await outcome(stageFor(pem(rsa)), unsigned), badUserNameOrPassword)
    assert.equal(await outcome(stageFor({ kind: 'secret', secret }), unsigned), badUserNameOrPassword)
  }
})

test('the public key is not accepted as a secret', async () => {
  for (const text of [pemOf(rsa), pemOf(rsa).trim()]) {
    const signer: Signer = (input) => createHmac('sha256', text).update(input).digest()
    const forged = token('HS256', fresh, { signer })
    assert.equal(await outcome(stageFor(pem(rsa)), forged), badUserNameOrPassword)
  }
})

test('a key verifies only the algorithms of its type', async () => {
  const signer: Signer = (input) => signWith('sha512', Buffer.from(input), rsa.privateKey)
  assert.equal(await outcome(stageFor(pem(rsa)), token('RS512', fresh, { signer })), badUserNameOrPassword)
})

test('a token without an expiry, or with an invalid one, is refused', async () => {
  for (const claims of [{}, { exp: 'never' }, { exp: null }, { exp: String(nowSeconds + 60) }]) {
    assert.equal(await outcome(stageFor(pem(ec)), token('ES256', claims)), badUserNameOrPassword)
  }
})

test('a token that is expired or not valid yet is refused, with a tolerance for clocks', async () => {
  for (const [claims, expected] of [
    [{ exp: nowSeconds + 1 }, 'accepted'],
    [{ exp: nowSeconds }, badUserNameOrPassword],
    [{ exp: nowSeconds - 4 }, badUserNameOrPassword],
    [{ ...fresh, nbf: nowSeconds + 4 }, 'accepted'],
    [{ ...fresh, nbf: nowSeconds + 3_600 }, badUserNameOrPassword],
    [{ ...fresh, nbf: 'now' }, badUserNameOrPassword],
    [{ ...fresh, iat: nowSeconds + 4 }, 'accepted'],
    [{ ...fresh, iat: nowSeconds + 6 }, badUserNameOrPassword],
    [{ ...fresh, iat: 'now' }, badUserNameOrPassword],
  ] as const) {
    assert.equal(await outcome(stageFor(pem(ec)), token('ES256', claims)), expected, JSON.stringify(claims))
  }
})

test('a token with the address of a key does not make the broker fetch the key', async () => {
  const header = { jku: 'http://127.0.0.1:1/keys', x5u: 'http://127.0.0.1:1/cert', kid: "../../etc/passwd' OR 1=1 --" }
  const forged = token('ES256', fresh, {
    header,
    signer: (input) =>
      signWith('sha256', Buffer.from(input), generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey),
  })
  assert.equal(await outcome(stageFor(pem(ec)), forged), badUserNameOrPassword)
})

test('a token that contains a key is not verified with that key', async () => {
  const unknownKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const header = { jwk: unknownKey.publicKey.export({ format: 'jwk' }) }
  const signer: Signer = (input) =>
    signWith('sha256', Buffer.from(input), { key: unknownKey.privateKey, dsaEncoding: 'ieee-p1363' })
  assert.equal(await outcome(stageFor(pem(ec)), token('ES256', fresh, { header, signer })), badUserNameOrPassword)
})

test('a token with a critical extension is refused', async () => {
  const header = { crit: ['house'], house: true }
  assert.equal(await outcome(stageFor(pem(ec)), token('ES256', fresh, { header })), badUserNameOrPassword)
})

test('a huge token is refused before it is decoded', async () => {
  const stage = stageFor(pem(ec))
  const password = `${part({ alg: 'ES256' })}.${'A'.repeat(1_048_576)}.AAAA`
  // Nor is it checked as a password.
  stage.access.applyRecords({ put: [credential('username', 'alice', password)], delete: [] })
  const decision = stage.authenticate({ username: 'alice', password })
  assert.ok(!(decision instanceof Promise), 'no hash is computed')
  assert.equal(outcomeOf(decision), badUserNameOrPassword)
})

test('text that is not a token is a password for the next authenticator of the chain', async () => {
  const stage = stageFor(pem(ec))
  for (const password of ['secret', 'a.b.c', 'eyJ', '...', 'x'.repeat(40_000)]) {
    stage.access.applyRecords({ put: [credential('username', 'alice', password)], delete: [] })
    assert.equal(await outcome(stage, password), 'accepted')
  }
})

const jwk = (pair: { publicKey: KeyObject }, more: object) => ({
  ...pair.publicKey.export({ format: 'jwk' }),
  ...more,
})

test('any text as token is refused or passed to the next authenticator, without an exception', async () => {
  const stage = stageFor(pem(ec))
  const base64 = fc.string({ unit: fc.constantFrom('A', 'B', 'x', 'y', '0', '9', '-', '_'), maxLength: 30 })
  const header = fc.oneof(
    base64,
    fc.json().map((text) => Buffer.from(text).toString('base64url')),
    fc.constant(part({ alg: 'ES256' })),
  )
  const text = fc.oneof(
    fc.string(),
    fc.tuple(header, header, base64).map((parts) => parts.join('.')),
  )
  await fc.assert(
    fc.asyncProperty(text, async (password) => {
      assert.equal(await outcome(stage, password), badUserNameOrPassword)
    }),
  )
})

test('in a key set, the key with the key ID of the token is used, or any key of the right type if the token has none', async () => {
  const text = JSON.stringify({
    keys: [jwk(rsa, { kid: 'one' }), jwk(ec, { kid: 'two' }), jwk(ed, { kid: 'three', use: 'sig' })],
  })
  const stage = stageFor({ kind: 'jwks', text })
  assert.equal(await outcome(stage, token('ES256', fresh, { header: { kid: 'two' } })), 'accepted')
  assert.equal(await outcome(stage, token('EdDSA', fresh)), 'accepted')
  assert.equal(await outcome(stage, token('ES256', fresh, { header: { kid: 'one' } })), badUserNameOrPassword)
  assert.equal(await outcome(stage, token('ES256', fresh, { header: { kid: 'four' } })), badUserNameOrPassword)
})

test('a token without a key ID is verified with each key of its type', async () => {
  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const text = JSON.stringify({
    keys: [jwk(other, { kid: 'one' }), jwk(rsa, { kid: 'two' }), jwk(ec, { kid: 'three' })],
  })
  const stage = stageFor({ kind: 'jwks', text })
  assert.equal(await outcome(stage, token('ES256', fresh)), 'accepted')
  assert.equal(await outcome(stage, token('ES256', { exp: nowSeconds - 60 })), badUserNameOrPassword)
  assert.equal(await outcome(stage, token('ES256', fresh, { header: { kid: 'one' } })), badUserNameOrPassword)
})

test('a key of a set for another use, or for other algorithms, is not used', async () => {
  const text = JSON.stringify({
    keys: [jwk(rsa, { alg: 'RS512' }), jwk(ec, { use: 'enc' }), jwk(ed, { use: 'sig', alg: 'EdDSA' })],
  })
  const stage = stageFor({ kind: 'jwks', text })
  assert.equal(await outcome(stage, token('RS256', fresh)), badUserNameOrPassword)
  assert.equal(await outcome(stage, token('ES256', fresh)), badUserNameOrPassword)
  assert.equal(await outcome(stage, token('EdDSA', fresh)), 'accepted')
})

const problemOf = (source: TokenKeySource): string => {
  const read = readTokenKeys(source)
  return 'problem' in read ? read.problem : ''
}
const set = (...keys: object[]): TokenKeySource => ({ kind: 'jwks', text: JSON.stringify({ keys }) })

test('a file without a usable key is refused with the reason', () => {
  const small = generateKeyPairSync('rsa', { modulusLength: 1_024 })
  const curve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' })
  assert.match(problemOf({ kind: 'public-key', text: 'hello' }), /no public key/)
  assert.match(
    problemOf({ kind: 'public-key', text: rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }),
    /private/,
  )
  assert.match(problemOf(pem(small)), /2048 bits/)
  assert.match(problemOf(pem(curve)), /P-256/)
  assert.match(problemOf({ kind: 'jwks', text: '{' }), /not a JSON Web Key Set/)
  assert.match(problemOf(set()), /no key/)
  assert.match(problemOf(set({ kty: 'oct', k: 'AAAA' })), /secret/)
  assert.match(problemOf(set(rsa.privateKey.export({ format: 'jwk' }))), /private/)
  assert.match(problemOf(set({ kty: 'RSA' })), /key 1: it is not a public key/)
  assert.match(problemOf(set(...Array.from({ length: 17 }, () => ({ kty: 'RSA' })))), /more than 16/)
})

test('required claims are compared with client ID and user name of the client', async () => {
  const stage = stageFor(pem(ec), {
    claims: [
      ['sub', '${username}'],
      ['device', 'dev-%c'],
      ['aud', 'broker'],
    ],
  })
  const good = { ...fresh, sub: 'alice', device: 'dev-client', aud: ['other', 'broker'] }
  assert.equal(await outcome(stage, token('ES256', good)), 'accepted')
  for (const wrong of [
    { sub: 'bob' },
    { sub: undefined },
    { device: 'dev-x' },
    { aud: 'other' },
    { aud: [] },
    { sub: { x: 1 } },
  ]) {
    assert.equal(
      await outcome(stage, token('ES256', { ...good, ...wrong })),
      badUserNameOrPassword,
      JSON.stringify(wrong),
    )
  }
  assert.equal(
    await outcome(stage, token('ES256', { ...good, sub: '' }), { username: undefined }),
    badUserNameOrPassword,
    'a client without a user name does not match an empty claim',
  )
})

test('a token in the user name field is not a user name', async () => {
  const stage = stageFor(pem(ec), { from: 'username' })
  const decision = await stage.authenticate({ username: token('ES256', fresh) })
  assert.ok(decision.allowed === true && decision.identity !== undefined)
  assert.equal(decision.identity.username, undefined)
})

test('the user name is that of the token if a claim is configured for it', async () => {
  const stage = stageFor(pem(ec), { from: 'username', usernameClaim: 'name' })
  const decision = await stage.authenticate({ username: token('ES256', { ...fresh, name: 'pump' }) })
  assert.equal(decision.allowed === true && decision.identity?.username, 'pump')
  assert.equal(outcomeOf(await stage.authenticate({ username: token('ES256', fresh) })), badUserNameOrPassword)
})

test('a user name with a control character is refused, as in CONNECT', async () => {
  const stage = stageFor(pem(ec), { usernameClaim: 'sub' })
  for (const name of ['alice\0', 'plant\0alice', '\0', 'a\nb', 'a\tb', 'a\u007f', 'a\u0085b', 'a\ud800'])
    assert.equal(
      await outcome(stage, token('ES256', { ...fresh, sub: name })),
      badUserNameOrPassword,
      JSON.stringify(name),
    )
  for (const name of ['alice', 'plant/ä b', '\u{1f600}'])
    assert.equal(await outcome(stage, token('ES256', { ...fresh, sub: name })), 'accepted', name)
})

test('a client is disconnected when its token expires, unless it is configured otherwise', async () => {
  const ending = await authenticate(stageFor(pem(ec)), token('ES256', fresh))
  assert.equal(ending.allowed === true && ending.identity?.expiresAtMs, fresh.exp * 1_000)
  const staying = await authenticate(stageFor(pem(ec), { endsWithToken: false }), token('ES256', fresh))
  assert.equal(staying.allowed === true && staying.identity?.expiresAtMs, undefined)
})

test('the topics in a token are given to the access rules, and a token with invalid topics is refused', async () => {
  const stage = stageFor(pem(ec))
  const decision = await authenticate(stage, token('ES256', { ...fresh, acl: { pub: ['a/#'], sub: [], all: [] } }))
  assert.ok(decision.allowed === true && decision.identity?.grants !== undefined)
  assert.equal(await outcome(stage, token('ES256', { ...fresh, acl: { publish: 'a' } })), badUserNameOrPassword)
})

test('the log and the client learn only that a token was refused', async () => {
  const stage = stageFor(pem(ec))
  const wrong = token('ES256', { exp: nowSeconds - 100, secretClaim: 'hunter2' })
  const decision = await authenticate(stage, wrong)
  assert.match(stage.logText, /jwt: the token has expired/)
  assert.ok(!stage.logText.includes(wrong.slice(0, 20)) && !JSON.stringify(decision).includes('expired'))
})

test('a token without a claim for the user name does not authenticate a SCRAM user', async () => {
  const alice = makeScramRecord({
    username: 'alice',
    password: 'secret',
    algorithm: 'SCRAM-SHA-256',
    iterations: 4_096,
    isSuperuser: false,
    createdAtMs: 0,
  })
  const { settings } = stageFor(pem(ed))
  const scram = { users: [], secret, iterations: 4_096 }
  const stage = new AccessStage({ ...settings, chain: ['scram', 'jwt'], scram })
  stage.access.applyRecords({ put: [alice], delete: [] })
  const password = token('EdDSA', fresh)
  assert.equal(outcomeOf(await stage.authenticate({ username: 'bob', password })), 'accepted')
  assert.equal(outcomeOf(await stage.authenticate({ username: 'alice', password })), badUserNameOrPassword)
})
