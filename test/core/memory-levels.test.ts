// Dropped messages and refused clients while the memory of the node is short.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { CoreSettings, MemoryLevel } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World, type Client } from '../simulator/world.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
const kilobyte = 'x'.repeat(1_024)

function find(world: World, level: MemoryLevel, step = 0): void {
  world.host.handle({ kind: 'memory-level', level, step })
  world.settle()
}

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

/** Returns a client with one message in flight and others queued: `count` in all, of 1 KB. */
function waitingWorld(options: Parameters<World['connect']>[1], settings: Partial<CoreSettings> = {}) {
  const world = new World({ settings: { maxInflightMessages: 1, maxQueuedBytes: 160_000, ...settings } })
  const slow = silent(world, 'slow', options)
  const author = world.connect('author')
  const publish = (count: number): void => {
    for (let number = 0; number < count; number++) author.publish('a', kilobyte, { qos: 1 })
    world.settle()
  }
  publish(51)
  return { world, slow, publish }
}

const heldBy = (world: World): number => world.view.memory.get('queues')

describe('while the level is hard', () => {
  test('[MQTT5-3.2.2.2] a new session is refused with 0x97, for older clients with code 3', () => {
    const world = new World()
    find(world, 'hard')
    const late = world.client('late')
    assert.equal(late.connect()?.reasonCode, reasonCodes.quotaExceeded)
    assert.equal(world.client('older').connect({ version: 4 })?.reasonCode, 3)
    assert.equal(world.view.sessions, 0)
    find(world, 'normal')
    assert.equal(late.connect()?.reasonCode, 0)
  })

  test('a client with a session resumes it, or starts a new one', () => {
    const world = new World()
    const known = world.connect('known', { ...durable })
    known.drop()
    world.settle()
    find(world, 'hard')
    assert.equal(known.connect({ ...durable })?.sessionPresent, true)
    assert.equal(known.connect({ cleanStart: true })?.reasonCode, 0)
  })

  test('a new subscription is refused with 0x97; an existing one may change', () => {
    const world = new World()
    const client = world.connect('known')
    assert.deepEqual(client.subscribe('a')?.reasonCodes, [2])
    find(world, 'hard')
    assert.deepEqual(client.subscribe('b')?.reasonCodes, [reasonCodes.quotaExceeded])
    assert.deepEqual(client.subscribe('a', { qos: 1 })?.reasonCodes, [1])
    find(world, 'normal')
    assert.deepEqual(client.subscribe('b')?.reasonCodes, [2])
  })

  test('[MQTT-3.9.3-2] an older client gets 0x80 for it', () => {
    const world = new World()
    const client = world.connect('older', { version: 4 })
    find(world, 'hard')
    assert.deepEqual(client.subscribe('a')?.reasonCodes, [0x80])
  })

  test('messages queued for clean sessions are dropped, oldest first, and counted; more each time', () => {
    const { world, slow } = waitingWorld({})
    find(world, 'soft')
    assert.equal(world.view.findClient('slow')?.waiting, 50, 'no message is dropped at the level soft')
    find(world, 'hard')
    const left = world.view.findClient('slow')?.waiting ?? 0
    assert.ok(left > 0 && left < 10, `${left} are left`)
    assert.equal(world.view.counts.dropped['memory-full'], 50 - left)
    find(world, 'hard', 8)
    assert.equal(world.view.findClient('slow')?.waiting, 0)
    find(world, 'normal')
    acknowledgeAll(slow)
    assert.equal(slow.payloads.length, 1)
    assert.equal(heldBy(world), 0)
  })

  test('persistent sessions lose no message: their queued messages are on disk and not in memory', () => {
    const { world, slow, publish } = waitingWorld({ ...durable })
    const before = heldBy(world)
    find(world, 'hard')
    assert.ok(heldBy(world) < before / 10, `${heldBy(world)} of ${before}`)
    publish(9)
    find(world, 'normal')
    acknowledgeAll(slow)
    world.settle()
    assert.equal(slow.payloads.length, 60)
    assert.deepEqual([heldBy(world), world.view.counts.dropped['memory-full']], [0, 0])
  })

  test('persistent sessions are served at this level', () => {
    const { world, slow } = waitingWorld({ ...durable })
    find(world, 'hard', 20)
    acknowledgeAll(slow)
    world.settle()
    assert.equal(slow.payloads.length, 51)
  })

  test('a client with many unacknowledged messages for a long time is disconnected with 0x97, and no other client is', () => {
    const world = new World({ settings: { maxInflightBytes: 160_000 } })
    const [greedy, small] = [silent(world, 'greedy'), world.connect('small')]
    small.subscribe('b')
    small.acknowledges = false
    for (let count = 0; count < 50; count++) world.publish('a', kilobyte, { qos: 1 })
    world.publish('b', 'x', { qos: 1 })
    find(world, 'hard')
    assert.equal(greedy.isConnected, true, 'it may still acknowledge')
    world.passSeconds(6)
    find(world, 'hard', 1)
    assert.equal(greedy.disconnected?.reasonCode, reasonCodes.quotaExceeded)
    assert.equal(small.isConnected, true)
  })

  test('a client with many aliases is disconnected if aliases are a large part of the memory', () => {
    const world = new World({ settings: { maxTopicAliasBytes: 16_000 } })
    const [many, few] = [world.connect('many'), world.connect('few')]
    for (let alias = 1; alias <= 20; alias++)
      many.publish(`${alias}/${'t'.repeat(300)}`, 'x', { properties: { topicAlias: alias } })
    few.publish('t', 'x', { properties: { topicAlias: 1 } })
    find(world, 'hard')
    assert.equal(many.disconnected?.reasonCode, reasonCodes.quotaExceeded)
    assert.equal(few.isConnected, true)
  })

  test('a client that sends many messages is not read until the next check, and no message is lost', () => {
    const world = new World()
    const reader = world.subscriber('a')
    const [loud, quiet] = [world.connect('loud'), world.connect('quiet')]
    find(world, 'hard')
    loud.publish('a', 'x'.repeat(2_000_000))
    world.settle()
    find(world, 'hard', 1)
    loud.publish('a', 'late')
    quiet.publish('a', 'quiet')
    world.settle()
    assert.deepEqual(reader.payloads.slice(1), ['quiet'])
    find(world, 'hard', 2)
    assert.deepEqual(reader.payloads.slice(1), ['quiet', 'late'])
  })
})

describe('while the level is soft', () => {
  test('each client may have a quarter of its usual number of queued messages', () => {
    const { world, publish } = waitingWorld({})
    find(world, 'soft')
    publish(200)
    assert.equal(world.view.findClient('slow')?.waiting, 50)
    find(world, 'normal')
    publish(200)
    assert.ok((world.view.findClient('slow')?.waiting ?? 0) > 100)
  })

  test('sessions and subscriptions are still accepted', () => {
    const world = new World()
    find(world, 'soft')
    assert.deepEqual(world.connect('new').subscribe('a')?.reasonCodes, [2])
  })
})

/** Returns disconnected clients, each with twenty messages in flight. */
function awayWorld(qos: 1 | 2, clients: number) {
  const world = new World()
  const all = Array.from({ length: clients }, (_, number) => {
    const client = world.connect(`away-${number}`, { ...durable })
    client.acknowledges = false
    client.subscribe('a', { qos })
    return client
  })
  const author = world.connect('author')
  for (let count = 0; count < 20; count++) author.publish('a', `${count} ${kilobyte}`, { qos: 2 })
  world.settle()
  for (const client of all) client.drop()
  world.settle()
  return { world, all }
}

describe('messages in flight to disconnected clients', () => {
  for (const qos of [1, 2] as const) {
    test(`[MQTT5-4.4.0-1] are on disk only at the level soft, and are sent in order with their packet identifiers (QoS ${qos})`, () => {
      const { world, all } = awayWorld(qos, 3)
      const before = all.map(({ messages }) => messages.map(({ packetId }) => packetId))
      find(world, 'soft')
      assert.equal(heldBy(world), 0)
      find(world, 'normal')
      for (const [number, client] of all.entries()) {
        client.acknowledges = true
        client.connect({ ...durable })
        world.settle()
        const again = client.messages.slice(20)
        assert.deepEqual(
          again.map(({ packetId }) => packetId),
          before[number],
        )
        assert.equal(world.view.findClient(client.id)?.inflight, 0)
      }
      assert.deepEqual(
        world.records().filter(({ kind }) => kind === 'queued' || kind === 'payload'),
        [],
      )
    })
  }

  test('are deleted when the session ends', () => {
    const { world, all } = awayWorld(1, 2)
    find(world, 'soft')
    find(world, 'normal')
    for (const client of all) client.connect({ cleanStart: true })
    world.settle()
    assert.deepEqual(
      world.records().filter(({ kind }) => kind === 'queued' || kind === 'payload'),
      [],
    )
    assert.equal(heldBy(world), 0)
  })
})
