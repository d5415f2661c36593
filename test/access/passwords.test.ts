// Stored passwords of users and of clients, and the handling of unknown users.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { hashPassword, isPassword } from '../../src/access/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { AccessStage, credential, outcomeOf, settingsWith, type RequestOptions } from './stage.ts'
import { fc } from '../properties.ts'

const algorithms = ['plain', 'md5', 'sha', 'sha256', 'sha512'] as const
const saltPositions = ['prefix', 'suffix'] as const
const { badUserNameOrPassword, notAuthorized } = reasonCodes

function stageWith(...records: ReturnType<typeof credential>[]): AccessStage {
  const stage = new AccessStage()
  stage.access.applyRecords({ put: records, delete: [] })
  return stage
}

const outcome = (stage: AccessStage, options: RequestOptions) => outcomeOf(stage.decision(options))

test('a hashed password is accepted, and no other one, with every hash method', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.constantFrom(...algorithms),
      fc.constantFrom(...saltPositions),
      (password, other, algorithm, saltPosition) => {
        const record = hashPassword(password, { algorithm, saltPosition })
        assert.ok(isPassword(Buffer.from(password), record))
        assert.equal(isPassword(Buffer.from(other), record), password === other)
      },
    ),
  )
})

test('the salt is before or after the password, as the record says', () => {
  const salt = Buffer.from([1, 2, 3, 4])
  for (const [saltPosition, text] of [
    ['prefix', '\x01\x02\x03\x04secret'],
    ['suffix', 'secret\x01\x02\x03\x04'],
  ] as const) {
    const hash = createHash('sha256').update(text).digest()
    assert.ok(isPassword(Buffer.from('secret'), { algorithm: 'sha256', saltPosition, salt, hash }))
  }
})

test('equal passwords have different stored hashes', () => {
  assert.notDeepEqual(hashPassword('secret').hash, hashPassword('secret').hash)
})

test('a damaged hash matches no password', () => {
  const record = { ...hashPassword('secret'), hash: new Uint8Array(3) }
  assert.equal(isPassword(Buffer.from('secret'), record), false)
})

test('a client with a stored user name needs the password of that user name', () => {
  const stage = stageWith(credential('username', 'alice', 'secret'))
  assert.equal(outcome(stage, { username: 'alice', password: 'secret' }), 'accepted')
  assert.equal(outcome(stage, { username: 'alice', password: 'Secret' }), badUserNameOrPassword)
  assert.equal(outcome(stage, { username: 'alice' }), badUserNameOrPassword)
})

test('a client with a stored client ID needs the password of that client ID, with or without a user name', () => {
  const stage = stageWith(credential('clientid', 'pump-7', 'secret'))
  assert.equal(outcome(stage, { clientId: 'pump-7', password: 'secret' }), 'accepted')
  assert.equal(outcome(stage, { clientId: 'pump-7', username: 'anyone', password: 'secret' }), 'accepted')
  assert.equal(outcome(stage, { clientId: 'pump-7', password: 'wrong' }), badUserNameOrPassword)
  // A client ID is not a user name.
  assert.equal(outcome(stage, { username: 'pump-7', password: 'secret' }), badUserNameOrPassword)
})

test('if both are stored, either password is accepted', () => {
  const stage = stageWith(credential('clientid', 'pump-7', 'one'), credential('username', 'alice', 'two'))
  const client = { clientId: 'pump-7', username: 'alice' }
  assert.equal(outcome(stage, { ...client, password: 'one' }), 'accepted')
  assert.equal(outcome(stage, { ...client, password: 'two' }), 'accepted')
  assert.equal(outcome(stage, { ...client, password: 'three' }), badUserNameOrPassword)
})

/** Undefined: the client is refused, or has no user name. */
function usernameOf(stage: AccessStage, options: RequestOptions): string | undefined {
  const decision = stage.decision(options)
  return decision.allowed === true ? decision.identity?.username : undefined
}

test('the password of a client ID does not authenticate a user that has another password', () => {
  const stage = stageWith(credential('clientid', 'pump-7', 'one'), credential('username', 'alice', 'two'))
  const client = { clientId: 'pump-7', username: 'alice' }
  assert.equal(outcome(stage, { ...client, password: 'one' }), 'accepted')
  assert.equal(usernameOf(stage, { ...client, password: 'one' }), undefined)
  assert.equal(usernameOf(stage, { ...client, password: 'two' }), 'alice')
  assert.equal(usernameOf(stage, { ...client, username: 'nobody', password: 'one' }), 'nobody')
  const certified = { ...client, password: 'one', origin: { username: 'alice' } }
  assert.equal(usernameOf(stage, certified), 'alice', 'from its certificate')
})

test('a stored password must match even where unauthenticated clients are accepted', () => {
  const stage = new AccessStage({ allowAnonymous: true })
  stage.access.applyRecords({ put: [credential('username', 'alice', 'secret')], delete: [] })
  assert.equal(outcome(stage, { username: 'alice', password: 'wrong' }), badUserNameOrPassword)
  assert.equal(outcome(stage, { username: 'bob', password: 'whatever' }), 'accepted')
  assert.equal(outcome(stage, {}), 'accepted')
})

test('an unknown user name gets the same response as a wrong password', () => {
  const stage = stageWith(credential('username', 'alice', 'secret'))
  const known = stage.decision({ username: 'alice', password: 'wrong' })
  const unknown = stage.decision({ username: 'bob', password: 'wrong' })
  assert.deepEqual(known, unknown)
})

test('a removed credential is refused at once, and a new password is accepted at once', () => {
  const stage = stageWith(credential('username', 'alice', 'old'))
  stage.access.applyRecords({ put: [credential('username', 'alice', 'new')], delete: [] })
  assert.equal(outcome(stage, { username: 'alice', password: 'old' }), badUserNameOrPassword)
  assert.equal(outcome(stage, { username: 'alice', password: 'new' }), 'accepted')
  stage.access.applyRecords({ put: [], delete: [{ kind: 'credential', by: 'username', id: 'alice' }] })
  assert.equal(
    outcome(stage, { username: 'alice', password: 'new', isLoopback: true }),
    'accepted',
    'the client is accepted without credentials',
  )
  assert.equal(outcome(stage, { username: 'alice', password: 'new' }), badUserNameOrPassword)
})

test('a stored password replaces the one in the configuration', () => {
  const stage = new AccessStage({ credentials: [credential('username', 'alice', 'configured')] })
  assert.equal(outcome(stage, { username: 'alice', password: 'configured' }), 'accepted')
  stage.access.applyRecords({ put: [credential('username', 'alice', 'changed')], delete: [] })
  assert.equal(outcome(stage, { username: 'alice', password: 'configured' }), badUserNameOrPassword)
  assert.equal(outcome(stage, { username: 'alice', password: 'changed' }), 'accepted')
})

test('new settings apply to the next client, and stored users stay', () => {
  const stage = stageWith(credential('username', 'alice', 'secret'))
  stage.access.changeSettings(settingsWith({ credentials: [credential('username', 'bob', 'secret')] }))
  assert.equal(outcome(stage, { username: 'alice', password: 'secret' }), 'accepted')
  assert.equal(outcome(stage, { username: 'bob', password: 'secret' }), 'accepted')
})

test('the core gets the superuser flag and the address of a client', () => {
  const stage = stageWith(credential('username', 'root', 'secret', { isSuperuser: true }))
  const decision = stage.decision({ username: 'root', password: 'secret' })
  assert.deepEqual(decision.allowed === true && decision.identity, {
    namespace: undefined,
    clientId: 'client',
    username: 'root',
    peerAddress: '192.0.2.7',
    principal: 'user:root',
    isSuperuser: true,
    expiresAtMs: undefined,
    grants: undefined,
    attributes: undefined,
    authenticatedBy: 'password',
  })
})

test('anonymous clients are accepted on loopback by default; the setting accepts them everywhere or nowhere', () => {
  for (const [profile, allowAnonymous, isLoopback, expected] of [
    ['hardened', undefined, true, 'accepted'],
    ['hardened', undefined, false, notAuthorized],
    ['hardened', true, false, 'accepted'],
    ['hardened', false, true, notAuthorized],
    ['legacy', undefined, false, 'accepted'],
    ['legacy', false, true, notAuthorized],
  ] as const) {
    const stage = new AccessStage({ profile, allowAnonymous })
    assert.equal(outcome(stage, { isLoopback }), expected, `${profile} ${allowAnonymous} ${isLoopback}`)
  }
})

test('a configured chain without users refuses every client; under the legacy profile it is skipped', () => {
  for (const [profile, expected] of [
    ['hardened', notAuthorized],
    ['legacy', 'accepted'],
  ] as const) {
    const stage = new AccessStage({ profile, chain: [], isChainConfigured: true, allowAnonymous: true })
    assert.equal(outcome(stage, { isLoopback: true }), expected)
  }
})

test('the log has the reason of a refusal, and neither the log nor the client gets the password', () => {
  const stage = stageWith(credential('username', 'alice', 'secret'))
  const decision = stage.decision({ username: 'alice', password: 'hunter2' })
  assert.match(stage.logText, /password: the password is wrong/)
  assert.doesNotMatch(stage.logText + JSON.stringify(decision), /hunter2|secret/)
  assert.ok(decision.allowed === false && decision.reasonString === 'the user name or the password is not right')
})

test('[MQTT5-4.12.0-1] an unknown authentication method is refused with that reason', () => {
  const stage = new AccessStage({ allowAnonymous: true })
  assert.equal(outcome(stage, { authenticationMethod: 'KERBEROS' }), reasonCodes.badAuthenticationMethod)
})

test('a credential of a namespace applies to its clients, and hides those with its name elsewhere', () => {
  const ofPlant = { ...credential('username', 'alice', 'of the plant'), namespace: 'plant' }
  const stage = stageWith(
    credential('username', 'alice', 'without namespace'),
    ofPlant,
    credential('username', 'bob', 'b'),
  )
  const by = (clientId: string, username: string, password: string) => outcome(stage, { clientId, username, password })
  assert.equal(by('plant\0c', 'alice', 'of the plant'), 'accepted')
  assert.equal(by('plant\0c', 'alice', 'without namespace'), badUserNameOrPassword)
  for (const session of ['c', 'shop\0c']) {
    assert.equal(by(session, 'alice', 'without namespace'), 'accepted')
    assert.equal(by(session, 'alice', 'of the plant'), badUserNameOrPassword)
  }
  // A user that is not in the lists of the namespace is looked up in those of all namespaces.
  assert.equal(by('plant\0c', 'bob', 'b'), 'accepted')
  stage.access.applyRecords({
    put: [],
    delete: [{ kind: 'credential', namespace: 'plant', by: 'username', id: 'alice' }],
  })
  assert.equal(by('plant\0c', 'alice', 'without namespace'), 'accepted')
})

test('a client of a namespace has its own client ID there', () => {
  const decision = stageWith().decision({ clientId: 'plant\0c', isLoopback: true })
  assert.ok(decision.allowed === true)
  assert.deepEqual([decision.identity?.namespace, decision.identity?.clientId], ['plant', 'c'])
})
