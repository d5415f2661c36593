// Events at a due time: redelivery to older clients, packet identifiers that clients never release.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { computeOwnerShard } from '../../src/core/index.ts'
import { AckPacket, reasonCodes, type ReasonCode } from '../../src/protocol/index.ts'
import { World, type Client, type Wire } from '../simulator/world.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

function silent(world: World, id: string, version: 3 | 4 | 5): Client {
  const client = world.connect(id, { version })
  client.acknowledges = false
  return client
}

describe('mqtt.retry_interval', () => {
  for (const version of [3, 4] as const) {
    test(`MQTT ${version}: an unacknowledged message is sent again after it, with DUP, until it is acknowledged`, () => {
      const world = new World({ settings: { retryIntervalMs: 10_000 } })
      const client = silent(world, 'slow', version)
      client.subscribe('a')
      world.publish('a', 'x', { qos: 1 })
      world.passSeconds(9)
      assert.equal(client.messages.length, 1)
      world.passSeconds(2)
      assert.deepEqual(
        client.messages.map(({ dup }) => dup),
        [false, true],
      )
      world.passSeconds(10)
      assert.equal(client.messages.length, 3)
      client.acknowledge(client.messages[0])
      world.passSeconds(100)
      assert.equal(client.messages.length, 3)
      assert.equal(new Set(client.messages.map(({ packetId }) => packetId)).size, 1)
    })

    test(`MQTT ${version}: after PUBREC, PUBREL is sent again`, () => {
      const world = new World({ settings: { retryIntervalMs: 10_000 } })
      const client = silent(world, 'slow', version)
      client.subscribe('a')
      world.publish('a', 'x', { qos: 2 })
      client.acknowledge(client.messages[0])
      const releases = (): number => client.wire?.received.filter(({ type }) => type === 'pubrel').length ?? 0
      assert.equal(releases(), 1)
      world.passSeconds(25)
      assert.equal(releases(), 3)
      assert.equal(client.messages.length, 1)
    })
  }

  test('PUBREL that waits for a confirmation of another shard is not retried, however long that takes', () => {
    const world = new World({ shards: 2, settings: { retryIntervalMs: 1_000 } })
    const [here, there] = [0, 1].map((own) =>
      ['a', 'b', 'c', 'd', 'e'].filter((id) => computeOwnerShard(id, 2) === own),
    )
    const client = silent(world, here[0], 4)
    client.subscribe('a')
    world.connect(there[0], { cleanStart: false, sessionExpirySeconds: 3_600 }).subscribe('b')
    client.publish('a', 'x', { qos: 2 })
    const { disk } = world.host.shards[1]
    disk.hold()
    client.publish('b', 'y', { qos: 1 })
    client.acknowledge(client.messages[0])
    world.passSeconds(10)
    const releases = (): number => client.received('pubrel').length
    assert.deepEqual([client.received('puback').length, releases()], [0, 0])
    disk.release()
    world.settle()
    assert.deepEqual([client.received('puback').length, releases()], [1, 1])
    world.passSeconds(2)
    assert.ok(releases() > 1, 'its client sends no PUBCOMP')
  })

  test('a second PUBCOMP for a PUBREL that was sent twice is ignored: packet identifiers continue, also after a restart (seed 12994)', () => {
    const world = new World({ settings: { retryIntervalMs: 10_000 } })
    const slow = world.connect('slow', { version: 4, cleanStart: false })
    slow.subscribe('news/#')
    slow.acknowledges = false
    world.publish('news/a', 'one', { qos: 2 })
    slow.acknowledge(slow.messages[0])
    world.restart('graceful')
    slow.connect()
    world.passSeconds(11)
    assert.equal(slow.received('pubrel').length, 2, 'PUBREL is sent again')

    slow.complete(slow.messages[0].packetId)
    world.publish('news/a', 'two', { qos: 2 })
    assert.notEqual(slow.messages[1].packetId, slow.messages[0].packetId)
    slow.complete(slow.messages[0].packetId)
    assert.equal(slow.isConnected, true, 'the client may acknowledge each PUBREL that it received')
    slow.acknowledge(slow.messages[1])
    assert.equal(slow.received('pubrel').length, 3)
  })

  test('an unexpected acknowledgement is allowed if a message was sent again: it may belong to the earlier one', () => {
    const world = new World({ settings: { retryIntervalMs: 10_000 } })
    const slow = silent(world, 'slow', 4)
    const hasty = silent(world, 'hasty', 4)
    for (const client of [slow, hasty]) client.subscribe('a')
    world.publish('a', 'x', { qos: 2 })
    hasty.complete(hasty.messages[0].packetId)
    assert.equal(hasty.isConnected, false)
    world.passSeconds(11)
    slow.complete(slow.messages[0].packetId)
    assert.equal(slow.isConnected, true)
    slow.acknowledge(slow.messages[0])
    assert.equal(slow.received('pubrel').length, 1)
  })

  test('a client that does not read its messages gets none of them again', () => {
    const world = new World({ settings: { retryIntervalMs: 10_000 } })
    const client = silent(world, 'slow', 4)
    client.subscribe('a')
    client.stopReading()
    world.publish('a', 'x'.repeat(100_000), { qos: 1 })
    world.passSeconds(35)
    client.resumeReading()
    world.settle()
    const dups = (): boolean[] => client.messages.map(({ dup }) => dup)
    assert.deepEqual(dups(), [false])
    world.passSeconds(11)
    assert.deepEqual(dups(), [false, true])
  })

  test('0 disables it', () => {
    const world = new World({ settings: { retryIntervalMs: 0 } })
    const client = silent(world, 'slow', 4)
    client.subscribe('a')
    world.publish('a', 'x', { qos: 1 })
    world.passSeconds(10_000)
    assert.equal(client.messages.length, 1)
  })

  test('MQTT 5.0 clients get no retransmission within a connection', () => {
    const world = new World({ settings: { retryIntervalMs: 1_000 } })
    const client = silent(world, 'slow', 5)
    client.subscribe('a')
    world.publish('a', 'x', { qos: 1 })
    world.passSeconds(10_000)
    assert.equal(client.messages.length, 1)
  })

  test('a client that reconnects with 5.0 after 3.1.1 gets no retransmission on the new connection', () => {
    const world = new World({ settings: { retryIntervalMs: 10_000 } })
    const client = world.connect('me', { version: 4, cleanStart: false })
    client.acknowledges = false
    client.subscribe('a')
    world.publish('a', 'x', { qos: 1 })
    client.connect({ version: 5, sessionExpirySeconds: 3_600 })
    assert.equal(client.messages.length, 2)
    world.passSeconds(100)
    assert.equal(client.messages.length, 2)
  })
})

function acksOf(wire: Wire): ReasonCode[] {
  return wire.received.filter((packet) => packet instanceof AckPacket).map(({ reasonCode }) => reasonCode)
}

describe('mqtt.await_rel_timeout', () => {
  const settings = { awaitReleaseTimeoutMs: 60_000, maxAwaitingRelease: 2 }

  test('[MQTT-4.3.3-2] [MQTT5-4.3.3-10] the same PUBLISH is delivered once, however much later it is sent again', () => {
    for (const version of [4, 5] as const) {
      const world = new World({ settings })
      const subscriber = world.subscriber('a')
      const connect = (): Wire => {
        const wire = world.wire({ version })
        wire.send(
          plainConnect(version, 'me', { cleanStart: false, properties: { sessionExpiryIntervalSeconds: 864_000 } }),
        )
        wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId: 7 })
        world.settle()
        return wire
      }
      connect().break(0)
      world.passSeconds(3_600)
      const wire = connect()
      assert.deepEqual(subscriber.payloads, ['x'])
      assert.equal(acksOf(wire).length, 1)
      assert.equal(world.view.findClient('me')?.unreleased, 1)
    }
  })

  test('frees identifiers of that age at mqtt.max_awaiting_rel, with their records, and no others', () => {
    const world = new World({ settings })
    const wire = world.wire({ version: 5 })
    wire.send(plainConnect(5, 'me', { cleanStart: false, properties: { sessionExpiryIntervalSeconds: 864_000 } }))
    const publish = (packetId: number): number | undefined => {
      wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId })
      world.settle()
      return acksOf(wire).at(-1)
    }
    const incoming = (): number => world.records().filter(({ kind }) => kind === 'incoming').length
    publish(1)
    world.passSeconds(30)
    publish(2)
    assert.equal(publish(3), reasonCodes.quotaExceeded)
    world.passSeconds(31)
    assert.equal(incoming(), 2)
    assert.equal(publish(3), reasonCodes.noMatchingSubscribers)
    assert.equal(incoming(), 2)
    assert.equal(publish(4), reasonCodes.quotaExceeded)
    world.passSeconds(30)
    assert.equal(publish(4), reasonCodes.noMatchingSubscribers)
  })
})
