// Only the metadata of large retained messages is in memory: a payload is read when a subscriber receives it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MessageRecordKey } from '../../src/core/index.ts'
import type { StoredMessage } from '../../src/records/index.ts'
import { MemoryRecordStore } from '../simulator/record-store.ts'
import { World, type WorldOptions } from '../simulator/world.ts'
import { worldWith } from './denied-actions.ts'

const settings = { maxRetainedBytesInMemory: 100 }
const stored = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
const large = 'state '.repeat(200).trim()
const retained = { qos: 1, retain: true } as const
const mebibyte = 1_024 * 1_024

class CountingRecordStore extends MemoryRecordStore {
  reads = 0

  override readMessage(of: MessageRecordKey): StoredMessage | undefined {
    this.reads++
    return super.readMessage(of)
  }
}

function createWorld(options: WorldOptions = {}): { world: World; recordStore: CountingRecordStore } {
  const recordStore = new CountingRecordStore()
  const world = new World({ shards: 1, recordStore, ...options, settings: { ...settings, ...options.settings } })
  return { world, recordStore }
}

describe('a large retained message', () => {
  test('leaves memory when its record is durable, is restored unchanged, and is not counted after it is deleted', () => {
    const { world, recordStore } = createWorld()
    world.disk.hold()
    const author = world.connect('author')
    const properties = { contentType: 'text', userProperties: [['a', 'b']] as [string, string][] }
    author.publish('a', large, { ...retained, properties })
    const unwrittenBytes = world.heldBytes('retained')
    assert.deepEqual(world.subscriber('a').payloads, [large])
    assert.equal(recordStore.reads, 0)
    world.disk.release()
    world.settle()
    const metadataBytes = world.heldBytes('retained')
    assert.ok(unwrittenBytes >= metadataBytes + large.length)
    const reader = world.subscriber('a')
    assert.deepEqual(reader.payloads, [large])
    assert.deepEqual(reader.messages[0]?.properties?.userProperties, [['a', 'b']])
    assert.equal(reader.messages[0]?.retain, true)
    assert.equal(recordStore.reads, 1)
    assert.ok(world.heldBytes('retained') <= metadataBytes + large.length + 10)
    author.publish('a', '', retained)
    assert.equal(world.heldBytes('retained'), 0)
    assert.deepEqual(world.subscriber('a').payloads, [])
  })

  test('stays in memory until its own record is durable, whatever is committed before', () => {
    const { world, recordStore } = createWorld()
    const author = world.connect('author')
    world.disk.maxStepMs = 10
    author.publish('a', large, retained)
    author.publish('b', large, retained)
    for (let ms = 0; ms < 100; ms++) {
      world.passMs(1)
      const isWritten = world.records().some((record) => record.kind === 'retained' && record.message.topic === 'b')
      if (!isWritten) assert.equal(world.subscriber('b').payloads.length, 1)
    }
    assert.equal(recordStore.reads, 0)
    world.passSeconds(1)
    const reader = world.subscriber('b')
    world.passSeconds(1)
    assert.deepEqual(reader.payloads, [large])
    assert.equal(recordStore.reads, 1)
  })

  test('is not read at the start, and is sent to new subscribers', () => {
    const { world, recordStore } = createWorld()
    world.publish('a', large, retained)
    world.publish('b', 'small', retained)
    world.restart()
    assert.equal(recordStore.reads, 0)
    const metadataBytes = world.heldBytes('retained')
    assert.deepEqual(world.subscriber('#').payloads.toSorted(), ['small', large].toSorted())
    assert.ok(world.heldBytes('retained') > metadataBytes)
    for (const topic of ['a', 'b']) world.publish(topic, '', retained)
    assert.equal(world.heldBytes('retained'), 0)
  })

  test('is read once for all subscribers at the same time, and is cached after that', () => {
    const { world, recordStore } = createWorld()
    world.publish('a', large, retained)
    world.disk.holdReads()
    const readers = [1, 2, 3].map(() => world.subscriber('a'))
    world.disk.releaseReads()
    world.settle()
    readers.push(world.subscriber('#'))
    for (const reader of readers) assert.deepEqual(reader.payloads, [large])
    assert.equal(recordStore.reads, 1)
  })

  test('that is replaced or deleted while it is read is not delivered', () => {
    for (const next of [`${large}, later`, 'small', '']) {
      const { world } = createWorld()
      world.publish('a', large, retained)
      world.disk.holdReads()
      const reader = world.subscriber('a')
      world.publish('a', next, retained)
      assert.deepEqual(reader.payloads, [next])
      world.disk.releaseReads()
      world.settle()
      assert.deepEqual(reader.payloads, [next])
      assert.deepEqual(world.subscriber('a').payloads, next === '' ? [] : [next])
    }
  })

  test('[MQTT5-3.3.2-5] that expires while it is read is not delivered', () => {
    const { world } = createWorld()
    world.publish('a', large, { ...retained, properties: { messageExpiryIntervalSeconds: 10 } })
    world.disk.holdReads()
    const reader = world.subscriber('a')
    world.passSeconds(11)
    world.disk.releaseReads()
    world.settle()
    assert.deepEqual(reader.payloads, [])
    assert.equal(world.heldBytes('retained'), 0)
  })

  test('is not sent to a client that lost its permission while it was read', () => {
    const recordStore = new CountingRecordStore()
    const { world, rulebook } = worldWith([], { shards: 1, recordStore, settings })
    world.publish('a', large, retained)
    world.disk.holdReads()
    const reader = world.subscriber('a')
    rulebook.change(world, { action: 'receive' })
    world.disk.releaseReads()
    world.settle()
    assert.deepEqual(reader.payloads, [])
  })

  test('is not sent to a client that has unsubscribed or disconnected meanwhile, and delays no other client', () => {
    const { world } = createWorld()
    for (const topic of ['a', 'b']) world.publish(topic, `${large} ${topic}`, retained)
    world.disk.holdReads()
    const [one, other] = [world.subscriber(['a', 'b']), world.subscriber('a')]
    one.unsubscribe('a')
    other.drop()
    world.disk.releaseReads()
    world.settle()
    assert.deepEqual(one.payloads, [`${large} b`])
    assert.deepEqual(world.subscriber('a').payloads, [`${large} a`])
  })

  test('with a lost record is skipped', () => {
    const { world, recordStore } = createWorld()
    for (const topic of ['a', 'b', 'c']) world.publish(topic, `${large} ${topic}`, retained)
    recordStore.apply([{ change: 'delete', key: { kind: 'retained', topic: 'b' } }])
    assert.deepEqual(world.subscriber('#').payloads.toSorted(), [`${large} a`, `${large} c`])
  })

  test('waits in a queue like other messages', () => {
    const { world } = createWorld()
    for (let number = 0; number < 30; number++) world.publish(`a/${number}`, `${large} ${number}`, retained)
    const reader = world.connect('reader', { ...stored, receiveMaximum: 2 })
    reader.subscribe('a/+', { qos: 1 })
    assert.equal(new Set(reader.payloads).size, 30)
    assert.equal(reader.payloads.length, 30)
  })

  test('is restored by a backup, and replaced if the backup has another one', () => {
    const { world, recordStore } = createWorld()
    world.publish('a', large, { ...retained, properties: { contentType: 'text' } })
    const message = recordStore.readMessage({ kind: 'retained', topic: 'a' })
    assert.ok(message !== undefined)
    const kept = (of: StoredMessage) => {
      const result = commandOf(world, of)
      return result?.done === true ? result.kept : undefined
    }
    assert.equal(kept(message)?.unchanged, 1)
    assert.equal(kept({ ...message, payload: Buffer.from(`${large}!`) })?.updated, 1)
    assert.deepEqual(world.subscriber('a').payloads, [`${large}!`])
  })
})

/** Sends it to the only shard. */
function commandOf(world: World, message: StoredMessage) {
  const requestId = 77_000 + world.events('command-done').length
  world.host.shards[0].handle({
    kind: 'command',
    requestId,
    command: { name: 'import-retained', messages: [message] },
  })
  world.settle()
  return world.events('command-done').find((event) => event.requestId === requestId)?.result
}

describe('many large retained messages', () => {
  const count = 60
  const payload = Buffer.alloc(mebibyte / 2, 'x')

  function filled(): World {
    const { world } = createWorld()
    const author = world.connect('author')
    for (let number = 0; number < count; number++) author.publish(`a/${number}`, payload, retained)
    world.restart()
    return world
  }

  /** Limits of reads and of the cache. */
  const maxHeld = 16 * mebibyte + 8 * mebibyte + count * 2_000

  test('are sent to a client as fast as it reads', () => {
    const world = filled()
    const reader = world.connect('reader')
    reader.stopReading()
    reader.subscribe('a/+', { qos: 0 })
    world.passSeconds(10)
    const { publishesSent } = world.view.counts
    assert.ok(publishesSent > 0 && publishesSent * payload.length < 3 * mebibyte, `${publishesSent}`)
    reader.resumeReading()
    world.passSeconds(10)
    assert.equal(reader.messages.length, count)
    assert.ok(world.heldBytes('retained') <= maxHeld)
  })

  test('are sent to a client as fast as it acknowledges', () => {
    const world = filled()
    const reader = world.connect('reader')
    reader.acknowledges = false
    reader.subscribe('a/+', { qos: 1 })
    world.passSeconds(10)
    assert.ok(reader.messages.length > 0 && reader.messages.length * payload.length <= 9 * mebibyte)
    for (let given = 0; given < count; given++) {
      const message = reader.messages[given]
      assert.ok(message !== undefined, `${given}`)
      reader.acknowledge(message)
      world.passMs(10)
    }
    assert.equal(reader.messages.length, count)
  })

  test('are sent to very many clients at once within their shared memory limit', () => {
    const world = filled()
    world.disk.holdReads()
    const readers = Array.from({ length: count }, (_, number) => world.connect(`reader-${number}`))
    readers.forEach((reader, number) => reader.subscribe(`a/${number}`))
    assert.ok(world.heldBytes('retained') <= maxHeld)
    world.disk.releaseReads()
    world.settle()
    for (const reader of readers) assert.equal(reader.messages.length, 1, reader.id)
    assert.ok(world.heldBytes('retained') <= maxHeld)
  })

  test('without remaining subscribers free their memory for others', () => {
    const world = filled()
    world.disk.holdReads()
    const fickle = world.connect('fickle')
    fickle.subscribe(`a/${count - 1}`)
    for (let number = 0; number < count / 2; number++) {
      fickle.subscribe(`a/${number}`)
      fickle.unsubscribe(`a/${count - 1}`)
      fickle.subscribe(`a/${count - 1}`)
    }
    world.disk.releaseReads()
    world.settle()
    world.disk.holdReads()
    const readers = Array.from({ length: 30 }, (_, number) => world.subscriber(`a/${count - 2 - number}`))
    world.disk.releaseReads()
    world.settle()
    for (const reader of readers) assert.equal(reader.messages.length, 1)
  })
})

test('messages of the broker about itself have no record and stay in memory', () => {
  const { world, recordStore } = createWorld()
  const author = world.connect('author')
  author.drop()
  world.host.shards[0].handle({
    kind: 'command',
    requestId: 5,
    command: {
      name: 'publish',
      topic: '$SYS/broker/words',
      payload: Buffer.from(large),
      qos: 0,
      retain: true,
      properties: undefined,
      clientId: '',
      isOfBroker: true,
    },
  })
  world.settle()
  assert.deepEqual(world.subscriber('$SYS/#').payloads, [large])
  assert.equal(recordStore.reads, 0)
})
