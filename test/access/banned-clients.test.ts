// Bans in use: at CONNECT, and for connected clients.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Identity } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import type { BanRecord } from '../../src/records/index.ts'
import { AccessStage, connectionFrom, credential, outcomeOf } from './stage.ts'

function ban(as: BanRecord['as'], who: string, untilMs?: number): BanRecord {
  return { kind: 'ban', as, who, reason: 'it was too loud', by: 'user', atMs: 0, untilMs }
}

const identity: Identity = {
  clientId: 'client',
  username: 'u',
  peerAddress: '192.0.2.7',
  isSuperuser: true,
  expiresAtMs: undefined,
  grants: undefined,
}

describe('a banned client', () => {
  const password = 'secret'

  for (const record of [ban('clientid', 'client'), ban('username', 'u'), ban('peerhost', '192.0.2.0/24')]) {
    test(`by ${record.as} is refused before its credentials are checked`, () => {
      const stage = new AccessStage({ allowAnonymous: true })
      stage.access.applyRecords({ put: [record, credential('username', 'u', password)], delete: [] })
      for (const shown of [password, 'wrong', undefined]) {
        assert.equal(outcomeOf(stage.decision({ username: 'u', password: shown })), reasonCodes.banned)
      }
      assert.match(stage.logText, /banned by user as .*it was too loud/)
      assert.doesNotMatch(stage.logText, /secret|wrong/)
    })
  }

  test('by the user name of its certificate is refused, whatever CONNECT contains', () => {
    const certificate = { commonName: 'u', subject: 'CN=u', serialNumber: '01', fingerprint: '', der: new Uint8Array() }
    const stage = new AccessStage({ chain: ['certificate'] })
    const shown = { username: 'nobody', origin: { certificate } }
    assert.equal(outcomeOf(stage.decision(shown)), 'accepted')
    stage.access.applyRecords({ put: [ban('username', 'u')], delete: [] })
    assert.equal(outcomeOf(stage.decision(shown)), reasonCodes.banned)
  })

  test('is accepted again when the ban has expired or was removed', () => {
    const stage = new AccessStage({ allowAnonymous: true })
    stage.access.applyRecords({ put: [ban('clientid', 'client', stage.nowMs + 1_000)], delete: [] })
    assert.equal(outcomeOf(stage.decision()), reasonCodes.banned)
    stage.nowMs += 1_000
    assert.equal(outcomeOf(stage.decision()), 'accepted')
    stage.access.applyRecords({ put: [ban('clientid', 'client')], delete: [] })
    assert.equal(outcomeOf(stage.decision()), reasonCodes.banned)
    stage.access.applyRecords({ put: [], delete: [{ kind: 'ban', as: 'clientid', who: 'client' }] })
    assert.equal(outcomeOf(stage.decision()), 'accepted')
  })

  test('is disconnected if it is connected, and the broker checks its connections', () => {
    const { access } = new AccessStage()
    const { permissions } = access
    assert.equal(permissions.canStay(identity), true)
    const before = permissions.epoch
    assert.equal(access.applyRecords({ put: [ban('username', 'u')], delete: [] }), true)
    assert.ok(permissions.epoch > before)
    assert.equal(permissions.canStay(identity), false)
    assert.equal(permissions.canStay({ ...identity, username: 'v' }), true)
  })

  test('is not affected by records of another kind', () => {
    const { access } = new AccessStage()
    assert.equal(access.applyRecords({ put: [credential('username', 'u', password)], delete: [] }), false)
  })
})

describe('a client that reconnects often', () => {
  test('is refused for a time, and the administrator is notified', () => {
    const stage = new AccessStage({
      allowAnonymous: true,
      flapping: { isEnabled: true, maxCount: 2, windowMs: 1_000, banMs: 5_000 },
    })
    for (let time = 0; time < 2; time++) {
      const connection = connectionFrom(false)
      assert.equal(outcomeOf(stage.decision({ connection })), 'accepted')
      stage.access.forget(connection)
    }
    assert.equal(outcomeOf(stage.decision()), reasonCodes.banned)
    assert.match(stage.logText, /client banned.*connected and disconnected too often/)
    stage.nowMs += 5_000
    assert.equal(outcomeOf(stage.decision()), 'accepted')
  })

  test('and is refused each time is not counted: a client cannot ban another by using its name', () => {
    const stage = new AccessStage({
      allowAnonymous: false,
      flapping: { isEnabled: true, maxCount: 2, windowMs: 1_000, banMs: 5_000 },
    })
    stage.access.applyRecords({ put: [credential('username', 'u', 'secret')], delete: [] })
    for (let time = 0; time < 10; time++) {
      const connection = connectionFrom(false)
      assert.equal(
        outcomeOf(stage.decision({ connection, username: 'u', password: 'x' })),
        reasonCodes.badUserNameOrPassword,
      )
      stage.access.forget(connection)
    }
    assert.equal(outcomeOf(stage.decision({ username: 'u', password: 'secret' })), 'accepted')
  })
})
