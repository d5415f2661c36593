// Sessions, queues and retained messages in databases of mosquitto of every format, intact and damaged.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { convertDatabase, type ImportedSession } from '../../lib/imports/index.ts'
import { InvalidArchive } from '../../src/archives/index.ts'
import { Random } from '../protocol/fuzz/random.ts'
import { databaseOf, type DatabaseContent } from './mosquitto-files.ts'

const nowMs = 1_700_000_000_000
const nowSeconds = nowMs / 1_000

const source = {
  mountpoints: new Map([[1_884, 'inside/']]),
  verifiesUsernames: true,
  isBridge: (clientId: string) => clientId.startsWith('local.'),
}

/** Payloads of the queued messages, in the order of their sequence numbers. */
function waiting({ queued }: ImportedSession): string[] {
  return queued.map(({ sequence, message }) => {
    assert.ok(typeof message === 'object')
    return `${sequence} ${Buffer.from(message.payload).toString()}`
  })
}

const common: DatabaseContent = {
  messages: [
    { id: 1, topic: 'a/1', payload: 'one' },
    { id: 2, topic: 'a/2', payload: 'two', qos: 2 },
    { id: 3, topic: 'a/3', payload: 'three', retain: true },
  ],
  clients: [{ clientId: 'sensor', disconnectedAtSeconds: nowSeconds - 60 }],
  queued: [
    { clientId: 'sensor', id: 1, packetId: 4, state: 3, isDup: true },
    { clientId: 'sensor', id: 2, packetId: 5, qos: 2, state: 5 },
    { clientId: 'sensor', id: 3 },
  ],
  subscriptions: [{ clientId: 'sensor', filter: 'a/+', qos: 2 }],
  retained: [3],
}

for (const format of [2, 3, 4, 5, 6]) {
  test(`the importer reads a session with its subscription and queue from format ${format}`, () => {
    const { value, skipped } = convertDatabase(databaseOf(format, common), nowMs, source)
    assert.deepEqual(skipped, [])
    assert.equal(value.retained.length, 1)
    assert.equal(value.retained[0]?.message.topic, 'a/3')
    const [session = assert.fail()] = value.sessions
    assert.equal(value.sessions.length, 1)
    assert.deepEqual(waiting(session), ['1 one', '2 two', '3 three'])
    const knowsTime = format === 3 || format === 4
    assert.equal(session.session.disconnectedAtMs, knowsTime ? nowMs - 60_000 : nowMs)
    assert.deepEqual([session.session.expirySeconds, session.session.sentBelow], [0xffffffff, 2])
    assert.deepEqual(session.outgoing, [
      { kind: 'outgoing', clientId: 'sensor', packetId: 5, sequence: 2, stage: 'sent' },
    ])
    assert.deepEqual(
      session.subscriptions.map(({ filter, qos }) => [filter, qos]),
      [['a/+', 2]],
    )
  })
}

test('the importer reads user name, mount point, expiry, subscription options and identifiers from format 6', () => {
  const { value, skipped } = convertDatabase(
    databaseOf(6, {
      messages: [{ id: 1, topic: 'inside/a', payload: 'x', expiresAtSeconds: nowSeconds + 90 }],
      clients: [
        { clientId: 'c', username: 'anna', port: 1_884, expirySeconds: 3_600, expiresAtSeconds: nowSeconds + 600 },
        { clientId: 'old', expirySeconds: 3_600, expiresAtSeconds: nowSeconds - 1 },
        { clientId: 'connected', expirySeconds: 0 },
        { clientId: 'local.host.north' },
        { clientId: '$bridge/north' },
      ],
      queued: [{ clientId: 'c', id: 1, identifiers: [7, 9] }],
      subscriptions: [
        { clientId: 'c', filter: 'inside/#', options: 0x0c, identifier: 7 },
        { clientId: 'c', filter: '$share/group/inside/a', identifier: 9 },
        { clientId: 'c', filter: 'a/#/b' },
      ],
    }),
    nowMs,
    source,
  )
  assert.deepEqual(skipped, [
    '1 sessions have expired, such as "old"',
    '1 sessions ended with their connection, such as "connected"',
    '1 sessions are of bridges of mosquitto, such as "local.host.north"',
    '1 sessions have client IDs that no client can have here, such as "$bridge/north"',
    '1 subscriptions have no valid filter, such as "a/#/b"',
  ])
  const [{ session, subscriptions, queued } = assert.fail()] = value.sessions
  const { username, principal, mountpoint, expirySeconds, disconnectedAtMs } = session
  assert.deepEqual([username, principal, mountpoint], ['anna', 'user:anna', 'inside/'])
  assert.deepEqual([expirySeconds, disconnectedAtMs], [3_600, nowMs - 3_000_000])
  assert.deepEqual(
    subscriptions.map(({ filter, noLocal, retainAsPublished, identifier }) => [
      filter,
      noLocal,
      retainAsPublished,
      identifier,
    ]),
    [
      ['inside/#', true, true, 7],
      ['$share/group/inside/a', false, false, 9],
    ],
  )
  assert.deepEqual(queued[0]?.subscriptionIdentifiers, [7, 9])
  assert.ok(typeof queued[0]?.message === 'object')
  assert.equal(queued[0].message.properties?.messageExpiryIntervalSeconds, 90)
})

test('a user name that mosquitto did not verify does not own the session', () => {
  const file = databaseOf(6, { clients: [{ clientId: 'c', username: 'anna' }] })
  const [imported = assert.fail()] = convertDatabase(file, nowMs).value.sessions
  assert.deepEqual([imported.session.username, imported.session.principal], ['anna', undefined])
})

test('QoS 2: a received message is only released, and an accepted one is queued once for each session with a matching subscription', () => {
  const { value, skipped } = convertDatabase(
    databaseOf(6, {
      messages: [
        { id: 1, topic: 'done', payload: 'received', qos: 2 },
        { id: 2, topic: 'new', payload: 'accepted', qos: 2, retain: true },
        { id: 3, topic: 'none', payload: 'of QoS 0', qos: 0 },
      ],
      clients: ['publisher', 'plain', 'low', 'one', 'two'].map((clientId) => ({ clientId })),
      queued: [
        { clientId: 'plain', id: 1, packetId: 8, qos: 2, state: 9 },
        { clientId: 'publisher', id: 2, packetId: 21, qos: 2, state: 7, isIncoming: true },
        { clientId: 'plain', id: 3, qos: 0 },
        { clientId: 'plain', id: 99 },
      ],
      subscriptions: [
        { clientId: 'publisher', filter: '#', qos: 2, options: 0x04 },
        { clientId: 'plain', filter: 'new', qos: 2 },
        { clientId: 'plain', filter: '+', qos: 1, identifier: 4 },
        { clientId: 'low', filter: '#', qos: 0 },
        { clientId: 'one', filter: '$share/g/new', qos: 1 },
        { clientId: 'two', filter: '$share/g/new', qos: 1 },
      ],
    }),
    nowMs,
  )
  const [publisher = assert.fail(), plain = assert.fail(), ...others] = value.sessions
  assert.deepEqual(publisher.incoming, [
    { kind: 'incoming', clientId: 'publisher', packetId: 21, assignments: undefined },
  ])
  assert.deepEqual(waiting(publisher), [], 'No Local')
  assert.deepEqual(plain.outgoing, [
    { kind: 'outgoing', clientId: 'plain', packetId: 8, sequence: 1, stage: 'received' },
  ])
  assert.deepEqual(waiting(plain), ['2 accepted'])
  assert.deepEqual([plain.queued[0]?.qos, plain.queued[0]?.subscriptionIdentifiers], [2, [4]])
  assert.deepEqual(others.map(waiting), [[], ['1 accepted'], []])
  assert.equal(others[1]?.queued[0]?.sharedFilter, '$share/g/new')
  assert.deepEqual(
    value.retained.map(({ message }) => message.topic),
    ['new'],
  )
  assert.deepEqual(skipped, [
    '1 queued messages have QoS 0, which this broker does not store for disconnected clients, such as "plain"',
    '1 queued messages have expired or are missing, such as "plain"',
  ])
})

/** Converts the database. The only accepted error is a refusal with a sentence. */
function convertBroken(file: Buffer): void {
  try {
    convertDatabase(file, nowMs, source)
  } catch (error) {
    assert.ok(error instanceof InvalidArchive, String((error as Error).stack))
    assert.match(error.message, /^[^\n\0]{10,200}$/)
  }
}

for (const format of [2, 3, 4, 5, 6]) {
  test(`a database of format ${format} that is truncated anywhere, or has any byte changed, is read, or refused with a sentence`, () => {
    const whole = databaseOf(format, common)
    for (let end = 0; end < whole.length; end++) {
      convertBroken(whole.subarray(0, end))
      for (const value of [0, 1, 0x7f, 0xff]) {
        const changed = Buffer.from(whole)
        changed[end] = value
        convertBroken(changed)
      }
    }
    const random = new Random(format)
    for (let round = 0; round < 2_000; round++) {
      const changed = Buffer.from(whole)
      for (let change = 0; change < 4; change++) changed[23 + random.below(whole.length - 23)] = random.below(256)
      convertBroken(changed)
    }
  })
}

test('the importer compares accepted messages with a limited number of subscriptions', () => {
  const numbers = Array.from({ length: 8_000 }, (_, index) => index + 1)
  const file = databaseOf(6, {
    messages: [{ id: 1, topic: 'a', payload: '', qos: 2 }],
    clients: [{ clientId: 'c' }],
    queued: numbers.map((packetId) => ({ clientId: 'c', id: 1, packetId, qos: 2, state: 7, isIncoming: true })),
    subscriptions: numbers.map((number) => ({ clientId: 'c', filter: `a/${number}` })),
  })
  assert.throws(() => convertDatabase(file, nowMs), /8000 messages of QoS 2 that were not published yet/)
})
