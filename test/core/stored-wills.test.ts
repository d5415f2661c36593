// Large wills are on disk only: they are read when they are published.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { MemoryRecordStore } from '../simulator/record-store.ts'
import { World, type Client, type ConnectOptions, type WorldOptions } from '../simulator/world.ts'

const settings = { maxWillBytesInMemory: 100 }
const stored = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
const large = 'gone '.repeat(200).trim()

function world(options: WorldOptions = {}): World {
  return new World({ ...options, settings: { ...settings, ...options.settings } })
}

function willWith(payload: string, willDelayIntervalSeconds = 0): NonNullable<ConnectOptions['will']> {
  return { topic: 'wills/author', payload, qos: 1, properties: { willDelayIntervalSeconds } }
}

/** The publisher is disconnected and its will is being read; it is not published yet. */
function cutWhileReadsAreHeld(author: Client, told: World): void {
  told.disk.holdReads()
  author.drop()
  told.settle()
}

const willRecords = (told: World): number => told.records().filter(({ kind }) => kind === 'will').length

describe('a large will', () => {
  test('leaves memory when its record is durable, is restored completely, and is then not counted', () => {
    const told = world()
    const mourner = told.subscriber('wills/#')
    told.disk.hold()
    const properties = { contentType: 'text', userProperties: [['a', 'b']] as [string, string][] }
    const author = told.client('author', { will: { ...willWith(large), properties }, ...stored })
    author.connect()
    assert.ok(told.heldBytes('wills') > large.length)
    told.disk.release()
    told.settle()
    assert.equal(author.isConnected, true)
    assert.ok(told.heldBytes('wills') > 0 && told.heldBytes('wills') < large.length)
    author.drop()
    assert.deepEqual(mourner.payloads, [large])
    assert.deepEqual(mourner.messages[0]?.properties?.userProperties, [['a', 'b']])
    assert.equal(mourner.messages[0]?.properties?.contentType, 'text')
    assert.equal(told.heldBytes('wills'), 0)
    assert.equal(willRecords(told), 0)
  })

  test('is not read at the start, and is published when it is due', () => {
    for (const session of [stored, { cleanStart: true }]) {
      const told = world()
      told.connect('author', { will: willWith(large, 5), ...session })
      told.restart()
      assert.ok(told.heldBytes('wills') > 0 && told.heldBytes('wills') < large.length)
      const mourner = told.subscriber('wills/#')
      told.passSeconds(6)
      assert.deepEqual(mourner.payloads, [large])
      assert.equal(told.heldBytes('wills'), 0)
      assert.equal(willRecords(told), 0)
    }
  })

  test('of an earlier version, under the client ID, is moved and read like others', () => {
    const told = world({ settings: { maxWillBytesInMemory: 10_000 } })
    const author = told.connect('author', { will: willWith(large, 5), ...stored })
    author.drop()
    told.changeSettings(settings)
    told.passSeconds(2)
    told.restart('graceful')
    told.settle()
    assert.ok(told.heldBytes('wills') < large.length)
    const mourner = told.subscriber('wills/#')
    told.passSeconds(2)
    assert.deepEqual(mourner.payloads, [])
    told.passSeconds(2)
    assert.deepEqual(mourner.payloads, [large])
  })

  test('is published before messages of the next connection of its client', () => {
    const told = world()
    const mourner = told.subscriber('wills/#')
    const will = { ...willWith(large), retain: true }
    const author = told.connect('author', { will, ...stored })
    cutWhileReadsAreHeld(author, told)
    author.connect({ will: undefined })
    assert.equal(author.isConnected, false)
    told.passSeconds(1)
    assert.equal(author.isConnected, false)
    told.disk.releaseReads()
    told.settle()
    assert.equal(author.isConnected, true)
    author.publish('wills/author', 'back', { qos: 1, retain: true })
    assert.deepEqual(mourner.payloads, [large, 'back'])
    assert.deepEqual(told.subscriber('wills/#').payloads, ['back'])
  })

  test('[MQTT5-3.1.4-3] of a connection that is taken over is published before the CONNACK of the next', () => {
    for (const cleanStart of [false, true]) {
      const told = world()
      const mourner = told.subscriber('wills/#')
      const author = told.connect('author', { will: willWith(large), ...stored })
      told.disk.holdReads()
      author.vanish()
      author.connect({ will: undefined, cleanStart })
      assert.equal(told.events('session-taken-over').length, 1)
      assert.equal(author.isConnected, false)
      told.disk.releaseReads()
      told.settle()
      assert.equal(author.isConnected, true)
      assert.equal(author.connack?.sessionPresent, !cleanStart)
      assert.deepEqual(mourner.payloads, [large])
      assert.equal(told.heldBytes('wills'), 0)
    }
  })

  test('CONNACK after a clean start waits until the end of the earlier session is durable', () => {
    const told = world()
    const author = told.connect('author', { will: willWith(large), ...stored })
    told.disk.holdReads()
    told.disk.hold()
    author.vanish()
    author.connect({ will: undefined, cleanStart: true, sessionExpirySeconds: 0 })
    assert.equal(told.events('session-ended').length, 1)
    told.disk.releaseReads()
    told.settle()
    assert.equal(author.isConnected, false)
    told.disk.release()
    told.settle()
    assert.equal(author.isConnected, true)
  })

  test('a client whose will cannot be read is refused after three seconds, and accepted after the read succeeds', () => {
    const told = world()
    const mourner = told.subscriber('wills/#')
    const author = told.connect('author', { will: willWith(large), ...stored })
    cutWhileReadsAreHeld(author, told)
    author.connect({ will: willWith(`${large}, again`) })
    told.passSeconds(4)
    assert.equal(author.connack?.reasonCode, reasonCodes.serverUnavailable)
    told.disk.releaseReads()
    told.settle()
    assert.deepEqual(mourner.payloads, [large])
    author.connect()
    assert.equal(author.isConnected, true)
    author.drop()
    assert.deepEqual(mourner.payloads, [large, `${large}, again`])
  })

  test('[MQTT5-3.14.4-3] is deleted by DISCONNECT 0x00, and is published after 0x04', () => {
    const told = world()
    const mourner = told.subscriber('wills/#')
    const author = told.connect('author', { will: willWith(large), ...stored })
    author.disconnect()
    told.passSeconds(1)
    assert.deepEqual(mourner.payloads, [])
    assert.equal(willRecords(told), 0)
    author.connect()
    author.disconnect({ reasonCode: reasonCodes.disconnectWithWill })
    assert.deepEqual(mourner.payloads, [large])
  })

  test('[MQTT5-3.1.3-9] with a delay is not published if its client reconnects in time, also after a restart', () => {
    for (const restarts of [false, true]) {
      const told = world()
      const author = told.connect('author', { will: willWith(large, 30), ...stored })
      author.drop()
      told.passSeconds(20)
      if (restarts) told.restart('graceful')
      const mourner = told.subscriber('wills/#')
      author.connect({ will: undefined })
      assert.equal(author.isConnected, true)
      told.passSeconds(60)
      assert.deepEqual(mourner.payloads, [])
      assert.equal(told.heldBytes('wills'), 0)
      assert.equal(willRecords(told), 0)
    }
  })

  test('is due after a restart when it was due before it', () => {
    const told = world()
    told.connect('author', { will: willWith(large, 30), ...stored }).drop()
    told.passSeconds(20)
    told.restart('graceful')
    const mourner = told.subscriber('wills/#')
    told.passSeconds(9)
    assert.deepEqual(mourner.payloads, [])
    told.passSeconds(2)
    assert.deepEqual(mourner.payloads, [large])
  })

  test('[MQTT5-3.1.3.2.2] of a session that ends is published, whatever new session begins with its client ID', () => {
    const told = world()
    const mourner = told.subscriber('wills/#')
    const author = told.connect('author', { will: willWith(large, 3_600), ...stored, sessionExpirySeconds: 10 })
    author.drop()
    told.disk.holdReads()
    told.passSeconds(11)
    assert.equal(told.events('session-ended').length, 1)
    assert.deepEqual(mourner.payloads, [])
    told.disk.releaseReads()
    told.settle()
    assert.deepEqual(mourner.payloads, [large])
    assert.equal(willRecords(told), 0)
  })

  test('that is being read when the broker crashes is published once at the next start', () => {
    for (const session of [stored, { cleanStart: true }]) {
      const told = world()
      const mourner = told.subscriber('wills/#', { qos: 1, ...stored })
      const author = told.connect('author', { will: willWith(large), ...session })
      cutWhileReadsAreHeld(author, told)
      told.passMs(10)
      told.disk.releaseReads()
      told.crash('kill')
      told.start()
      mourner.connect()
      told.passSeconds(1)
      assert.deepEqual(mourner.payloads, [large])
      told.restart()
      mourner.connect()
      told.passSeconds(1)
      assert.deepEqual(mourner.payloads, [large])
    }
  })

  test('a client that reconnects at once after such a crash does not cancel its will', () => {
    const told = world()
    const mourner = told.subscriber('wills/#', { qos: 1, ...stored })
    const author = told.connect('author', { will: willWith(large), ...stored })
    cutWhileReadsAreHeld(author, told)
    told.passMs(10)
    told.crash('kill')
    told.disk.releaseReads()
    told.start()
    author.connect({ will: undefined })
    mourner.connect()
    told.settle()
    assert.deepEqual(mourner.payloads, [large])
  })

  test('is published before the broker has stopped', () => {
    const told = world()
    told.subscriber('wills/#', { qos: 1, ...stored })
    told.connect('author', { will: willWith(large), ...stored })
    told.disk.holdReads()
    told.host.stop()
    told.passSeconds(1)
    assert.equal(told.host.isRunning, true)
    told.disk.releaseReads()
    told.passSeconds(10)
    assert.equal(told.host.isRunning, false)
    const queued = told.records().filter(({ kind }) => kind === 'queued')
    assert.equal(queued.length, 1)
    assert.equal(willRecords(told), 0)
  })

  test('of very many clients that are disconnected at once is read 128 at a time', () => {
    const recordStore = new MemoryRecordStore()
    let reads = 0
    const readMessage = recordStore.readMessage.bind(recordStore)
    recordStore.readMessage = (of) => {
      reads++
      return readMessage(of)
    }
    const told = world({ recordStore, shards: 1 })
    const mourner = told.connect('mourner', { ...stored, receiveMaximum: 1_000 })
    mourner.subscribe('wills/#', { qos: 1 })
    const authors = Array.from({ length: 300 }, (_, number) =>
      told.connect(`author-${number}`, { will: { ...willWith(`${large} ${number}`), topic: `wills/${number}` } }),
    )
    told.disk.hold()
    for (const author of authors) author.drop()
    assert.equal(reads, 128)
    assert.ok(told.heldBytes('wills') < 300 * 500)
    told.disk.release()
    told.settle()
    assert.equal(reads, 300)
    assert.equal(new Set(mourner.payloads).size, 300)
    assert.equal(willRecords(told), 0)
  })

  test('with a lost record delays no client', () => {
    const told = world()
    const mourner = told.subscriber('wills/#')
    const author = told.connect('author', { will: willWith(large), ...stored })
    for (const record of told.records())
      if (record.kind === 'will')
        void told.recordStore.apply([{ change: 'delete', key: { kind: 'will', clientId: record.clientId } }])
    author.drop()
    author.connect({ will: undefined })
    assert.equal(author.isConnected, true)
    assert.deepEqual(mourner.payloads, [])
    assert.equal(told.heldBytes('wills'), 0)
  })
})

test('a small will stays in memory and is published without a read', () => {
  const told = world()
  const mourner = told.subscriber('wills/#')
  told.disk.holdReads()
  told.connect('author', { will: willWith('gone'), ...stored }).drop()
  assert.deepEqual(mourner.payloads, ['gone'])
  assert.equal(told.heldBytes('wills'), 0)
})
