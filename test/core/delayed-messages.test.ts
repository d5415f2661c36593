// Messages to `$delayed/{n}/topic`: acknowledged when they are stored, published when they are due.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { worldWith } from './denied-actions.ts'
import { World, type WorldOptions } from '../simulator/world.ts'

const large = 'later '.repeat(200).trim()

function createWorld(options: WorldOptions = {}): World {
  return new World({ ...options, settings: { maxWillBytesInMemory: 100, ...options.settings } })
}

const storedIn = (world: World): number => world.records().filter(({ kind }) => kind === 'will').length

/** Checks that no delayed messages remain on disk or in memory. */
function assertNothingLeft(world: World): void {
  assert.equal(storedIn(world), 0)
  assert.equal(world.heldBytes('wills'), 0)
}

for (const shards of [1, 3]) {
  describe(`a delayed message, ${shards} shards`, () => {
    test('is published to the topic after the delay when it is due, at each QoS', () => {
      const world = createWorld({ shards })
      const reader = world.subscriber('a/#', { qos: 2 })
      const literal = world.subscriber('$delayed/#')
      const author = world.connect('author')
      for (const qos of [0, 1, 2] as const) author.publish(`$delayed/10/a/${qos}`, `m${qos}`, { qos })
      world.settle()
      assert.equal(storedIn(world), 3)
      world.passSeconds(9)
      assert.deepEqual(reader.payloads, [])
      world.passSeconds(2)
      const received = reader.messages.map(({ topic, qos, payload }) => `${topic} ${qos} ${payload}`)
      assert.deepEqual(new Set(received), new Set(['a/0 0 m0', 'a/1 1 m1', 'a/2 2 m2']))
      assert.deepEqual(literal.payloads, [])
      assertNothingLeft(world)
    })

    test('is acknowledged when it is durable, and survives a power loss', () => {
      for (const payload of ['kept', large]) {
        const world = createWorld({ shards })
        const author = world.connect('author')
        world.disk.hold()
        const sent = [1, 2].map((qos) => author.publish('$delayed/10/a', payload, { qos: qos as 1 | 2 }))
        world.passSeconds(1)
        assert.deepEqual(
          sent.map(({ isAcknowledged }) => isAcknowledged),
          [false, false],
        )
        world.disk.release()
        world.settle()
        assert.deepEqual(
          sent.map(({ isAcknowledged }) => isAcknowledged),
          [true, true],
        )
        world.restart('power-loss')
        const reader = world.subscriber('a')
        world.passSeconds(8)
        assert.deepEqual(reader.payloads, [])
        world.passSeconds(3)
        assert.deepEqual(reader.payloads, [payload, payload])
        assertNothingLeft(world)
      }
    })

    test('that became due while the broker was stopped is published at its start, with its RETAIN flag', () => {
      const world = createWorld({ shards })
      world.connect('author').publish('$delayed/5/a', 'state', { qos: 1, retain: true })
      world.settle()
      world.crash()
      world.passSeconds(60)
      world.start()
      world.passSeconds(1)
      assert.deepEqual(world.subscriber('a').payloads, ['state'])
      assertNothingLeft(world)
    })

    test('[MQTT5-4.3.3-10] that is sent again at QoS 2 after a power loss is one message, and no shard has it before its time', () => {
      const world = createWorld({ shards })
      const author = world.connect('author', { cleanStart: false, sessionExpirySeconds: 3_600 })
      const readers = ['r1', 'r2', 'r3', 'r4', 'r5'].map((id) => {
        const reader = world.connect(id, { cleanStart: false, sessionExpirySeconds: 3_600 })
        reader.subscribe('a', { qos: 2 })
        return reader
      })
      // Retained ones as well: the topics belong to different shards.
      const kept = ['k1', 'k2', 'k3', 'k4', 'k5']
      world.disk.hold()
      const sent = author.publish('$delayed/30/a', 'once', { qos: 2 })
      for (const topic of kept) author.publish(`$delayed/30/${topic}`, 'kept', { qos: 2, retain: true })
      // The messages are durable, and PUBREC never arrives.
      author.drop()
      world.disk.release()
      world.settle()
      world.restart('power-loss')
      for (const reader of readers) reader.connect()
      author.connect()
      world.settle()
      assert.equal(sent.isAcknowledged, true)
      world.passSeconds(20)
      for (const reader of readers) assert.deepEqual(reader.payloads, [])
      assert.deepEqual(world.subscriber('+').payloads, [], 'no message is retained yet')
      world.passSeconds(15)
      for (const reader of readers) assert.deepEqual(reader.payloads, ['once'])
      const late = world.connect('late')
      late.subscribe('+', { qos: 2 })
      world.settle()
      assert.deepEqual(late.messages.map(({ topic }) => topic).toSorted(), kept)
      assertNothingLeft(world)
    })

    test('is deleted by its ID', () => {
      const world = createWorld({ shards })
      world.connect('author').publish('$delayed/5/a', 'x', { qos: 1 })
      world.settle()
      const shard = world.host.shards.find(({ core }) => core.view.delayedMessages === 1)
      const [row] = shard?.core.view.listDelayed(0, 10) ?? []
      assert.equal(row?.topic, 'a')
      assert.equal(row?.publisher, 'author')
      assert.equal(Buffer.from(shard?.core.view.findDelayed(row?.id ?? '')?.payload ?? []).toString(), 'x')
      const reader = world.subscriber('a')
      for (const [requestId, id] of [row?.id ?? '', 'no-such'].entries())
        shard?.handle({ kind: 'command', requestId: 5_000_000 + requestId, command: { name: 'delete-delayed', id } })
      world.settle()
      // The response to the second does not wait for the disk.
      const results = world.events('command-done').map(({ result }) => (result.done ? result.matched : result.why))
      assert.deepEqual(new Set(results), new Set([0, 1]))
      world.passSeconds(10)
      assert.deepEqual(reader.payloads, [])
      assertNothingLeft(world)
    })
  })
}

describe('delayed messages', () => {
  test('of one publisher that are due at the same time are published in order', () => {
    const world = createWorld({ shards: 1 })
    const reader = world.subscriber('a', { qos: 1 })
    const author = world.connect('author')
    for (let number = 0; number < 20; number++)
      author.publish('$delayed/5/a', number % 3 === 0 ? `${number} ${large}` : `${number}`, { qos: 1 })
    world.passSeconds(6)
    assert.deepEqual(
      reader.payloads.map((payload) => Number.parseInt(payload, 10)),
      Array.from({ length: 20 }, (_, number) => number),
    )
    assertNothingLeft(world)
  })

  test('[MQTT5-3.3.2-5] expire by the time since they were published', () => {
    const world = createWorld({ shards: 1 })
    const reader = world.subscriber('a')
    const author = world.connect('author')
    author.publish('$delayed/5/a', 'gone', { qos: 1, properties: { messageExpiryIntervalSeconds: 3 } })
    author.publish('$delayed/5/a', 'here', { qos: 1, properties: { messageExpiryIntervalSeconds: 30 } })
    world.passSeconds(6)
    assert.deepEqual(reader.payloads, ['here'])
    assert.equal(reader.messages[0]?.properties?.messageExpiryIntervalSeconds, 25)
    assertNothingLeft(world)
  })

  test('a number from 4294967 is a time, and one that is too far ahead is refused', () => {
    const world = createWorld({ shards: 1 })
    const reader = world.subscriber('a')
    const author = world.connect('author')
    const nowSeconds = Math.floor(world.nowMs / 1_000)
    const ahead = Math.max(nowSeconds + 5, 4_294_967)
    const sent = author.publish(`$delayed/${ahead}/a`, 'at', { qos: 1 })
    const far = author.publish(`$delayed/${nowSeconds + 4_294_967 * 2}/a`, 'far', { qos: 1 })
    const wrong = ['$delayed/x/a', '$delayed/5', '$delayed/5/', '$delayed/-1/a', '$delayed/5/$delayed/5/a'].map(
      (topic) => author.publish(topic, 'wrong', { qos: 1 }),
    )
    world.settle()
    assert.equal(sent.isAcknowledged, true)
    for (const { reasonCode } of [far, ...wrong]) assert.equal(reasonCode, reasonCodes.topicNameInvalid)
    world.passSeconds(ahead - nowSeconds + 1)
    assert.deepEqual(reader.payloads, ['at'])
  })

  test('above the limit are rejected, and a client whose version has no reason code is disconnected', () => {
    const world = createWorld({ shards: 1, settings: { maxDelayedMessages: 2 } })
    const author = world.connect('author')
    const sent = [1, 2, 3].map((number) => author.publish('$delayed/5/a', String(number), { qos: 1 }))
    const old = world.connect('old', { version: 4 })
    const unacknowledged = old.publish('$delayed/5/a', 'x', { qos: 1 })
    world.settle()
    assert.deepEqual(
      sent.map(({ reasonCode }) => reasonCode),
      [reasonCodes.noMatchingSubscribers, reasonCodes.noMatchingSubscribers, reasonCodes.quotaExceeded].map(
        (code, at) => (at < 2 ? reasonCodes.success : code),
      ),
    )
    assert.equal(old.isConnected, false)
    assert.equal(unacknowledged.isAcknowledged, false)
  })

  test('have ordinary topics if they are disabled, and stored ones are still published', () => {
    const world = createWorld({ shards: 1 })
    const reader = world.subscriber('a')
    const literal = world.subscriber('$delayed/#')
    const author = world.connect('author')
    author.publish('$delayed/5/a', 'before', { qos: 1 })
    world.settle()
    world.changeSettings({ delaysMessages: false })
    author.publish('$delayed/5/a', 'literal', { qos: 1 })
    world.passSeconds(6)
    assert.deepEqual(literal.payloads, ['literal'])
    assert.deepEqual(reader.payloads, ['before'])
  })

  test('a will and a message of an administrator can be delayed, too', () => {
    const world = createWorld({ shards: 1 })
    const reader = world.subscriber('a')
    const author = world.connect('author', { will: { topic: '$delayed/5/a', payload: 'will', qos: 1 } })
    author.drop()
    world.command({
      name: 'publish',
      topic: '$delayed/5/a',
      payload: Buffer.from('admin'),
      qos: 1,
      retain: false,
      properties: undefined,
      clientId: '',
    })
    world.passSeconds(4)
    assert.deepEqual(reader.payloads, [])
    world.passSeconds(3)
    assert.deepEqual(new Set(reader.payloads), new Set(['admin', 'will']))
    assertNothingLeft(world)
  })

  test('[MQTT5-4.3.3-10] a QoS 2 message that is sent again after a restart is stored once', () => {
    for (const shards of [1, 3]) {
      const world = createWorld({ shards })
      const stored = { cleanStart: false, sessionExpirySeconds: 600 } as const
      const readers = Array.from({ length: 6 }, () => world.subscriber('a', { qos: 2, ...stored }))
      const author = world.connect('author', stored)
      author.stopReading()
      const sent = author.publish('$delayed/10/a', 'once', { qos: 2 })
      world.settle()
      assert.equal(storedIn(world), 1)
      assert.equal(sent.isAcknowledged, false)
      author.drop()
      world.restart()
      for (const client of [author, ...readers]) client.connect()
      world.passSeconds(5)
      assert.deepEqual([sent.isAcknowledged, sent.timesSent], [true, 2])
      for (const { payloads } of readers) assert.deepEqual(payloads, [])
      world.passSeconds(10)
      for (const { payloads } of readers) assert.deepEqual(payloads, ['once'])
      assertNothingLeft(world)
    }
  })

  test('are authorized for the topic after the delay, when they arrive and when they are due', () => {
    const { world, rulebook } = worldWith([{ action: 'publish', topic: 'secret/#' }])
    const reader = world.subscriber('#')
    const author = world.connect('author')
    const denied = author.publish('$delayed/5/secret/a', 'x', { qos: 1 })
    const allowed = author.publish('$delayed/5/open', 'y', { qos: 1 })
    world.settle()
    assert.equal(denied.reasonCode, reasonCodes.notAuthorized)
    assert.equal(allowed.isAcknowledged, true)
    rulebook.change(world, { action: 'remain', username: undefined })
    world.passSeconds(6)
    assert.deepEqual(reader.payloads, [])
  })
})
