// Connections, disconnections and takeovers; MQTT 3.1; slow retained messages.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SeveralCores } from './peers/several-cores.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

describe('many connections with one client ID at the same time', () => {
  test('end with one connection, one session, and every message once', () => {
    const world = new World()
    const author = world.connect('author')
    const client = world.connect('storm', { ...durable })
    client.subscribe('a')
    const expected: string[] = []
    for (let count = 0; count < 300; count++) {
      expected.push(String(count))
      author.publish('a', String(count), { qos: 2 })
      client.connect()
    }
    assert.deepEqual(client.payloads, expected)
    assert.equal(world.view.connections, 2)
    assert.equal(world.view.sessions, 2)
    assert.equal(world.host.streams.size, 2)
    assert.equal(world.view.findClient('storm')?.inflight, 0)
    assert.equal(world.events('session-taken-over').length, 300)
  })

  test('while the disk is slow, have the same result', () => {
    const world = new World({ shards: 1, diskStepMs: 50 })
    const wires = Array.from({ length: 50 }, () => world.wire())
    const properties = { sessionExpiryIntervalSeconds: 600 }
    for (const wire of wires) wire.send(plainConnect(5, 'storm', { cleanStart: false, properties }))
    world.passSeconds(60)
    assert.equal(wires.filter(({ isOpen }) => isOpen).length, 1)
    assert.equal(wires.at(-1)?.isOpen, true)
    assert.equal(world.view.connections, 1)
    assert.equal(world.host.streams.size, 1)
    for (const wire of wires) assert.equal(wire.of('connack').length, 1)
  })

  test('with a clean start each time, leave no old state', () => {
    const world = new World()
    const client = world.connect('storm')
    for (let count = 0; count < 100; count++) {
      client.subscribe(`a/${count}`)
      client.connect()
    }
    world.publish('a/50', 'x')
    assert.deepEqual(client.payloads, [])
    assert.equal(world.view.sessions, 1)
    assert.equal(world.records().filter(({ kind }) => kind === 'session' || kind === 'subscription').length, 0)
  })
})

test('a message for two persistent sessions is stored for the second, though the first could not accept it', () => {
  const world = new World()
  const narrow = world.connect('narrow', { ...durable, maximumPacketBytes: 60 })
  const away = world.connect('away', durable)
  for (const client of [narrow, away]) client.subscribe('a')
  away.disconnect()
  const payload = 'long'.repeat(20)
  const publication = world.connect('author').publish('a', payload, { qos: 1 })
  assert.ok(publication.isAcknowledged)
  away.connect()
  assert.deepEqual([narrow.payloads, away.payloads], [[], [payload]])
})

describe('MQTT 3.1', () => {
  test('client IDs have 1 to 23 characters with mqtt.strict_clientid_31', () => {
    const world = new World({ settings: { limitsClientIdsOf31: true } })
    assert.equal(world.client('x'.repeat(23), { version: 3 }).connect()?.reasonCode, 0)
    assert.equal(world.client('ä'.repeat(23), { version: 3 }).connect()?.reasonCode, 0)
    for (const id of ['', 'x'.repeat(24)]) {
      const client = world.client(id, { version: 3 })
      assert.equal(client.connect()?.reasonCode, 2)
      assert.equal(client.hasOpenConnection, false)
    }
  })

  test('its CONNACK never has session present', () => {
    const world = new World()
    const client = world.connect('me', { version: 3, cleanStart: false })
    client.subscribe('a')
    client.drop()
    world.publish('a', 'kept', { qos: 1 })
    assert.equal(client.connect()?.sessionPresent, false)
    assert.deepEqual(client.payloads, ['kept'])
  })

  test('messages are exchanged between it and 5.0, at every QoS', () => {
    const world = new World()
    const oldest = world.subscriber('#', { version: 3 })
    const newest = world.subscriber('#')
    for (const qos of [0, 1, 2] as const) {
      world.publish('a', `from 3.1 at ${qos}`, { qos, version: 3 })
      world.publish('a', `from 5.0 at ${qos}`, { qos, properties: { contentType: 'text/plain' } })
    }
    assert.equal(oldest.payloads.length, 6)
    assert.deepEqual(oldest.payloads, newest.payloads)
  })
})

describe('mqtt.session_expiry_interval', () => {
  test('is the lifetime of a 3.1.1 session without clean session after its client disconnects', () => {
    const world = new World({ settings: { sessionExpirySeconds: 100 } })
    const client = world.connect('me', { version: 4, cleanStart: false })
    client.drop()
    world.passSeconds(99)
    assert.notEqual(world.view.findClient('me'), undefined)
    world.passSeconds(2)
    assert.equal(world.view.findClient('me'), undefined)
    assert.equal(world.records().filter(({ kind }) => kind === 'session').length, 0)
  })

  test('includes the time during which the broker is stopped', () => {
    const world = new World({ settings: { sessionExpirySeconds: 100 } })
    world.connect('me', { version: 4, cleanStart: false }).drop()
    world.crash('power-loss')
    world.passSeconds(200)
    world.start()
    world.passSeconds(1)
    assert.equal(world.view.findClient('me'), undefined)
  })
})

describe('a persistent session whose client reconnects with expiry 0', () => {
  for (const how of ['kill', 'power-loss', 'graceful'] as const) {
    test(`ends with that connection, also if the broker ends it (${how}) [MQTT5-3.1.2-23]`, () => {
      const world = new World()
      const client = world.connect('me', { version: 4, cleanStart: false })
      client.subscribe('a')
      client.drop()
      client.connect({ version: 5 })
      assert.equal(client.connack?.sessionPresent, true)
      world.restart(how)
      client.connect()
      assert.equal(client.connack?.sessionPresent, false)
      world.publish('a', 'x', { qos: 1 })
      assert.deepEqual(client.payloads, [])
      assert.deepEqual(
        world.records().filter(({ kind }) => kind === 'session' || kind === 'subscription'),
        [],
      )
    })
  }
})

/** Returns a broker with small limits and this number of retained messages. */
function remembering(count: number): World {
  const world = new World({ settings: { maxQueuedMessages: 50, maxInflightMessages: 10, maxUnsentBytes: 20_000 } })
  const author = world.connect('author')
  const all = Array.from({ length: count }, (_, index) => ({ topic: `r/${index}`, payload: 'x'.repeat(100) }))
  author.publishAll(all, { qos: 1, retain: true })
  return world
}

describe('retained messages for a wide filter', () => {
  for (const qos of [0, 1, 2] as const) {
    test(`all arrive at QoS ${qos}, though there are more than the queue limit`, () => {
      const world = remembering(3_000)
      const client = world.connect('me')
      client.subscribe('r/#', { qos })
      assert.equal(new Set(client.messages.map(({ topic }) => topic)).size, 3_000)
      assert.equal(client.messages.length, 3_000)
      assert.equal(world.view.counts.dropped['queue-full'] + world.view.counts.dropped['not-reading'], 0)
    })
  }

  test('a client that does not read delays no other client, and gets the rest when it reads', () => {
    const world = remembering(2_000)
    const slow = world.connect('slow')
    slow.stopReading()
    slow.subscribe('r/#', { qos: 0 })
    const quick = world.connect('quick')
    quick.subscribe('r/#', { qos: 0 })
    assert.equal(quick.messages.length, 2_000)
    assert.ok(slow.messages.length === 0)
    slow.resumeReading()
    world.settle()
    assert.equal(slow.messages.length, 2_000)
  })

  test('a client that acknowledges slowly still gets messages that are published meanwhile', () => {
    const world = remembering(500)
    const client = world.connect('slow')
    client.acknowledges = false
    client.subscribe(['r/#', 'live'], { qos: 1 })
    world.publish('live', 'now', { qos: 1 })
    client.acknowledges = true
    for (const message of client.messages.slice()) client.acknowledge(message)
    assert.ok(client.payloads.includes('now'))
    assert.equal(client.messages.length, 501)
  })

  test('a client that subscribes again meanwhile gets them from the start, and none of the earlier ones twice', () => {
    const world = remembering(500)
    const client = world.connect('slow')
    client.acknowledges = false
    client.subscribe('r/#', { qos: 1 })
    client.subscribe('r/#', { qos: 1 })
    client.acknowledges = true
    for (const message of client.messages.slice()) client.acknowledge(message)
    assert.equal(new Set(client.messages.map(({ topic }) => topic)).size, 500)
    assert.ok(client.messages.length < 600, `${client.messages.length}`)
  })

  test('a message that was deleted or replaced since the lookup is not sent after the newer one', () => {
    const world = remembering(500)
    const order = world.subscriber('r/#').messages.map(({ topic }) => topic)
    const [replaced = '', forgotten = ''] = order.slice(-2)
    const client = world.connect('slow')
    client.acknowledges = false
    client.subscribe('r/#', { qos: 1 })
    world.publish(replaced, 'newer', { qos: 1, retain: true })
    world.publish(forgotten, '', { qos: 1, retain: true })
    client.acknowledges = true
    for (const message of client.messages.slice()) client.acknowledge(message)
    const rowOf = (wanted: string): unknown =>
      client.messages.filter(({ topic }) => topic === wanted).map(({ payload }) => payload)
    assert.deepEqual([rowOf(replaced), rowOf(forgotten)], [['newer'], ['']])
    assert.equal(client.messages.length, 500)
  })

  test('a client that unsubscribes or disconnects meanwhile gets no more', () => {
    const world = remembering(500)
    const client = world.connect('slow')
    client.acknowledges = false
    client.subscribe('r/#', { qos: 1 })
    client.unsubscribe('r/#')
    client.acknowledges = true
    for (const message of client.messages.slice()) client.acknowledge(message)
    assert.ok(client.messages.length < 100, `${client.messages.length}`)
    const gone = world.connect('gone')
    gone.acknowledges = false
    gone.subscribe('r/#', { qos: 1 })
    gone.drop()
    assert.equal(world.view.hasMoreWork, false)
  })
})

describe('response information', () => {
  test('is a topic prefix of the client', () => {
    const world = new World()
    const responseInformationOf = (id: string): string =>
      world.connect(id, { properties: { requestResponseInformation: true } }).connack?.properties
        ?.responseInformation ?? ''
    assert.notEqual(responseInformationOf('one'), responseInformationOf('two'))
    assert.equal(responseInformationOf('one'), responseInformationOf('one'))
  })
})

describe('a change of settings', () => {
  test('applies to the next CONNECT, and to later packets of open connections', () => {
    const world = new World()
    const before = world.connect('before')
    world.changeSettings({ maxTopicLevels: 2, maxTopicBytes: 65_535, retainAvailable: false, maximumQoS: 1 })
    assert.equal(before.isConnected, true)
    assert.equal(world.connect('after').connack?.properties?.maximumQoS, 1)
    before.publish('a', 'x', { retain: true })
    assert.equal(before.disconnected?.reasonCode, reasonCodes.retainNotSupported)
  })

  test('to a smaller limit drops no queued message', () => {
    const world = new World()
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a')
    offlineClient.disconnect()
    for (const payload of ['1', '2', '3', '4']) world.publish('a', payload, { qos: 1 })
    world.changeSettings({ maxStoredMessages: 2, maxQueuedMessages: 1, maxInflightMessages: 1 })
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, ['1', '2', '3', '4'])
  })
})

test('an expired session has ended for its client also before the tick that deletes it (seed 886683)', () => {
  const cores = new SeveralCores({ shards: 1 })
  const offlineClient = cores.client(0, 'offline', { expirySeconds: 10 })
  const author = cores.client(0, 'author')
  cores.settle()
  offlineClient.subscribe('a')
  cores.settle()
  for (const [awaySeconds, isThere] of [
    [9, true],
    [10, false],
  ] as const) {
    cores.breakConnection(offlineClient)
    cores.settle()
    cores.nowMs += awaySeconds * 1_000
    cores.connect(offlineClient)
    cores.settle()
    const before = offlineClient.payloads.length
    author.publish('a', 'x')
    cores.settle()
    assert.equal(offlineClient.payloads.length - before, isThere ? 1 : 0)
  }
})
