// SCRAM, as an exchange of messages (RFC 5802, RFC 7677) and in MQTT 5.0 (section 4.12).

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeScramRecord, deriveSalt, type NewScramUser } from '../../src/access/index.ts'
import { ScramExchange } from '../../src/access/scram/scram-exchange.ts'
import { type AuthenticationResult, type Connection, toNamespacedName } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { ScramClient, type ScramClientOptions } from './scram-client.ts'
import { HttpService } from './http-service.ts'
import { requestTo, settingsFor } from './http-stage.ts'
import { AccessStage, connectionFrom, credential, outcomeOf } from './stage.ts'
import { fc } from '../properties.ts'

const secret = Buffer.alloc(32, 1)
const iterations = 4_096
const { notAuthorized, badAuthenticationMethod } = reasonCodes

const user = (more: Partial<NewScramUser> = {}) =>
  makeScramRecord({
    username: 'alice',
    password: 'secret',
    algorithm: 'SCRAM-SHA-256',
    iterations,
    isSuperuser: false,
    createdAtMs: 0,
    ...more,
  })

const alice: ScramClientOptions = { hash: 'sha256', username: 'alice', password: 'secret' }

function stage(...records: ReturnType<typeof user>[]): AccessStage {
  const made = new AccessStage({ scram: { users: [], secret, iterations } })
  made.access.applyRecords({ put: records, delete: [] })
  return made
}

/** One client on one connection, with the steps of a method in order. */
class Exchange {
  readonly connection: Connection = connectionFrom(false)
  readonly #stage: AccessStage
  readonly #method: string
  readonly #clientId: string

  constructor(stage: AccessStage, method = 'SCRAM-SHA-256', namespace?: string) {
    this.#stage = stage
    this.#method = method
    this.#clientId = toNamespacedName(namespace, 'client')
  }

  connect(data: string | undefined): AuthenticationResult {
    return this.#stage.decision({
      connection: this.connection,
      clientId: this.#clientId,
      authenticationMethod: this.#method,
      authenticationData: data === undefined ? undefined : Buffer.from(data),
    })
  }

  auth(data: string | undefined, isReauthentication = false, method = this.#method): AuthenticationResult {
    const decision = this.#stage.access.authenticate({
      kind: 'continue-authentication',
      requestId: 1,
      connection: this.connection,
      clientId: this.#clientId,
      method,
      data: data === undefined ? undefined : Buffer.from(data),
      isReauthentication,
    })
    assert.ok(!(decision instanceof Promise))
    return decision
  }

  /** The whole exchange: the result of the last step, and whether the server proved that it knows the password. */
  run(options: ScramClientOptions, isReauthentication = false): { outcome: unknown; isServerRight: boolean } {
    const client = new ScramClient(options)
    const first = isReauthentication ? this.auth(client.first, true) : this.connect(client.first)
    if (first.allowed !== 'not-yet') return { outcome: outcomeOf(first), isServerRight: false }
    const { message, verifier } = client.final(textOf(first))
    const last = this.auth(message, isReauthentication)
    return { outcome: outcomeOf(last), isServerRight: last.allowed === true && textOf(last) === verifier }
  }
}

function textOf(decision: AuthenticationResult): string {
  return decision.allowed === false ? '' : (decision.authenticationData?.toString() ?? '')
}

test('the example exchange of RFC 7677 gives the same messages, except for the nonce', () => {
  const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')
  const record = user({ username: 'user', password: 'pencil', salt })
  const exchange = new ScramExchange('SCRAM-SHA-256', { find: () => record, secret, iterations })
  const client = new ScramClient({
    hash: 'sha256',
    username: 'user',
    password: 'pencil',
    nonce: 'rOprNGfwEbeRWgbNEkqO',
  })
  const first = exchange.handleMessage(Buffer.from(client.first))
  assert.ok(first.step === 'goes-on')
  assert.match(first.data!.toString(), /^r=rOprNGfwEbeRWgbNEkqO[^,]{20,},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096$/)
  const { message, verifier } = client.final(first.data!.toString())
  const last = exchange.handleMessage(Buffer.from(message))
  assert.ok(last.step === 'done' && last.data.toString() === verifier)
})

test('the stored keys are those of the example of RFC 7677', () => {
  const salt = Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')
  const { storedKey, serverKey } = user({ username: 'user', password: 'pencil', salt })
  assert.equal(Buffer.from(storedKey).toString('base64'), 'WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=')
  assert.equal(Buffer.from(serverKey).toString('base64'), 'wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=')
})

test('a client with the right password is authenticated with either hash, and the broker proves that it knows the password too', () => {
  for (const [hash, algorithm] of [
    ['sha256', 'SCRAM-SHA-256'],
    ['sha512', 'SCRAM-SHA-512'],
  ] as const) {
    const exchange = new Exchange(stage(user({ algorithm })), algorithm)
    assert.deepEqual(exchange.run({ ...alice, hash }), { outcome: 'accepted', isServerRight: true })
  }
})

test('names with commas and equals signs, and passwords with non-ASCII characters, are accepted', () => {
  const odd = { username: 'a=b,c', password: 'ﬁ\u00AD\u2003пароль' }
  const exchange = new Exchange(stage(user(odd)))
  const typed = { ...alice, username: odd.username, password: 'fi пароль' }
  assert.deepEqual(exchange.run(typed), { outcome: 'accepted', isServerRight: true })
})

test('an authenticated client has the user name of the method, and may be a superuser', () => {
  const exchange = new Exchange(stage(user({ isSuperuser: true })))
  const client = new ScramClient(alice)
  const decision = exchange.auth(client.final(textOf(exchange.connect(client.first))).message)
  assert.ok(decision.allowed === true && decision.identity?.username === 'alice' && decision.identity.isSuperuser)
})

test('a wrong password and an unknown user fail at the same step with the same response', () => {
  const access = stage(user())
  const wrong = new Exchange(access).run({ ...alice, password: 'Secret' })
  const unknown = new Exchange(access).run({ ...alice, username: 'bob' })
  assert.deepEqual(wrong, { outcome: notAuthorized, isServerRight: false })
  assert.deepEqual(unknown, wrong)
})

const saltOf = (access: AccessStage, username: string): string =>
  /s=([^,]+),i=4096$/.exec(textOf(new Exchange(access).connect(new ScramClient({ ...alice, username }).first)))![1]

test('an unknown user name always gets the same salt, with as many iterations as other users', () => {
  assert.equal(saltOf(stage(user()), 'bob'), saltOf(stage(user()), 'bob'), 'also after a restart')
  assert.notEqual(saltOf(stage(user()), 'bob'), saltOf(stage(user()), 'carol'))
  assert.equal(Buffer.from(saltOf(stage(user()), 'bob'), 'base64').length, user().salt.length)
})

test('a user of the configuration keeps its salt after a restart', () => {
  assert.deepEqual(deriveSalt('alice', 'SCRAM-SHA-256', secret), deriveSalt('alice', 'SCRAM-SHA-256', secret))
  assert.notDeepEqual(
    deriveSalt('alice', 'SCRAM-SHA-256', secret),
    deriveSalt('alice', 'SCRAM-SHA-256', Buffer.alloc(32, 2)),
  )
})

test('a nonce of another exchange ends it', () => {
  const exchange = new Exchange(stage(user()))
  const client = new ScramClient(alice)
  const { message } = client.final(textOf(exchange.connect(client.first)))
  assert.equal(outcomeOf(exchange.auth(message.replace(/r=./, 'r=X'))), notAuthorized)
  assert.equal(outcomeOf(exchange.auth(message)), notAuthorized, 'an exchange cannot be repeated')
})

test('a nonce that the broker did not send is refused, also if all messages are signed with it', () => {
  const exchange = new Exchange(stage(user()))
  const client = new ScramClient(alice)
  const { message } = client.final(textOf(exchange.connect(client.first)), { nonce: 'fyko+d2lbbFgONRv9qkxdawL' })
  assert.equal(outcomeOf(exchange.auth(message)), notAuthorized)
})

test('a completed exchange accepts no more messages, and any invalid bytes end one', () => {
  const known = user()
  const access = { find: () => known, secret, iterations }
  const exchange = new ScramExchange('SCRAM-SHA-256', access)
  const client = new ScramClient(alice)
  const first = exchange.handleMessage(Buffer.from(client.first))
  assert.ok(first.step === 'goes-on')
  const last = Buffer.from(client.final(String(first.data)).message)
  assert.equal(exchange.handleMessage(last).step, 'done')
  assert.equal(exchange.handleMessage(last).step, 'failed')
  const bytes = fc.oneof(
    fc.uint8Array({ minLength: 1 }),
    fc.string({ minLength: 1 }).map((text) => Buffer.from(text)),
  )
  fc.assert(
    fc.property(bytes, bytes, (one, two) => {
      const fresh = new ScramExchange('SCRAM-SHA-256', access)
      assert.equal(fresh.handleMessage(one).step, 'failed')
      const begun = new ScramExchange('SCRAM-SHA-256', access)
      begun.handleMessage(Buffer.from(client.first))
      assert.equal(begun.handleMessage(two).step, 'failed')
    }),
  )
})

test('messages of one exchange are refused in another exchange', () => {
  const access = stage(user())
  const client = new ScramClient(alice)
  const { message } = client.final(textOf(new Exchange(access).connect(client.first)))
  const replay = new Exchange(access)
  replay.connect(client.first)
  assert.equal(outcomeOf(replay.auth(message)), notAuthorized)
})

test('a client that supports channel binding connects without it, one that requires it does not, and no message changes that within the exchange', () => {
  const access = stage(user())
  assert.equal(new Exchange(access).run({ ...alice, header: 'y,,' }).outcome, 'accepted')
  assert.equal(new Exchange(access).run({ ...alice, header: 'p=tls-unique,,' }).outcome, notAuthorized)
  const exchange = new Exchange(access)
  const client = new ScramClient({ ...alice, header: 'y,,' })
  const { message } = client.final(textOf(exchange.connect(client.first)), { binding: 'n,,' })
  assert.equal(outcomeOf(exchange.auth(message)), notAuthorized)
})

test('an authorization identity of another user is refused', () => {
  const access = stage(user())
  assert.equal(new Exchange(access).run({ ...alice, header: 'n,a=admin,' }).outcome, notAuthorized)
  assert.equal(new Exchange(access).run({ ...alice, header: 'n,a=alice,' }).outcome, 'accepted')
})

test('invalid messages end the exchange', () => {
  for (const first of [
    '',
    'n,,',
    'n,,n=alice',
    'n,,r=x,n=alice',
    'n,,n=al=ice,r=x',
    'n,,n=,r=x',
    'n,,m=x,n=alice,r=x',
    'n,,n=alice,r=x'.repeat(1_000),
    `n,,n=alice,r=${'x'.repeat(4_096)}`,
    'n,,n=a\0b,r=x',
  ]) {
    const decision = new Exchange(stage(user())).connect(first)
    assert.ok(first === '' ? decision.allowed === 'not-yet' : outcomeOf(decision) === notAuthorized, first.slice(0, 40))
  }
  for (const last of [undefined, '', 'c=biws', 'c=biws,r=x', 'c=biws,r=x,p=', 'c=biws,r=x,p=!!']) {
    const exchange = new Exchange(stage(user()))
    exchange.connect(new ScramClient(alice).first)
    assert.equal(outcomeOf(exchange.auth(last)), notAuthorized)
  }
})

test('a client that sends no authentication data with CONNECT gets AUTH', () => {
  const exchange = new Exchange(stage(user()))
  assert.deepEqual(exchange.connect(undefined), { allowed: 'not-yet', authenticationData: undefined })
  const client = new ScramClient(alice)
  const { message } = client.final(textOf(exchange.auth(client.first)))
  assert.equal(outcomeOf(exchange.auth(message)), 'accepted')
})

test('[MQTT5-4.12.0-1] the method is not offered if no user has credentials for it, nor if the chain does not include it', () => {
  assert.equal(outcomeOf(new Exchange(stage()).connect('n,,n=alice,r=x')), badAuthenticationMethod)
  assert.equal(outcomeOf(new Exchange(stage(user()), 'SCRAM-SHA-1').connect('n,,n=alice,r=x')), badAuthenticationMethod)
  const without = new AccessStage({ chain: ['password'], scram: { users: [user()], secret, iterations } })
  assert.equal(outcomeOf(new Exchange(without).connect('n,,n=alice,r=x')), badAuthenticationMethod)
})

test('[MQTT5-4.12.1-1] a connected client re-authenticates, and cannot change its identity', () => {
  const access = stage(user(), user({ username: 'bob' }))
  const exchange = new Exchange(access)
  assert.equal(exchange.run(alice).outcome, 'accepted')
  assert.deepEqual(exchange.run(alice, true), { outcome: 'accepted', isServerRight: true })
  assert.equal(exchange.run({ ...alice, username: 'bob' }, true).outcome, notAuthorized)
})

test('a step without a started exchange is refused', () => {
  assert.equal(outcomeOf(new Exchange(stage(user())).auth('c=biws,r=x,p=AAAA')), notAuthorized)
  assert.equal(outcomeOf(new Exchange(stage(user())).auth(new ScramClient(alice).first)), notAuthorized)
})

test('[MQTT5-4.12.0-5] an exchange continues with the method with which it began', () => {
  const exchange = new Exchange(stage(user()))
  const client = new ScramClient(alice)
  const { message } = client.final(textOf(exchange.connect(client.first)))
  assert.equal(outcomeOf(exchange.auth(message, false, 'SCRAM-SHA-512')), notAuthorized)
})

test('a changed or removed password is refused', () => {
  const access = stage(user())
  access.access.applyRecords({ put: [user({ password: 'new', algorithm: 'SCRAM-SHA-512' })], delete: [] })
  assert.equal(new Exchange(access).run(alice).outcome, notAuthorized)
  assert.equal(
    new Exchange(access, 'SCRAM-SHA-512').run({ ...alice, hash: 'sha512', password: 'new' }).outcome,
    'accepted',
  )
  access.access.applyRecords({ put: [user({ username: 'bob' })], delete: [{ kind: 'scram', username: 'alice' }] })
  assert.equal(
    new Exchange(access, 'SCRAM-SHA-512').run({ ...alice, hash: 'sha512', password: 'new' }).outcome,
    notAuthorized,
  )
})

test('a user with the other hash gets the same response as an unknown user', () => {
  const salt = Buffer.alloc(16, 7)
  const other = stage(user({ algorithm: 'SCRAM-SHA-512', salt }), user({ username: 'bob' }))
  assert.notEqual(saltOf(other, 'alice'), salt.toString('base64'))
  assert.equal(saltOf(other, 'alice'), saltOf(stage(user({ username: 'bob' })), 'alice'))
})

test('a stored user replaces the one of the configuration, and in its namespace one of that', () => {
  const access = new AccessStage({ scram: { users: [user({ password: 'set' })], secret, iterations } })
  const passes = (password: string): boolean => new Exchange(access).run({ ...alice, password }).outcome === 'accepted'
  assert.deepEqual([passes('set'), passes('secret')], [true, false])
  access.access.applyRecords({ put: [user()], delete: [] })
  assert.deepEqual([passes('set'), passes('secret')], [false, true])
  const inPlant = (password: string): boolean =>
    new Exchange(access, 'SCRAM-SHA-256', 'plant').run({ ...alice, password }).outcome === 'accepted'
  assert.deepEqual([inPlant('secret'), inPlant('inside')], [true, false])
  access.access.applyRecords({ put: [{ ...user({ password: 'inside' }), namespace: 'plant' }], delete: [] })
  assert.deepEqual([inPlant('secret'), inPlant('inside')], [false, true])
  assert.deepEqual([passes('secret'), passes('inside')], [true, false])
})

/** All messages but the last, which the returned function sends. */
function begin(access: AccessStage): () => AuthenticationResult {
  const exchange = new Exchange(access)
  const client = new ScramClient(alice)
  const { message } = client.final(textOf(exchange.connect(client.first)))
  return () => exchange.auth(message)
}

test('changes during an exchange apply at its end', () => {
  const access = stage(user(), user({ username: 'bob' }))
  const atDeletion = begin(access)
  access.access.applyRecords({ put: [], delete: [{ kind: 'scram', username: 'alice' }] })
  assert.equal(outcomeOf(atDeletion()), notAuthorized)
  access.access.applyRecords({ put: [user()], delete: [] })
  const atNewPassword = begin(access)
  access.access.applyRecords({ put: [user({ password: 'new' })], delete: [] })
  assert.equal(outcomeOf(atNewPassword()), notAuthorized)
  const raised = user({ salt: Buffer.alloc(16, 1) })
  access.access.applyRecords({ put: [raised], delete: [] })
  const [atRaise, atEnd] = [begin(access), begin(access)]
  access.access.applyRecords({ put: [{ ...raised, isSuperuser: true }], delete: [] })
  const decision = atRaise()
  assert.ok(decision.allowed === true && decision.identity?.isSuperuser === true)
  access.access.changeSettings({ ...access.settings, scram: undefined })
  assert.equal(outcomeOf(atEnd()), notAuthorized)
})

test('a user name with SCRAM credentials belongs to that user only, also where unauthenticated clients are accepted', () => {
  const made = new AccessStage({ scram: { users: [], secret, iterations }, allowAnonymous: true })
  made.access.applyRecords({ put: [user()], delete: [] })
  const { badUserNameOrPassword } = reasonCodes
  assert.equal(outcomeOf(made.decision({ username: 'alice' })), badUserNameOrPassword)
  assert.equal(outcomeOf(made.decision({ username: 'alice', password: 'secret' })), badUserNameOrPassword)
  assert.equal(outcomeOf(made.decision({ username: '\u00adalice' })), badUserNameOrPassword, 'with another spelling')
  assert.equal(outcomeOf(made.decision({ username: 'bob' })), 'accepted')
  assert.equal(outcomeOf(made.decision()), 'accepted')
})

test('no authenticator after SCRAM accepts a client with the name of a SCRAM user', async (context) => {
  const service = await HttpService.start(context)
  const made = new AccessStage({
    chain: ['password', 'scram', 'http'],
    scram: { users: [], secret, iterations },
    http: settingsFor({ authRequest: requestTo(service.url()) }),
  })
  context.after(() => made.access.close())
  made.access.applyRecords({
    put: [user(), { ...user({ username: 'bob' }), namespace: 'plant' }],
    delete: [],
  })
  const outcome = async (username: string, clientId = 'client'): Promise<unknown> =>
    outcomeOf(await made.authenticate({ clientId, username, password: 'any' }))
  assert.equal(await outcome('carol'), 'accepted')
  assert.equal(service.requests.length, 1)
  for (const name of ['alice', '\u00adalice']) assert.equal(await outcome(name), reasonCodes.badUserNameOrPassword)
  assert.equal(await outcome('bob', toNamespacedName('plant', 'client')), reasonCodes.badUserNameOrPassword)
  assert.equal(service.requests.length, 1, 'the service is not asked')
  assert.match(made.logText, /scram: the user name belongs to a SCRAM user/)
  assert.equal(await outcome('bob'), 'accepted', 'the SCRAM user of another namespace')
  // The password of the broker comes earlier in the chain.
  made.access.applyRecords({ put: [credential('username', 'alice', 'plain')], delete: [] })
  assert.equal(outcomeOf(await made.authenticate({ username: 'alice', password: 'plain' })), 'accepted')
})

test('the password of a client ID does not authenticate a SCRAM user', () => {
  const made = stage(user())
  made.access.applyRecords({ put: [credential('clientid', 'client', 'one')], delete: [] })
  const usernameOf = (username: string): string | undefined => {
    const decision = made.decision({ username, password: 'one' })
    assert.ok(decision.allowed === true)
    return decision.identity?.username
  }
  assert.equal(usernameOf('alice'), undefined)
  assert.equal(usernameOf('bob'), 'bob')
})
