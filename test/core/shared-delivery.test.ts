// The choice of a member of a shared group, and what happens to its messages when the member leaves.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World, type Client } from '../simulator/world.ts'
import { worldWith } from './denied-actions.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

function member(world: World, id: string, options: Parameters<World['connect']>[1] = {}): Client {
  const client = world.connect(id, options)
  client.subscribe('$share/g/a')
  return client
}

function publishMany(world: World, count: number, qos: 0 | 1 | 2 = 1): string[] {
  const payloads = Array.from({ length: count }, (_, index) => String(index))
  const author = world.connect('author')
  for (const payload of payloads) author.publish('a', payload, { qos })
  return payloads
}

const sorted = (payloads: readonly string[]): string[] => [...payloads].sort((a, b) => Number(a) - Number(b))

describe('a shared group', () => {
  for (const qos of [0, 1, 2] as const) {
    test(`sends messages of QoS ${qos} to its members in turn`, () => {
      const world = new World()
      const members = ['one', 'two', 'three'].map((id) => member(world, id))
      publishMany(world, 30, qos)
      assert.deepEqual(
        members.map(({ payloads }) => payloads.length),
        [10, 10, 10],
      )
    })
  }

  test('prefers members with free slots in their in-flight window to one that does not acknowledge', () => {
    const world = new World({ shards: 1 })
    const stuck = member(world, 'stuck', { receiveMaximum: 2 })
    stuck.acknowledges = false
    const working = member(world, 'working')
    const all = publishMany(world, 20)
    assert.equal(stuck.payloads.length, 2)
    assert.deepEqual(sorted([...stuck.payloads, ...working.payloads]), all)
  })

  test('prefers connected members', () => {
    const world = new World()
    member(world, 'away', { ...durable }).disconnect()
    const there = member(world, 'there')
    const all = publishMany(world, 10)
    assert.deepEqual(there.payloads, all)
  })

  test('stores messages for an offline member if none is connected', () => {
    const world = new World()
    const away = member(world, 'away', { ...durable })
    away.disconnect()
    const all = publishMany(world, 10)
    world.restart('power-loss')
    away.connect()
    assert.deepEqual(away.payloads, all)
  })

  test('skips full persistent sessions, and refuses a message if all are full', () => {
    const settings = { maxStoredMessages: 2, storedMessagesOverflow: 'reject-publish' } as const
    const world = new World({ shards: 1, settings })
    for (const id of ['one', 'two']) member(world, id, { ...durable }).disconnect()
    const author = world.connect('author')
    const codes = Array.from({ length: 5 }, () => author.publish('a', 'x', { qos: 1 }).reasonCode)
    assert.deepEqual(codes, [0, 0, 0, 0, reasonCodes.quotaExceeded])
  })

  test('moves a message to another offline member after the other sessions that it was stored for have acknowledged it', () => {
    const world = new World()
    // For two persistent sessions the payload is stored once, and deleted when both have acknowledged.
    for (const id of ['first', 'second']) world.connect(id, durable).subscribe('a')
    const away = member(world, 'away', { ...durable })
    const stuck = member(world, 'stuck')
    away.disconnect()
    stuck.acknowledges = false
    const all = publishMany(world, 5)
    assert.deepEqual(stuck.payloads, all)
    stuck.drop()
    away.connect()
    assert.deepEqual(sorted(away.payloads), all)
  })

  for (const how of ['its connection breaks', 'it sends DISCONNECT', 'it unsubscribes and disconnects'] as const) {
    test(`moves unacknowledged messages of a member to another when ${how}`, () => {
      const world = new World()
      const leaving = member(world, 'leaving', { receiveMaximum: 3 })
      leaving.acknowledges = false
      const all = publishMany(world, 10)
      assert.equal(leaving.payloads.length, 3)
      const staying = member(world, 'staying')
      if (how === 'it unsubscribes and disconnects') leaving.unsubscribe('$share/g/a')
      if (how === 'its connection breaks') leaving.drop()
      else leaving.disconnect()
      assert.deepEqual(staying.payloads, all, 'in order')
    })
  }

  test('moves QoS 1 from an offline member to another, and not again when it reconnects', () => {
    const world = new World()
    const leaving = member(world, 'leaving', { ...durable })
    leaving.acknowledges = false
    publishMany(world, 3)
    const staying = member(world, 'staying')
    leaving.drop()
    assert.deepEqual(staying.payloads, ['0', '1', '2'])
    leaving.acknowledges = true
    leaving.connect()
    assert.equal(leaving.messages.length, 3)
    assert.equal(world.records().filter(({ kind }) => kind === 'queued').length, 0)
  })

  test('sets DUP if a message returns to a member after another had it, also after a crash', () => {
    const world = new World()
    const first = member(world, 'first', { ...durable })
    first.acknowledges = false
    publishMany(world, 1)
    const second = member(world, 'second')
    second.acknowledges = false
    first.drop()
    assert.deepEqual(
      second.messages.map(({ dup }) => dup),
      [false],
      'it was never sent to this one',
    )
    second.drop()
    world.restart('power-loss')
    first.connect()
    assert.deepEqual(
      first.messages.map(({ dup }) => dup),
      [false, true],
    )
  })

  test('[MQTT-3.3.1-3] [MQTT5-3.3.1-3] a message that returns to a member has no DUP if that has started a new session since', () => {
    const world = new World()
    const first = member(world, 'first')
    first.acknowledges = false
    publishMany(world, 1)
    const second = member(world, 'second')
    second.acknowledges = false
    first.drop()
    const anew = member(world, 'first')
    second.drop()
    assert.deepEqual(
      anew.messages.map(({ dup }) => dup),
      [false],
    )
  })

  test('[MQTT-3.3.1-3] [MQTT5-3.3.1-3] a message has no DUP for the member that gets it after that (seed 1312699)', () => {
    const world = new World()
    const [first, second] = ['first', 'second'].map((id) => {
      const client = member(world, id, { ...durable })
      client.acknowledges = false
      client.drop()
      return client
    })
    first?.connect()
    publishMany(world, 1)
    second?.connect()
    first?.drop()
    first?.connect()
    second?.drop()
    assert.deepEqual(
      first?.messages.map(({ dup }) => dup),
      [false, true],
      'it has come back',
    )
    const third = member(world, 'third')
    third.acknowledges = false
    first?.drop()
    second?.connect()
    third.drop()
    assert.deepEqual(
      [third, second].map((client) => client?.messages.map(({ dup }) => dup)),
      [[false], [false, true]],
    )
  })

  test('an acknowledged message stays acknowledged, whichever client disconnects', () => {
    const world = new World()
    const members = ['one', 'two'].map((id) => member(world, id))
    publishMany(world, 10)
    for (const client of members) client.drop()
    const late = member(world, 'late')
    assert.deepEqual(late.payloads, [])
  })

  test('a client that leaves the group by UNSUBSCRIBE gets no further messages', () => {
    const world = new World()
    const leaving = member(world, 'leaving')
    const staying = member(world, 'staying')
    leaving.unsubscribe('$share/g/a')
    const all = publishMany(world, 4)
    assert.deepEqual(leaving.payloads, [])
    assert.deepEqual(staying.payloads, all)
  })

  test('a shared subscription and another subscription with the same filter are independent', () => {
    const world = new World()
    const client = world.connect('both')
    client.subscribe(['a', '$share/g/a'])
    client.unsubscribe('$share/g/a')
    world.publish('a', '1')
    client.subscribe('$share/g/a')
    client.unsubscribe('a')
    world.publish('a', '2')
    client.unsubscribe('$share/g/a')
    world.publish('a', '3')
    assert.deepEqual(client.payloads, ['1', '2'])
  })
})

describe('a message of a shared subscription in a session that is only on disk', () => {
  for (const shards of [1, 3]) {
    for (const qos of [1, 2] as const) {
      test(`goes to another member if its client connects and is denied it (QoS ${qos}, shards: ${shards})`, () => {
        const { world } = worldWith([{ action: 'receive', clientId: 'denied', topic: 'a' }], { shards })
        const [denied, heir] = ['denied', 'heir'].map((id) => world.connect(id, durable))
        for (const client of [denied, heir]) {
          client.subscribe('$share/g/a')
          client.drop()
        }
        world.restart('power-loss')
        const author = world.connect('author')
        const all = Array.from({ length: 10 }, (_, number) => `${number}`)
        for (const payload of all) assert.equal(author.publish('a', payload, { qos }).isComplete, true)
        denied.connect()
        heir.connect()
        assert.deepEqual(denied.payloads, [])
        assert.deepEqual(heir.payloads.toSorted(), all)
      })
    }
  }

  for (const [what, isOld] of [
    ['and a message of another subscription of the client does not go to the group', false],
    [
      'does not go to the group if an old record does not name its subscription, and another subscription may have matched',
      true,
    ],
  ] as const) {
    test(what, () => {
      const { world } = worldWith([{ action: 'receive', clientId: 'denied', topic: 'a' }])
      const [denied, heir] = ['denied', 'heir'].map((id) => world.connect(id, durable))
      denied.subscribe(['$share/g/a', '+'])
      denied.drop()
      world.restart('power-loss')
      world.publish('a', 'x', { qos: 1 })
      const queued = world.records().filter((record) => record.kind === 'queued')
      assert.deepEqual(new Set(queued.map(({ sharedFilter }) => sharedFilter)), new Set(['$share/g/a', undefined]))
      if (isOld) {
        world.crash('kill')
        const withoutFilter = queued.map((record) => ({ ...record, sharedFilter: undefined }))
        void world.recordStore.apply(withoutFilter.map((record) => ({ change: 'put', record })))
        world.start()
      }
      heir.connect()
      heir.subscribe('$share/g/a')
      denied.connect()
      assert.deepEqual([denied.payloads, heir.payloads], [[], isOld ? [] : ['x']])
    })
  }
})
