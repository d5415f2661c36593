// Authentication of administrators: stored password hashes, and the cost of failed logins.

import assert from 'node:assert/strict'
import { generateKeyPairSync, scryptSync } from 'node:crypto'
import { describe, test } from 'node:test'
import { signToken } from '../../src/access/index.ts'
import { loadConfig } from '../../src/config/index.ts'
import type { AccountRecord, ApiKeyRecord, StoredPassword } from '../../src/records/index.ts'
import { openMemoryStore } from '../../src/storage/index.ts'
import { type AccessRecords, openAccessRecords } from '../../src/node/records/stored-access-records.ts'
import { createApiTokens } from '../../src/node/admins/api-tokens.ts'
import { authenticatedOrigin, hashSecret, PasswordHasher } from '../../src/node/admins/password-hashing.ts'
import { RecentLogins } from '../../src/node/admins/recent-logins.ts'
import {
  createAdminAuthentication,
  type AuthenticationDependencies,
} from '../../src/node/admins/admin-authentication.ts'

test('the role of a token is its claim `role`; a token with an invalid role is refused', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const text = String(publicKey.export({ type: 'spki', format: 'pem' }))
  const loaded = loadConfig({
    text: 'http_server.jwt.public.keyfile = issuer',
    overrides: [],
    readFile: () => ({ text }),
  })
  assert.ok('config' in loaded)
  const made = createApiTokens(loaded.config)
  assert.ok('tokens' in made)
  const roleOf = async (claims: Record<string, unknown>): Promise<unknown> => {
    const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
    const signed = await signToken({ sub: 'ann', exp: Math.floor(Date.now() / 1_000) + 60, ...claims }, pem)
    assert.ok('token' in signed)
    const found = await made.tokens?.logIn(signed.token)
    return typeof found === 'object' && 'role' in found ? [found.role, found.namespace] : found
  }
  assert.deepEqual(await roleOf({}), ['administrator', undefined])
  assert.deepEqual(await roleOf({ role: 'viewer' }), ['viewer', undefined])
  assert.deepEqual(await roleOf({ role: 'ns:plant::viewer' }), ['viewer', 'plant'])
  for (const role of ['king', '', 5, null, ['administrator'], 'ns:a/b::viewer', 'ns:::viewer', 'toString', 'Viewer']) {
    assert.deepEqual(await roleOf({ role }), { reason: 'the claim role names no role' }, JSON.stringify(role))
  }
  const now = Math.floor(Date.now() / 1_000)
  assert.deepEqual(await roleOf({ nbf: now + 600 }), { reason: 'the token is not yet valid (claim nbf)' })
  assert.deepEqual(await roleOf({ exp: undefined }), {
    reason: 'the claim exp of the token is missing or does not fit',
  })
  assert.equal(await roleOf({ exp: now - 600 }), 'ended')
  const unknownKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })
  const forged = await signToken({ exp: now + 60 }, String(unknownKey))
  assert.ok('token' in forged)
  const reason = 'the signature of the token does not match the key'
  assert.deepEqual(await made.tokens?.logIn(forged.token), { reason })
})

const own = { username: 'admin', password: undefined }
const clientAddress = '192.0.2.1'

/** Counts how often the hash of a password of an account is computed. */
class CountingHasher extends PasswordHasher {
  readonly checked: (StoredPassword | undefined)[] = []

  override isPassword(...parameters: Parameters<PasswordHasher['isPassword']>): Promise<boolean> {
    this.checked.push(parameters[1])
    return super.isPassword(...parameters)
  }
}

interface Stage {
  readonly records: AccessRecords
  readonly work: CountingHasher
  readonly logIn: (name: string, password: string) => Promise<string | undefined>
}

async function stage(more: Partial<AuthenticationDependencies> = {}): Promise<Stage> {
  const records = await openAccessRecords({ store: openMemoryStore(), sendToShards: async () => {} })
  const work = new CountingHasher()
  const recent = new RecentLogins()
  const dependencies = { records, work, recent, own, isHardened: true, refusesOwn: false, nowMs: () => 1_000, ...more }
  const accounts = createAdminAuthentication(dependencies)
  return { records, work, logIn: async (name, password) => byOf(await accounts.logIn(name, password, clientAddress)) }
}

function byOf(found: Awaited<ReturnType<ReturnType<typeof createAdminAuthentication>['logIn']>>): string | undefined {
  return typeof found === 'object' ? found.by : found
}

async function account(work: PasswordHasher, name: string, password: string): Promise<AccountRecord> {
  const rest = { description: '', role: 'viewer', namespace: undefined } as const
  return { kind: 'account', name, ...rest, password: await work.hash(password), createdAtMs: 1 }
}

function apiKey(id: string, secret: string): ApiKeyRecord {
  const rest = { name: id, description: '', role: 'viewer', namespace: undefined } as const
  return {
    kind: 'api-key',
    id,
    ...rest,
    isEnabled: true,
    expiresAtMs: undefined,
    secret: hashSecret(secret),
    createdAtMs: 1,
  }
}

test('passwords of accounts are stored with a slow hash, and equal passwords have different hashes', async () => {
  const work = new PasswordHasher()
  const [one, other] = [await work.hash('a long password'), await work.hash('a long password')]
  assert.deepEqual([one.algorithm, one.memory, one.passes, one.lanes], ['argon2id', 47_104, 1, 1])
  assert.notDeepEqual(one.hash, other.hash)
  assert.equal(await work.isPassword('a long password', one, clientAddress), true)
  assert.equal(await work.isPassword('a long passwort', one, clientAddress), false)
  const salt = Buffer.from('NaCl')
  const hash = scryptSync('a long password', salt, 32, { N: 1_024, r: 8, p: 1 })
  const scrypt: StoredPassword = { algorithm: 'scrypt', memory: 1_024, passes: 8, lanes: 1, salt, hash }
  assert.equal(
    await work.isPassword('a long password', scrypt, clientAddress),
    true,
    'a hash of a Node version without argon2',
  )
  assert.equal(await work.isPassword('a long passwort', scrypt, clientAddress), false)
})

test(
  'hashing passwords leaves no memory in use, on each thread of the pool',
  { skip: process.platform === 'linux' ? false : 'only Linux reports resident memory' },
  async () => {
    const work = new PasswordHasher()
    await work.hash('a first one')
    const before = process.memoryUsage.rss()
    // In sequence, so that each hash runs on another idle thread of the pool.
    for (let times = 0; times < 8; times++) await work.hash('a long password')
    assert.ok(process.memoryUsage.rss() - before < 40 * 1_048_576)
  },
)

test('a failed login costs one password hash, whether the account exists or not', async () => {
  const { records, work, logIn } = await stage({ own: { username: 'admin', password: 'configured here' } })
  await records.change({
    put: [await account(work, 'ann', 'a long password'), apiKey('reports', 'a secret')],
    delete: [],
  })
  for (const name of ['ann', 'reports', 'nobody', 'admin']) assert.equal(await logIn(name, 'wrong'), undefined, name)
  assert.equal(work.checked.length, 4)
  assert.equal(await logIn('admin', 'configured here'), 'account')
  assert.equal(await logIn('reports', 'a secret'), 'api-key')
})

test('a successful password check is cached until the record changes', async () => {
  const { records, work, logIn } = await stage()
  await records.change({ put: [await account(work, 'ann', 'a long password')], delete: [] })
  for (let time = 0; time < 3; time++) assert.equal(await logIn('ann', 'a long password'), 'account')
  assert.equal(work.checked.length, 1)
  await records.change({ put: [await account(work, 'ann', 'another password')], delete: [] })
  assert.equal(await logIn('ann', 'a long password'), undefined)
  assert.equal(await logIn('ann', 'another password'), 'account')
  await records.change({ put: [], delete: [{ kind: 'account', name: 'ann' }] })
  assert.equal(await logIn('ann', 'another password'), undefined)
})

test('a well-known stored password is refused', async () => {
  const { records, work, logIn } = await stage()
  await records.change({ put: [await account(work, 'admin', 'public'), await account(work, 'ann', 'ann')], delete: [] })
  assert.equal(await logIn('admin', 'public'), 'well-known')
  assert.equal(await logIn('ann', 'ann'), 'well-known')
  assert.equal(await logIn('ann', 'public'), undefined)
  const legacy = await stage({ records, isHardened: false })
  assert.equal(await legacy.logIn('admin', 'public'), 'account')
})

test('a well-known secret of an API key, which an archive can contain, is refused', async () => {
  const { records, logIn } = await stage()
  const keys = [apiKey('admin', 'public'), apiKey('reports', 'Reports'), apiKey('good', 'kJ8s7Gh2Lq')]
  await records.change({ put: keys, delete: [] })
  assert.equal(await logIn('admin', 'public'), 'well-known')
  assert.equal(await logIn('reports', 'Reports'), 'well-known')
  assert.equal(await logIn('good', 'kJ8s7Gh2Lq'), 'api-key')
  const legacy = await stage({ records, isHardened: false })
  assert.equal(await legacy.logIn('admin', 'public'), 'api-key')
})

test('attempts are checked one at a time, and alternate between addresses', async () => {
  const work = new PasswordHasher()
  const order: string[] = []
  const guess = async (from: string): Promise<void> => {
    await work.isPassword('guess', undefined, from)
    order.push(from)
  }
  const guesses = [...Array.from({ length: 6 }, () => guess('192.0.2.9')), guess(clientAddress)]
  await Promise.all(guesses)
  assert.ok(order.indexOf(clientAddress) <= 2, order.join())
})

test('a correct password is accepted after any number of wrong guesses from the same address', async () => {
  const work = new PasswordHasher()
  const salt = Buffer.from('NaCl')
  const hash = scryptSync('right', salt, 32, { N: 16, r: 1, p: 1 })
  const cheap: StoredPassword = { algorithm: 'scrypt', memory: 16, passes: 1, lanes: 1, salt, hash }
  const guesses = Array.from({ length: 500 }, (_, number) => work.isPassword(`guess ${number}`, cheap, clientAddress))
  assert.equal(await work.isPassword('right', cheap, clientAddress), true)
  assert.ok((await Promise.all(guesses)).every((isRight) => !isRight))
})

test('attempts of authenticated accounts precede all waiting guesses', async () => {
  const work = new PasswordHasher()
  const order: string[] = []
  const hashFor = async (from: string): Promise<void> => {
    await work.isPassword('guess', undefined, from)
    order.push(from)
  }
  await Promise.all([
    hashFor(clientAddress),
    hashFor('192.0.2.2'),
    hashFor('192.0.2.3'),
    hashFor(authenticatedOrigin),
    hashFor(authenticatedOrigin),
  ])
  assert.deepEqual(order, [clientAddress, authenticatedOrigin, authenticatedOrigin, '192.0.2.2', '192.0.2.3'])
})

/** A stored password whose hash takes little time. */
function cheapPassword(password: string): StoredPassword {
  const salt = Buffer.from('NaCl')
  const hash = scryptSync(password, salt, 32, { N: 16, r: 1, p: 1 })
  return { algorithm: 'scrypt', memory: 16, passes: 1, lanes: 1, salt, hash }
}

describe('200 clients that guess passwords share the address of an account with the right password', () => {
  test('attempts at another name alternate with the right password, which waits for two of them', async () => {
    const work = new PasswordHasher()
    const stored = cheapPassword('right')
    let guessesDone = 0
    const guesses = Array.from({ length: 200 }, async (_, number) => {
      await work.isPassword(`guess ${number}`, stored, clientAddress, { name: 'admin', wasRightHere: false })
      guessesDone += 1
    })
    assert.equal(await work.isPassword('right', stored, clientAddress, { name: 'ann', wasRightHere: false }), true)
    assert.ok(guessesDone <= 3, `${guessesDone} guesses went first`)
    await Promise.all(guesses)
  })

  test('the first right password of another name precedes names that had wrong passwords, which are still checked', async () => {
    const work = new PasswordHasher()
    const stored = cheapPassword('right')
    const guess = (number: number): Promise<boolean> =>
      work.isPassword('guess', stored, clientAddress, { name: `name-${number}`, wasRightHere: false })
    const numbers = Array.from({ length: 200 }, (_, number) => number)
    await Promise.all(numbers.map(guess))
    let guessesDone = 0
    const guesses = numbers.map(async (number) => {
      assert.equal(await guess(number), false)
      guessesDone += 1
    })
    for (const name of ['ann', 'bob'])
      assert.equal(await work.isPassword('right', stored, clientAddress, { name, wasRightHere: false }), true)
    assert.ok(guessesDone <= 6, `${guessesDone} guesses went first`)
    await Promise.all(guesses)
  })

  test('names that had wrong passwords are checked although new names arrive all the time', async () => {
    const work = new PasswordHasher()
    const stored = cheapPassword('right')
    const check = (name: string, password: string): Promise<boolean> =>
      work.isPassword(password, stored, clientAddress, { name, wasRightHere: false })
    assert.equal(await check('ann', 'mistyped'), false)
    let othersDone = 0
    const others = Array.from({ length: 100 }, async (_, number) => {
      await check(`new-${number}`, 'guess')
      othersDone += 1
    })
    assert.equal(await check('ann', 'right'), true)
    assert.ok(othersDone <= 5, `${othersDone} others went first`)
    await Promise.all(others)
  })

  test('a name with a recent successful login waits for two attempts, whatever names the guessing clients use', async () => {
    const { records, logIn, work } = await stage()
    await records.change({
      put: [{ ...(await account(work, 'ann', 'x')), password: cheapPassword('right') }],
      delete: [],
    })
    assert.equal(await logIn('ann', 'right'), 'account')
    // A new record, so that the cached result of the check does not apply.
    await records.change({
      put: [{ ...(await account(work, 'ann', 'x')), password: cheapPassword('right') }],
      delete: [],
    })
    let guessesDone = 0
    const guesses = Array.from({ length: 12 }, async (_, number) => {
      assert.equal(await logIn(`guess-${number}`, 'wrong'), undefined)
      guessesDone += 1
    })
    assert.equal(await logIn('ann', 'right'), 'account')
    assert.ok(guessesDone <= 3, `${guessesDone} guesses went first`)
    await Promise.all(guesses)
  })

  test('a wrong password for such a name waits like the other attempts of its address', async () => {
    const work = new PasswordHasher()
    const stored = cheapPassword('right')
    const order: string[] = []
    const guess = async (name: string, wasRightHere: boolean): Promise<void> => {
      assert.equal(await work.isPassword('wrong', stored, clientAddress, { name, wasRightHere }), false)
      order.push(name)
    }
    const others = Array.from({ length: 20 }, (_, number) => guess(`nobody-${number}`, false))
    await Promise.all([...others, guess('ann', true), guess('unknown', false)])
    assert.ok(order.indexOf('ann') >= 19, order.join())
  })
})

test('attempts of disconnected clients are not checked, nor attempts that wait when the broker stops', async () => {
  const work = new PasswordHasher()
  const stored = cheapPassword('right')
  let responses = 0
  const note = (): void => void (responses += 1)
  const first = work.isPassword('wrong', stored, clientAddress)
  const leaving = new AbortController()
  for (let number = 0; number < 1_000; number++) {
    const claimed = { name: `user-${number % 100}`, wasRightHere: number % 2 === 0, gone: leaving.signal }
    void work.isPassword('wrong', stored, clientAddress, claimed).then(note)
  }
  leaving.abort()
  // If the thousand attempts were checked, this one would wait for them.
  assert.equal(await work.isPassword('right', stored, clientAddress, { name: 'ann', wasRightHere: false }), true)
  await first
  assert.equal(responses, 0)
  const pending = work.isPassword('wrong', stored, clientAddress)
  void work.isPassword('wrong', stored, clientAddress).then(note)
  work.close()
  assert.equal(await pending, false)
  assert.equal(await work.isPassword('right', stored, clientAddress), true, 'no attempt precedes this one')
  assert.equal(responses, 0)
})

test('4,096 pairs of address and name are stored, each for twelve hours', () => {
  const recent = new RecentLogins()
  recent.record(clientAddress, 'ann', 0)
  assert.ok(recent.has(clientAddress, 'ann', 43_199_999))
  assert.ok(!recent.has(clientAddress, 'ann', 43_200_000))
  assert.ok(!recent.has('192.0.2.2', 'ann', 0) && !recent.has(clientAddress, 'bob', 0))
  for (let number = 0; number < 4_096; number++) recent.record(clientAddress, `user-${number}`, 0)
  assert.ok(!recent.has(clientAddress, 'ann', 0))
})
