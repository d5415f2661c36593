// Large wills are on disk only: they are read when they are published.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { MemoryRecordStore } from '../simulator/record-store.ts'
import { World, type Client, type ConnectOptions, type WorldOptions } from '../simulator/world.ts'

const settings = { maxWillBytesInMemory: 100 }
const stored = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
const large = 'gone '.repeat(200).trim()

function createWorld(options: WorldOptions = {}): World {
  return new World({ ...options, settings: { ...settings, ...options.settings } })
}

function willWith(payload: string, willDelayIntervalSeconds = 0): NonNullable<ConnectOptions['will']> {
  return { topic: 'wills/author', payload, qos: 1, properties: { willDelayIntervalSeconds } }
}

/** The publisher is disconnected and its will is being read; it is not published yet. */
function cutWhileReadsAreHeld(author: Client, world: World): void {
  world.disk.holdReads()
  author.drop()
  world.settle()
}

const willRecords = (world: World): number => world.records().filter(({ kind }) => kind === 'will').length

describe('a large will', () => {
  test('leaves memory when its record is durable, is restored completely, and is then not counted', () => {
    const world = createWorld()
    const willSubscriber = world.subscriber('wills/#')
    world.disk.hold()
    const properties = { contentType: 'text', userProperties: [['a', 'b']] as [string, string][] }
    const author = world.client('author', { will: { ...willWith(large), properties }, ...stored })
    author.connect()
    assert.ok(world.heldBytes('wills') > large.length)
    world.disk.release()
    world.settle()
    assert.equal(author.isConnected, true)
    assert.ok(world.heldBytes('wills') > 0 && world.heldBytes('wills') < large.length)
    author.drop()
    assert.deepEqual(willSubscriber.payloads, [large])
    assert.deepEqual(willSubscriber.messages[0]?.properties?.userProperties, [['a', 'b']])
    assert.equal(willSubscriber.messages[0]?.properties?.contentType, 'text')
    assert.equal(world.heldBytes('wills'), 0)
    assert.equal(willRecords(world), 0)
  })

  test('is not read at the start, and is published when it is due', () => {
    for (const session of [stored, { cleanStart: true }]) {
      const world = createWorld()
      world.connect('author', { will: willWith(large, 5), ...session })
      world.restart()
      assert.ok(world.heldBytes('wills') > 0 && world.heldBytes('wills') < large.length)
      const willSubscriber = world.subscriber('wills/#')
      world.passSeconds(6)
      assert.deepEqual(willSubscriber.payloads, [large])
      assert.equal(world.heldBytes('wills'), 0)
      assert.equal(willRecords(world), 0)
    }
  })

  test('of an earlier version, under the client ID, is moved and read like others', () => {
    const world = createWorld({ settings: { maxWillBytesInMemory: 10_000 } })
    const author = world.connect('author', { will: willWith(large, 5), ...stored })
    author.drop()
    world.changeSettings(settings)
    world.passSeconds(2)
    world.restart('graceful')
    world.settle()
    assert.ok(world.heldBytes('wills') < large.length)
    const willSubscriber = world.subscriber('wills/#')
    world.passSeconds(2)
    assert.deepEqual(willSubscriber.payloads, [])
    world.passSeconds(2)
    assert.deepEqual(willSubscriber.payloads, [large])
  })

  test('is published before messages of the next connection of its client', () => {
    const world = createWorld()
    const willSubscriber = world.subscriber('wills/#')
    const will = { ...willWith(large), retain: true }
    const author = world.connect('author', { will, ...stored })
    cutWhileReadsAreHeld(author, world)
    author.connect({ will: undefined })
    assert.equal(author.isConnected, false)
    world.passSeconds(1)
    assert.equal(author.isConnected, false)
    world.disk.releaseReads()
    world.settle()
    assert.equal(author.isConnected, true)
    author.publish('wills/author', 'back', { qos: 1, retain: true })
    assert.deepEqual(willSubscriber.payloads, [large, 'back'])
    assert.deepEqual(world.subscriber('wills/#').payloads, ['back'])
  })

  test('[MQTT5-3.1.4-3] of a connection that is taken over is published before the CONNACK of the next', () => {
    for (const cleanStart of [false, true]) {
      const world = createWorld()
      const willSubscriber = world.subscriber('wills/#')
      const author = world.connect('author', { will: willWith(large), ...stored })
      world.disk.holdReads()
      author.vanish()
      author.connect({ will: undefined, cleanStart })
      assert.equal(world.events('session-taken-over').length, 1)
      assert.equal(author.isConnected, false)
      world.disk.releaseReads()
      world.settle()
      assert.equal(author.isConnected, true)
      assert.equal(author.connack?.sessionPresent, !cleanStart)
      assert.deepEqual(willSubscriber.payloads, [large])
      assert.equal(world.heldBytes('wills'), 0)
    }
  })

  test('CONNACK after a clean start waits until the end of the earlier session is durable', () => {
    const world = createWorld()
    const author = world.connect('author', { will: willWith(large), ...stored })
    world.disk.holdReads()
    world.disk.hold()
    author.vanish()
    author.connect({ will: undefined, cleanStart: true, sessionExpirySeconds: 0 })
    assert.equal(world.events('session-ended').length, 1)
    world.disk.releaseReads()
    world.settle()
    assert.equal(author.isConnected, false)
    world.disk.release()
    world.settle()
    assert.equal(author.isConnected, true)
  })

  test('a client whose will cannot be read is refused after three seconds, and accepted after the read succeeds', () => {
    const world = createWorld()
    const willSubscriber = world.subscriber('wills/#')
    const author = world.connect('author', { will: willWith(large), ...stored })
    cutWhileReadsAreHeld(author, world)
    author.connect({ will: willWith(`${large}, again`) })
    world.passSeconds(4)
    assert.equal(author.connack?.reasonCode, reasonCodes.serverUnavailable)
    world.disk.releaseReads()
    world.settle()
    assert.deepEqual(willSubscriber.payloads, [large])
    author.connect()
    assert.equal(author.isConnected, true)
    author.drop()
    assert.deepEqual(willSubscriber.payloads, [large, `${large}, again`])
  })

  test('[MQTT5-3.14.4-3] is deleted by DISCONNECT 0x00, and is published after 0x04', () => {
    const world = createWorld()
    const willSubscriber = world.subscriber('wills/#')
    const author = world.connect('author', { will: willWith(large), ...stored })
    author.disconnect()
    world.passSeconds(1)
    assert.deepEqual(willSubscriber.payloads, [])
    assert.equal(willRecords(world), 0)
    author.connect()
    author.disconnect({ reasonCode: reasonCodes.disconnectWithWill })
    assert.deepEqual(willSubscriber.payloads, [large])
  })

  test('[MQTT5-3.1.3-9] with a delay is not published if its client reconnects in time, also after a restart', () => {
    for (const restarts of [false, true]) {
      const world = createWorld()
      const author = world.connect('author', { will: willWith(large, 30), ...stored })
      author.drop()
      world.passSeconds(20)
      if (restarts) world.restart('graceful')
      const willSubscriber = world.subscriber('wills/#')
      author.connect({ will: undefined })
      assert.equal(author.isConnected, true)
      world.passSeconds(60)
      assert.deepEqual(willSubscriber.payloads, [])
      assert.equal(world.heldBytes('wills'), 0)
      assert.equal(willRecords(world), 0)
    }
  })

  test('is due after a restart when it was due before it', () => {
    const world = createWorld()
    world.connect('author', { will: willWith(large, 30), ...stored }).drop()
    world.passSeconds(20)
    world.restart('graceful')
    const willSubscriber = world.subscriber('wills/#')
    world.passSeconds(9)
    assert.deepEqual(willSubscriber.payloads, [])
    world.passSeconds(2)
    assert.deepEqual(willSubscriber.payloads, [large])
  })

  test('[MQTT5-3.1.3.2.2] of a session that ends is published, whatever new session begins with its client ID', () => {
    const world = createWorld()
    const willSubscriber = world.subscriber('wills/#')
    const author = world.connect('author', { will: willWith(large, 3_600), ...stored, sessionExpirySeconds: 10 })
    author.drop()
    world.disk.holdReads()
    world.passSeconds(11)
    assert.equal(world.events('session-ended').length, 1)
    assert.deepEqual(willSubscriber.payloads, [])
    world.disk.releaseReads()
    world.settle()
    assert.deepEqual(willSubscriber.payloads, [large])
    assert.equal(willRecords(world), 0)
  })

  test('that is being read when the broker crashes is published once at the next start', () => {
    for (const session of [stored, { cleanStart: true }]) {
      const world = createWorld()
      const willSubscriber = world.subscriber('wills/#', { qos: 1, ...stored })
      const author = world.connect('author', { will: willWith(large), ...session })
      cutWhileReadsAreHeld(author, world)
      world.passMs(10)
      world.disk.releaseReads()
      world.crash('kill')
      world.start()
      willSubscriber.connect()
      world.passSeconds(1)
      assert.deepEqual(willSubscriber.payloads, [large])
      world.restart()
      willSubscriber.connect()
      world.passSeconds(1)
      assert.deepEqual(willSubscriber.payloads, [large])
    }
  })

  test('a client that reconnects at once after such a crash does not cancel its will', () => {
    const world = createWorld()
    const willSubscriber = world.subscriber('wills/#', { qos: 1, ...stored })
    const author = world.connect('author', { will: willWith(large), ...stored })
    cutWhileReadsAreHeld(author, world)
    world.passMs(10)
    world.crash('kill')
    world.disk.releaseReads()
    world.start()
    author.connect({ will: undefined })
    willSubscriber.connect()
    world.settle()
    assert.deepEqual(willSubscriber.payloads, [large])
  })

  test('is published before the broker has stopped', () => {
    const world = createWorld()
    world.subscriber('wills/#', { qos: 1, ...stored })
    world.connect('author', { will: willWith(large), ...stored })
    world.disk.holdReads()
    world.host.stop()
    world.passSeconds(1)
    assert.equal(world.host.isRunning, true)
    world.disk.releaseReads()
    world.passSeconds(10)
    assert.equal(world.host.isRunning, false)
    const queued = world.records().filter(({ kind }) => kind === 'queued')
    assert.equal(queued.length, 1)
    assert.equal(willRecords(world), 0)
  })

  test('of very many clients that are disconnected at once is read 128 at a time', () => {
    const recordStore = new MemoryRecordStore()
    let reads = 0
    const readMessage = recordStore.readMessage.bind(recordStore)
    recordStore.readMessage = (of) => {
      reads++
      return readMessage(of)
    }
    const world = createWorld({ recordStore, shards: 1 })
    const willSubscriber = world.connect('will-subscriber', { ...stored, receiveMaximum: 1_000 })
    willSubscriber.subscribe('wills/#', { qos: 1 })
    const authors = Array.from({ length: 300 }, (_, number) =>
      world.connect(`author-${number}`, { will: { ...willWith(`${large} ${number}`), topic: `wills/${number}` } }),
    )
    world.disk.hold()
    for (const author of authors) author.drop()
    assert.equal(reads, 128)
    assert.ok(world.heldBytes('wills') < 300 * 500)
    world.disk.release()
    world.settle()
    assert.equal(reads, 300)
    assert.equal(new Set(willSubscriber.payloads).size, 300)
    assert.equal(willRecords(world), 0)
  })

  test('with a lost record delays no client', () => {
    const world = createWorld()
    const willSubscriber = world.subscriber('wills/#')
    const author = world.connect('author', { will: willWith(large), ...stored })
    for (const record of world.records())
      if (record.kind === 'will')
        void world.recordStore.apply([{ change: 'delete', key: { kind: 'will', clientId: record.clientId } }])
    author.drop()
    author.connect({ will: undefined })
    assert.equal(author.isConnected, true)
    assert.deepEqual(willSubscriber.payloads, [])
    assert.equal(world.heldBytes('wills'), 0)
  })
})

test('a small will stays in memory and is published without a read', () => {
  const world = createWorld()
  const willSubscriber = world.subscriber('wills/#')
  world.disk.holdReads()
  world.connect('author', { will: willWith('gone'), ...stored }).drop()
  assert.deepEqual(willSubscriber.payloads, ['gone'])
  assert.equal(world.heldBytes('wills'), 0)
})
