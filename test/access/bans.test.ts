// Refused clients, and the duration of bans.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defaultFlappingConfig } from '../../src/config/index.ts'
import { Connection } from '../../src/core/index.ts'
import type { BanSubject } from '../../src/access/bans/ban-list.ts'
import { Bans } from '../../src/access/bans/bans.ts'
import type { BanRecord } from '../../src/records/index.ts'

function ban(as: BanRecord['as'], who: string, untilMs?: number): BanRecord {
  return { kind: 'ban', as, who, reason: 'a test', by: 'user', atMs: 0, untilMs }
}

function bansWith(...put: BanRecord[]): Bans {
  const bans = new Bans(defaultFlappingConfig)
  bans.applyRecords({ put, delete: [] })
  return bans
}

const client = { clientId: 'c', username: 'u', peerAddress: '10.0.0.7' }

describe('a ban', () => {
  test('applies to a client ID, a user name or an address', () => {
    assert.equal(bansWith().find(client, 1), undefined)
    for (const record of [ban('clientid', 'c'), ban('username', 'u'), ban('peerhost', '10.0.0.7')]) {
      assert.equal(bansWith(record).find(client, 1), record)
    }
    const others = [ban('clientid', 'u'), ban('username', 'c'), ban('peerhost', '10.0.0.8')]
    assert.equal(bansWith(...others).find(client, 1), undefined)
  })

  test('of an address applies to every spelling of it, and a range to all its addresses', () => {
    const spelled = { ...client, peerAddress: '::ffff:10.0.0.7' }
    assert.ok(bansWith(ban('peerhost', '10.0.0.7')).find(spelled, 1))
    assert.ok(bansWith(ban('peerhost', '::ffff:a00:7')).find(client, 1))
    assert.ok(bansWith(ban('peerhost', '10.0.0.0/8')).find(spelled, 1))
    assert.ok(bansWith(ban('peerhost', '2001:db8::/32')).find({ ...client, peerAddress: '2001:DB8::1' }, 1))
    assert.equal(bansWith(ban('peerhost', '10.1.0.0/16')).find(client, 1), undefined)
  })

  test('of a namespace applies to that one, and one without a namespace to all', () => {
    const ofPlant = { ...ban('username', 'u'), namespace: 'plant' }
    const inside = { ...client, namespace: 'plant' }
    assert.equal(bansWith(ofPlant).find(inside, 1), ofPlant)
    assert.equal(bansWith(ofPlant).find(client, 1), undefined)
    assert.equal(bansWith(ofPlant).find({ ...client, namespace: 'shop' }, 1), undefined)
    assert.ok(bansWith(ban('clientid', 'c')).find(inside, 1))
    const bans = bansWith(ofPlant)
    bans.applyRecords({ put: [], delete: [{ kind: 'ban', namespace: 'plant', as: 'username', who: 'u' }] })
    assert.equal(bans.find(inside, 1), undefined)
  })

  test('expires', () => {
    for (const record of [
      ban('clientid', 'c', 100),
      ban('peerhost', '10.0.0.7', 100),
      ban('peerhost', '10.0.0.0/8', 100),
    ]) {
      const bans = bansWith(record)
      assert.equal(bans.find(client, 99), record)
      assert.equal(bans.find(client, 100), undefined)
    }
  })

  test('is removed with its key, whatever the spelling', () => {
    const bans = bansWith(ban('clientid', 'c'), ban('peerhost', '10.0.0.7'), ban('peerhost', '10.0.0.0/8'))
    bans.applyRecords({
      put: [],
      delete: [
        { kind: 'ban', as: 'clientid', who: 'c' },
        { kind: 'ban', as: 'peerhost', who: '::ffff:10.0.0.7' },
        { kind: 'ban', as: 'peerhost', who: '10.9.9.9/8' },
      ],
    })
    assert.equal(bans.find(client, 1), undefined)
  })

  test('that is added or removed changes which clients may connect, and other records do not', () => {
    const bans = new Bans(defaultFlappingConfig)
    const username = { kind: 'scram', username: 'u' } as const
    assert.equal(bans.applyRecords({ put: [ban('clientid', 'c')], delete: [] }), true)
    assert.equal(bans.applyRecords({ put: [], delete: [{ kind: 'ban', as: 'clientid', who: 'c' }] }), true)
    assert.equal(bans.applyRecords({ put: [], delete: [username] }), false)
  })

  test('of a malformed address bans no client', () => {
    const bans = bansWith(ban('peerhost', 'everybody'))
    assert.equal(bans.find(client, 1), undefined)
    assert.equal(bans.find({ ...client, peerAddress: 'everybody' }, 1), undefined)
    assert.equal(bans.find({ ...client, peerAddress: '' }, 1), undefined)
  })
})

const settings = { isEnabled: true, maxCount: 3, windowMs: 1_000, banMs: 5_000 }

function connectAndDisconnect(
  bans: Bans,
  clientId: string,
  nowMs: number,
  subject: Partial<Pick<BanSubject, 'namespace' | 'username' | 'peerAddress'>> = {},
): BanRecord | undefined {
  const { namespace, username, peerAddress } = { namespace: undefined, ...client, ...subject }
  const connection = new Connection({}, { name: 'l', isLoopback: true }, peerAddress)
  bans.recordConnect(connection, { clientId, namespace, username, peerAddress })
  return bans.recordDisconnect(connection, nowMs)
}

describe('a client that reconnects often', () => {
  test('too often within the window is banned for a time, and others are not', () => {
    const bans = new Bans(settings)
    assert.equal(connectAndDisconnect(bans, 'c', 0), undefined)
    assert.equal(connectAndDisconnect(bans, 'c', 500), undefined)
    const made = connectAndDisconnect(bans, 'c', 999)
    assert.deepEqual([made?.by, made?.untilMs], ['flapping detector', 5_999])
    assert.equal(bans.find(client, 5_998), made)
    assert.equal(bans.find({ ...client, clientId: 'd' }, 5_998), undefined)
    assert.equal(bans.find({ ...client, namespace: 'plant' }, 5_998), undefined)
    assert.equal(bans.find(client, 5_999), undefined)
  })

  test('and uses the client ID of another user, or another address, does not cause a ban of that user', () => {
    const bans = new Bans(settings)
    const attacker = { username: 'mallory', peerAddress: '10.0.0.66' }
    for (let time = 0; time < 3; time++) connectAndDisconnect(bans, 'c', time, attacker)
    assert.equal(
      bans.find({ ...client, clientId: 'c', ...attacker }, 10)?.reason,
      'it connected and disconnected too often as user "mallory" from 10.0.0.66',
    )
    assert.equal(bans.find({ ...client, clientId: 'c' }, 10), undefined)
    assert.equal(bans.find({ ...client, clientId: 'c', username: 'mallory' }, 10), undefined, 'from another address')
    // An administrator who removes the ban of a client ID removes it for all of them.
    bans.applyRecords({ put: [], delete: [{ kind: 'ban', as: 'clientid', who: 'c' }] })
    assert.equal(bans.find({ ...client, clientId: 'c', ...attacker }, 10), undefined)
  })

  test('because another identity took over its client ID is not counted', () => {
    const bans = new Bans(settings)
    for (let time = 0; time < 10; time++) {
      const connection = new Connection({}, { name: 'l', isLoopback: true }, client.peerAddress)
      bans.recordConnect(connection, { ...client, clientId: 'c' })
      connection.wasDisplaced = true
      assert.equal(bans.recordDisconnect(connection, time), undefined)
    }
  })

  test('slowly is not banned', () => {
    const bans = new Bans(settings)
    for (let time = 0; time < 100_000; time += 500) assert.equal(connectAndDisconnect(bans, 'c', time), undefined)
  })

  test('that was never accepted is not counted: a client cannot ban another by using its name', () => {
    const bans = new Bans(settings)
    for (let index = 0; index < 100; index++) {
      assert.equal(
        bans.recordDisconnect(new Connection({}, { name: 'l', isLoopback: true }, '10.0.0.7'), index),
        undefined,
      )
    }
    assert.equal(bans.find(client, 100), undefined)
  })

  test('is not counted unless flapping detection is on', () => {
    const bans = new Bans(defaultFlappingConfig)
    for (let index = 0; index < 100; index++) assert.equal(connectAndDisconnect(bans, 'c', index), undefined)
  })

  test('is counted with many others in limited memory: the oldest entry is removed first', () => {
    const bans = new Bans(settings)
    connectAndDisconnect(bans, 'first', 0)
    connectAndDisconnect(bans, 'first', 1)
    for (let index = 0; index < 10_000; index++) connectAndDisconnect(bans, `other-${index}`, 2)
    assert.equal(connectAndDisconnect(bans, 'first', 3), undefined)
    connectAndDisconnect(bans, 'other-9999', 4)
    assert.ok(connectAndDisconnect(bans, 'other-9999', 5))
  })

  test('is accepted when an administrator deletes its ban, or when flapping detection is turned off', () => {
    for (const lift of [
      (bans: Bans) => bans.applyRecords({ put: [], delete: [{ kind: 'ban', as: 'clientid', who: 'c' }] }),
      (bans: Bans) => bans.changeSettings(defaultFlappingConfig),
    ]) {
      const bans = new Bans(settings)
      for (let index = 0; index < 3; index++) connectAndDisconnect(bans, 'c', index)
      assert.ok(bans.find(client, 10))
      lift(bans)
      assert.equal(bans.find(client, 10), undefined)
    }
  })

  test('stays banned when the limit changes, and when another ban is deleted', () => {
    const bans = new Bans(settings)
    for (let index = 0; index < 3; index++) connectAndDisconnect(bans, 'c', index)
    bans.changeSettings({ ...settings, maxCount: 4 })
    bans.applyRecords({ put: [], delete: [{ kind: 'ban', as: 'username', who: 'c' }] })
    assert.ok(bans.find(client, 10))
  })

  test('is listed with the other bans, in its own namespace and until its ban expires', () => {
    const bans = new Bans({ ...settings, maxCount: 1 })
    const [first, second] = [connectAndDisconnect(bans, 'c', 0), connectAndDisconnect(bans, 'd', 1)]
    const inside = connectAndDisconnect(bans, 'c', 2, { namespace: 'plant' })
    assert.deepEqual(bans.listFlappingBans(undefined, 10), [first, second])
    assert.deepEqual(bans.listFlappingBans('plant', 10), [inside])
    assert.deepEqual(bans.listFlappingBans(undefined, 5_000), [second])
  })

  test('has one disconnect counted for each connection, and none for connections that opened before counting started', () => {
    const bans = new Bans(defaultFlappingConfig)
    const early = new Connection({}, { name: 'l', isLoopback: true }, '10.0.0.7')
    bans.recordConnect(early, { ...client, clientId: 'c' })
    bans.changeSettings({ ...settings, maxCount: 2 })
    const connection = new Connection({}, { name: 'l', isLoopback: true }, '10.0.0.7')
    bans.recordConnect(connection, { ...client, clientId: 'c' })
    for (const gone of [early, connection, connection]) assert.equal(bans.recordDisconnect(gone, 0), undefined)
    assert.ok(connectAndDisconnect(bans, 'c', 1))
  })

  test('starts again at zero after its ban, and when the limit changes', () => {
    const bans = new Bans(settings)
    for (let index = 0; index < 3; index++) connectAndDisconnect(bans, 'c', index)
    bans.applyRecords({ put: [], delete: [{ kind: 'ban', as: 'clientid', who: 'c' }] })
    assert.deepEqual([connectAndDisconnect(bans, 'c', 3), connectAndDisconnect(bans, 'c', 4)], [undefined, undefined])
    bans.changeSettings({ ...settings, windowMs: 2_000 })
    assert.deepEqual([connectAndDisconnect(bans, 'c', 5), connectAndDisconnect(bans, 'c', 6)], [undefined, undefined])
    assert.ok(connectAndDisconnect(bans, 'c', 7))
  })

  test('stays counted when another setting is changed', () => {
    const bans = new Bans(settings)
    for (let index = 0; index < 2; index++) connectAndDisconnect(bans, 'c', index)
    bans.changeSettings({ ...settings })
    assert.ok(connectAndDisconnect(bans, 'c', 2))
  })

  test('whose window restarts is not the oldest of the counted clients', () => {
    const bans = new Bans(settings)
    connectAndDisconnect(bans, 'first', 0)
    for (let index = 0; index < 9_999; index++) connectAndDisconnect(bans, `other-${index}`, 1)
    connectAndDisconnect(bans, 'first', 2_000)
    connectAndDisconnect(bans, 'last', 2_001)
    assert.equal(connectAndDisconnect(bans, 'first', 2_002), undefined)
    assert.ok(connectAndDisconnect(bans, 'first', 2_003))
  })

  test('is banned with many others in bounded memory: the oldest ban is removed first', () => {
    const bans = new Bans({ ...settings, maxCount: 1 })
    for (let index = 0; index <= 10_000; index++) assert.ok(connectAndDisconnect(bans, `c${index}`, index))
    const isOut = (clientId: string): boolean => bans.find({ ...client, clientId }, 4_000) !== undefined
    assert.deepEqual(['c0', 'c5001', 'c10000'].map(isOut), [false, true, true])
  })
})
