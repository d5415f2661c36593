// The memory that one client can use is limited in bytes, and the account is exact: it is zero when
// everything is freed.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreSettings } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World, type Client } from '../simulator/world.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
const kilobyte = 'x'.repeat(1_024)

function silent(world: World, id: string, options: Parameters<World['connect']>[1] = {}): Client {
  const client = world.connect(id, options)
  client.acknowledges = false
  client.subscribe('a')
  return client
}

function acknowledgeAll(client: Client): void {
  client.acknowledges = true
  for (const message of client.messages.slice()) client.acknowledge(message)
}

function worldWith(settings: Partial<CoreSettings>): {
  world: World
  publish: (payload: string, count?: number) => void
} {
  const world = new World({ shards: 1, settings })
  const author = world.connect('author')
  const publish = (payload: string, count = 1): void => {
    for (let number = 0; number < count; number++) author.publish('a', payload, { qos: 1 })
    world.settle()
  }
  return { world, publish }
}

describe('mqtt.max_inflight_bytes', () => {
  test('limits the messages in flight: further ones wait until the client acknowledges', () => {
    const { world, publish } = worldWith({ maxInflightBytes: 4_000 })
    const client = silent(world, 'slow')
    publish(kilobyte, 20)
    assert.equal(client.payloads.length, 3, 'the third was still within the limit')
    acknowledgeAll(client)
    world.settle()
    assert.equal(client.payloads.length, 20)
  })

  test('a single message may be larger', () => {
    const { world, publish } = worldWith({ maxInflightBytes: 1_024 })
    const client = silent(world, 'slow')
    publish(kilobyte.repeat(10), 3)
    assert.equal(client.payloads.length, 1)
    acknowledgeAll(client)
    world.settle()
    assert.equal(client.payloads.length, 3)
  })

  test('a client with a smaller limit after its reconnect gets all messages', () => {
    const { world, publish } = worldWith({ maxInflightBytes: 6_000 })
    const client = silent(world, 'slow', { ...durable })
    publish(kilobyte, 20)
    client.drop()
    world.settle()
    client.acknowledges = true
    client.connect({ ...durable, receiveMaximum: 1 })
    world.settle()
    assert.equal(new Set(client.messages.map(({ packetId }) => packetId)).size >= 5, true)
    assert.equal(world.view.findClient('slow')?.waiting, 0)
    assert.equal(world.view.memory.get('queues'), 0)
  })
})

describe('mqtt.max_mqueue_bytes', () => {
  const settings = { maxInflightMessages: 1, maxQueuedBytes: 5_000 }

  test('in a session without stored data, the newest message is dropped and counted', () => {
    const { world, publish } = worldWith(settings)
    const client = silent(world, 'slow')
    publish(kilobyte, 20)
    assert.equal(world.view.findClient('slow')?.waiting, 3)
    assert.equal(world.view.counts.dropped['queue-full'], 16)
    publish('small')
    assert.equal(world.view.findClient('slow')?.waiting, 4, 'there is space for these')
    acknowledgeAll(client)
    assert.equal(client.payloads.length, 5)
  })

  test('with drop-oldest, as many of the oldest messages are dropped as a new one needs', () => {
    const { world, publish } = worldWith({ ...settings, queueFullPolicy: 'drop-oldest' })
    const client = silent(world, 'slow')
    publish('small')
    publish(kilobyte, 3)
    publish(kilobyte.repeat(3))
    assert.equal(world.view.counts.dropped['queue-full'], 2)
    acknowledgeAll(client)
    assert.deepEqual(
      client.payloads.map(({ length }) => length),
      [5, 1_024, 3_072],
    )
  })

  test('a persistent session has further messages on disk, and loses none', () => {
    const { world, publish } = worldWith(settings)
    const client = silent(world, 'slow', { ...durable })
    publish(kilobyte, 50)
    assert.ok(world.view.memory.get('queues') < 10_000, `${world.view.memory.get('queues')}`)
    acknowledgeAll(client)
    world.settle()
    assert.equal(client.payloads.length, 50)
    assert.equal(world.view.memory.get('queues'), 0)
  })
})

test('a message that waits for many clients counts once for the shard', () => {
  const { world, publish } = worldWith({})
  const clients = Array.from({ length: 20 }, (_, number) => silent(world, `slow-${number}`))
  publish(kilobyte.repeat(10))
  const bytes = world.view.memory.get('queues')
  assert.ok(bytes > 10_240 && bytes < 20_000, `${bytes}`)
  for (const client of clients.slice(1)) acknowledgeAll(client)
  assert.ok(world.view.memory.get('queues') > 10_240)
  acknowledgeAll(clients[0])
  world.settle()
  assert.equal(world.view.memory.get('queues'), 0)
})

const longTopic = (number: number): string => `${number}/${'t'.repeat(300)}`

describe('mqtt.max_topic_alias_bytes', () => {
  const settings = { maxTopicAliasBytes: 1_000 }

  test('a client is disconnected with 0x97 if its aliases are for longer topics', () => {
    const world = new World({ settings })
    const client = world.connect('author')
    for (let alias = 1; alias <= 3; alias++)
      client.publish(longTopic(alias), 'x', { properties: { topicAlias: alias } })
    assert.equal(client.isConnected, true)
    assert.ok(world.view.memory.get('aliases') > 1_800)
    client.publish(longTopic(4), 'x', { properties: { topicAlias: 4 } })
    world.settle()
    assert.equal(client.disconnected?.reasonCode, reasonCodes.quotaExceeded)
    assert.equal(world.view.memory.get('aliases'), 0)
  })

  test('an alias that is set again counts with its new topic', () => {
    const world = new World({ settings })
    const client = world.connect('author')
    for (let number = 1; number <= 20; number++)
      client.publish(longTopic(number), 'x', { properties: { topicAlias: 1 } })
    world.settle()
    assert.equal(client.isConnected, true)
  })

  test('above it, the broker sends the topic without an alias', () => {
    const world = new World({ settings })
    const reader = world.connect('reader', { topicAliasMaximum: 100 })
    reader.subscribe('#')
    for (let round = 0; round < 2; round++)
      for (let number = 1; number <= 6; number++) world.publish(longTopic(number), 'x')
    assert.equal(reader.messages.length, 12)
    const aliases = new Set(reader.messages.map(({ topic }) => topic))
    assert.equal(aliases.size, 6)
    reader.disconnect()
    world.settle()
    assert.equal(world.view.memory.get('aliases'), 0)
  })
})

test('sessions are counted with their client IDs until they end', () => {
  const world = new World()
  const before = world.view.memory.get('sessions')
  world.connect('a'.repeat(500)).disconnect()
  assert.equal(world.view.memory.get('sessions'), before)
  world.connect('b'.repeat(500), { ...durable }).disconnect()
  assert.ok(world.view.memory.get('sessions') > before + 500)
})
