// A queue on disk is read into memory in parts: each part is small, and few messages are read ahead.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PartRequest } from '../../src/storage/index.ts'
import { World, type Client } from '../simulator/world.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
const maxInPart = 128

/** Collects the requests of the core for parts. */
function watchParts(world: World): PartRequest[] {
  const requests: PartRequest[] = []
  const { recordStore } = world
  const read = recordStore.readQueue.bind(recordStore)
  recordStore.readQueue = (wanted) => {
    requests.push(wanted)
    return read(wanted)
  }
  return requests
}

/** Returns a disconnected client with this number of messages on disk. */
function offlineClientWith(world: World, count: number): Client {
  const offlineClient = world.connect('offline', { ...durable })
  offlineClient.subscribe('a')
  offlineClient.disconnect()
  const author = world.connect('author')
  for (let number = 1; number <= count; number++) author.publish('a', `${number}`, { qos: 1 })
  world.settle()
  return offlineClient
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `${index + 1}`)

test('a queue is read in parts: the first are small, none is large, and all messages arrive in order', () => {
  const world = new World()
  const offlineClient = offlineClientWith(world, 2_000)
  const parts = watchParts(world)
  offlineClient.connect({ ...durable })
  world.settle()
  assert.deepEqual(offlineClient.payloads, numbered(2_000))
  assert.deepEqual(
    parts.slice(0, 6).map(({ fromSequence, limit, part }) => [fromSequence, limit, part]),
    [
      [1, 16, 0],
      [17, 32, 1],
      [49, 48, 2],
      [97, 64, 3],
      [161, 80, 4],
      [241, 96, 5],
    ],
  )
  for (const { limit } of parts) assert.ok(limit <= maxInPart)
})

test('few messages are read ahead for a client that does not acknowledge', () => {
  const world = new World()
  const offlineClient = offlineClientWith(world, 3_000)
  const parts = watchParts(world)
  offlineClient.acknowledges = false
  offlineClient.connect({ ...durable, receiveMaximum: 10 })
  world.settle()
  const read = parts.reduce((sum, { limit }) => sum + limit, 0)
  assert.ok(read <= world.host.settings.maxQueuedMessages, `${read} were requested`)
})

test('the queue of a client that reconnects is read from its first part', () => {
  const world = new World()
  const offlineClient = offlineClientWith(world, 600)
  const parts = watchParts(world)
  offlineClient.acknowledges = false
  offlineClient.connect({ ...durable, receiveMaximum: 10 })
  world.settle()
  const before = parts.length
  offlineClient.drop()
  world.settle()
  offlineClient.acknowledges = true
  offlineClient.connect({ ...durable })
  world.settle()
  assert.equal(parts[before].part, 0)
  assert.deepEqual(new Set(offlineClient.payloads), new Set(numbered(600)))
})

/** Returns a bridge or an action queue: a client within the broker. */
function ownClient(world: World): Client {
  const { traits } = world.host
  traits.listener = { isInternal: true }
  const own = world.connect('own', { ...durable, receiveMaximum: 10 })
  delete traits.listener
  own.subscribe('a')
  return own
}

test('small messages of a connected bridge or action wait in memory up to their limit in bytes, and are not read back', () => {
  for (const { maxQueuedBytes, isRead } of [
    { maxQueuedBytes: 1_024 * 1_024, isRead: false },
    { maxQueuedBytes: 64 * 1_024, isRead: true },
  ]) {
    const world = new World({ settings: { maxQueuedMessages: 16, maxQueuedBytes } })
    const own = ownClient(world)
    const parts = watchParts(world)
    own.thinkMs = () => 1_000
    const author = world.connect('author')
    for (let number = 1; number <= 1_000; number++) author.publish('a', `${number}`, { qos: 1 })
    world.settle()
    world.passSeconds(110)
    assert.deepEqual(own.payloads, numbered(1_000))
    assert.equal(parts.length > 0, isRead, `with ${maxQueuedBytes} bytes`)
  }
})
