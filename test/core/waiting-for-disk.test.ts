// Packets that are sent at once, and packets that wait for the commit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { bytes, sendBytes } from '../conformance/raw.ts'
import { World, type Client } from '../simulator/world.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

function subscribedTo(world: World, topic: string): Client {
  const client = world.connect(`listener of ${topic}`, { ...durable })
  client.subscribe(topic)
  return client
}

/** Returns a client ID of another shard, if there are several. */
function idAwayFrom(world: World, { id }: Client): string {
  const ids = ['one', 'two', 'three', 'four']
  return ids.find((other) => world.coreOf(other) !== world.coreOf(id)) ?? 'one'
}

function onDifferentShards(world: World, version: 4 | 5): { subscriber: Client; author: Client } {
  const subscriber = subscribedTo(world, 'a')
  return { subscriber, author: world.connect(idAwayFrom(world, subscriber), { version }) }
}

function releaseDisk(world: World): void {
  world.disk.release()
  world.settle()
}

test('QoS 0 and 1 are sent to a connected persistent session before they are durable, and PUBACK is sent after', () => {
  const world = new World()
  const subscriber = subscribedTo(world, 'a')
  subscriber.acknowledges = false
  const author = world.connect('author')
  world.disk.hold()
  author.publish('a', 'QoS 0')
  const publication = author.publish('a', 'QoS 1', { qos: 1 })
  assert.deepEqual(subscriber.payloads, ['QoS 0', 'QoS 1'])
  assert.equal(publication.isAcknowledged, false)
  releaseDisk(world)
  assert.equal(publication.isAcknowledged, true)
})

test('QoS 2 waits: its packet identifier is stored first, or a crash could assign it to another message', () => {
  const world = new World()
  const subscriber = subscribedTo(world, 'a')
  const author = world.connect('author')
  world.disk.hold()
  author.publish('a', 'QoS 2', { qos: 2 })
  assert.deepEqual(subscriber.payloads, [])
  releaseDisk(world)
  assert.deepEqual(subscriber.payloads, ['QoS 2'])
})

test('to sessions without stored data, every message is sent at once', () => {
  const world = new World()
  const subscriber = world.subscriber('a')
  const author = world.connect('author')
  world.disk.hold()
  for (const qos of [0, 1, 2] as const) assert.equal(author.publish('a', `${qos}`, { qos }).isComplete, true)
  assert.deepEqual(subscriber.payloads, ['0', '1', '2'])
})

test('a session, a subscription and a retained message are acknowledged when they are durable', () => {
  const world = new World()
  const client = world.connect('me', { ...durable })
  const author = world.connect('author')
  world.disk.hold()
  assert.equal(client.subscribe('a'), undefined)
  assert.equal(world.client('new', { ...durable }).connect(), undefined)
  const publication = author.publish('r', 'x', { qos: 1, retain: true })
  assert.equal(publication.isAcknowledged, false)
  releaseDisk(world)
  assert.equal(client.received('suback').length, 1)
  assert.equal(publication.isAcknowledged, true)
  assert.equal(world.view.connections, 3)
})

test('a power loss may lose unacknowledged messages, and no acknowledged ones', () => {
  const world = new World()
  const client = world.connect('me', { ...durable })
  client.subscribe('kept')
  world.disk.hold()
  client.subscribe('lost')
  world.restart('power-loss')
  world.disk.release()
  assert.deepEqual([...world.view.findSubscriptions('me').keys()], ['kept'])
})

for (const shards of [1, 3]) {
  test(`[MQTT-3.3.4-1] packets before DISCONNECT are acknowledged before the connection closes (shards: ${shards})`, () => {
    for (const [version, expected] of [
      [4, 'puback'],
      [5, 'puback'],
      [4, 'pubrec'],
      [5, 'pubrec'],
    ] as const) {
      const world = new World({ shards })
      const { subscriber, author } = onDifferentShards(world, version)
      world.disk.hold()
      author.publish('a', 'x', { qos: expected === 'puback' ? 1 : 2 })
      sendBytes(world, author, bytes`e0 00`)
      assert.deepEqual([author.hasOpenConnection, author.received(expected).length], [true, 0])
      releaseDisk(world)
      assert.deepEqual([author.hasOpenConnection, author.received(expected).length], [false, 1])
      assert.deepEqual(subscriber.payloads, ['x'])
    }
  })

  test(`a client that has sent DISCONNECT does not wait for a failing disk (shards: ${shards})`, () => {
    const world = new World({ shards })
    const { author } = onDifferentShards(world, 4)
    world.disk.hold()
    author.publish('a', 'x', { qos: 1 })
    sendBytes(world, author, bytes`e0 00`)
    world.passSeconds(4)
    assert.equal(author.hasOpenConnection, true)
    world.passSeconds(2)
    assert.deepEqual([author.hasOpenConnection, author.received('puback').length], [false, 0])
    releaseDisk(world)
  })
}

test('a client that violates the protocol is disconnected at once, also while responses of other shards are awaited', () => {
  const world = new World({ shards: 3 })
  const subscriber = subscribedTo(world, 'a')
  const author = world.connect(idAwayFrom(world, subscriber))
  world.disk.hold()
  const publication = author.publish('a', 'x', { qos: 1 })
  sendBytes(world, author, bytes`00 00`)
  assert.equal(author.disconnected?.reasonCode, reasonCodes.protocolError)
  assert.equal(publication.isAcknowledged, false)
  assert.equal(author.hasOpenConnection, false)
})

test('a client of 3.1.1 that breaks the protocol still gets acknowledgements that wait for the disk, then the connection closes', () => {
  const world = new World({ shards: 1 })
  subscribedTo(world, 'a')
  const author = world.connect('author', { version: 4 })
  world.disk.hold()
  const publication = author.publish('a', 'x', { qos: 1 })
  sendBytes(world, author, bytes`00 00`)
  assert.deepEqual([author.hasOpenConnection, publication.isAcknowledged], [true, false])
  releaseDisk(world)
  assert.deepEqual([author.hasOpenConnection, publication.isAcknowledged], [false, true])
})
