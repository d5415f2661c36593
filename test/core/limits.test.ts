// Each queue has a named limit, with a defined behavior at the limit.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { BrokerCore, type AuthenticationResult } from '../../src/core/index.ts'
import { defaultCoreSettings } from './default-settings.ts'
import { AckPacket, reasonCodes, TopicTable } from '../../src/protocol/index.ts'
import { World, type Client, type Wire } from '../simulator/world.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const

/** Returns a client that receives QoS 1 and 2 and acknowledges nothing. */
function silent(world: World, id: string, options: Parameters<World['connect']>[1] = {}): Client {
  const client = world.connect(id, options)
  client.acknowledges = false
  return client
}

function acknowledgeAll(client: Client): void {
  client.acknowledges = true
  for (const message of client.messages.slice()) client.acknowledge(message)
}

/** The results of ten messages for a client with an in-flight window of two and queue space for three more. */
function afterTen(queueFullPolicy: 'drop-newest' | 'drop-oldest'): { payloads: string[]; dropped: number } {
  const world = new World({ settings: { maxInflightMessages: 2, maxQueuedMessages: 3, queueFullPolicy } })
  const client = silent(world, 'slow')
  client.subscribe('a')
  const author = world.connect('author')
  for (let count = 0; count < 10; count++) {
    assert.equal(author.publish('a', String(count), { qos: 1 }).reasonCode, 0, 'the publisher is not affected')
  }
  assert.equal(world.view.findClient('slow')?.waiting, 3)
  acknowledgeAll(client)
  return { payloads: client.payloads, dropped: world.view.counts.dropped['queue-full'] }
}

/** Returns an offline client whose queue is full. */
function fullWorld(): { world: World; offlineClient: Client } {
  const world = new World({ settings: { maxStoredMessages: 3, storedMessagesOverflow: 'reject-publish' } })
  const offlineClient = world.connect('offline', { ...durable })
  offlineClient.subscribe('a')
  offlineClient.disconnect()
  for (const payload of ['1', '2', '3']) world.publish('a', payload, { qos: 1 })
  return { world, offlineClient }
}

describe('mqtt.max_mqueue_len, for sessions without stored data', () => {
  test('drop-newest keeps the first messages in the queue', () => {
    assert.deepEqual(afterTen('drop-newest'), { payloads: ['0', '1', '2', '3', '4'], dropped: 5 })
  })

  test('drop-oldest keeps the last messages', () => {
    assert.deepEqual(afterTen('drop-oldest'), { payloads: ['0', '1', '7', '8', '9'], dropped: 5 })
  })

  test('each drop is reported with its reason and client', () => {
    const world = new World({ settings: { maxInflightMessages: 1, maxQueuedMessages: 1 } })
    silent(world, 'slow').subscribe('a')
    for (let count = 0; count < 3; count++) world.publish('a', String(count), { qos: 1 })
    const drops = world.events('message-dropped').map(({ clientId, reason }) => [clientId, reason])
    assert.deepEqual(drops, [['slow', 'queue-full']])
  })

  test('every drop is counted, and at most 64 drops per 100 ms are reported as events', () => {
    const world = new World({ settings: { maxInflightMessages: 1, maxQueuedMessages: 1 } })
    silent(world, 'slow').subscribe('a')
    const flood = (): void => {
      for (let count = 0; count < 100; count++) world.publish('a', 'x', { qos: 1 })
    }
    flood()
    const droppedEvents = (): number => world.events('message-dropped').length
    assert.deepEqual([droppedEvents(), world.view.counts.dropped['queue-full']], [64, 98])
    world.passMs(100)
    flood()
    assert.deepEqual([droppedEvents(), world.view.counts.dropped['queue-full']], [128, 198])
  })

  test('does not apply to a persistent session: further messages are queued on disk', () => {
    const world = new World({ settings: { maxInflightMessages: 2, maxQueuedMessages: 3 } })
    const client = silent(world, 'slow', { ...durable })
    client.subscribe('a')
    const expected = Array.from({ length: 50 }, (_, index) => String(index))
    const author = world.connect('author')
    for (const payload of expected) author.publish('a', payload, { qos: 1 })
    acknowledgeAll(client)
    assert.deepEqual(client.payloads, expected)
    assert.equal(world.view.counts.dropped['queue-full'], 0)
  })
})

/** Returns a session of at most three messages, and a live subscriber of the same topic. */
function overflowing(version: 3 | 4 | 5, isConnected: boolean) {
  const world = new World({ settings: { maxStoredMessages: 3, maxInflightMessages: 1 } })
  const subscriber = silent(world, 'full', { ...durable })
  subscriber.subscribe('a')
  if (!isConnected) subscriber.disconnect()
  const live = world.subscriber('a')
  const author = world.connect('author', { version })
  return { world, subscriber, live, author }
}

describe('mqtt.stored_messages_overflow = drop_oldest', () => {
  for (const version of [4, 5] as const)
    for (const qos of [1, 2] as const)
      test(`a ${version}.x publisher of QoS ${qos} is acknowledged, and the full session loses its own oldest messages`, () => {
        const { world, subscriber, live, author } = overflowing(version, false)
        const expected = Array.from({ length: 10 }, (_, number) => String(number))
        for (const payload of expected) {
          const published = author.publish('a', payload, { qos })
          assert.deepEqual([published.isComplete, published.reasonCode ?? 0], [true, 0])
        }
        world.settle()
        assert.deepEqual(live.payloads, expected)
        assert.equal(world.view.counts.dropped['storage-full'], 7)
        const drops = world.events('message-dropped').map(({ clientId, reason }) => [clientId, reason])
        assert.deepEqual(drops[0], ['full', 'storage-full'])
        subscriber.connect()
        acknowledgeAll(subscriber)
        assert.deepEqual(subscriber.payloads, ['7', '8', '9'])
      })

  test('a connected session with a message in flight keeps it, and its newest messages', () => {
    const { world, subscriber, author } = overflowing(5, true)
    for (const payload of ['1', '2', '3', '4', '5', '6']) author.publish('a', payload, { qos: 1 })
    world.settle()
    acknowledgeAll(subscriber)
    assert.deepEqual(subscriber.payloads, ['1', '5', '6'])
  })

  test('messages that have expired are counted as expired', () => {
    const { world, author } = overflowing(5, false)
    for (const payload of ['1', '2', '3'])
      author.publish('a', payload, { qos: 1, properties: { messageExpiryIntervalSeconds: 1 } })
    world.passSeconds(2)
    author.publish('a', '4', { qos: 1 })
    world.settle()
    assert.deepEqual([world.view.counts.dropped.expired, world.view.counts.dropped['storage-full']], [1, 0])
  })

  test('a restart with a lower limit loses no queued message, and further messages push out the oldest', () => {
    const { world, subscriber, author } = overflowing(5, false)
    for (const payload of ['1', '2', '3']) author.publish('a', payload, { qos: 1 })
    world.changeSettings({ maxStoredMessages: 2 })
    world.restart('kill')
    world.publish('a', '4', { qos: 1 })
    world.settle()
    subscriber.connect()
    acknowledgeAll(subscriber)
    assert.deepEqual(subscriber.payloads, ['3', '4'])
  })

  test('a change of the setting applies at once, in both directions', () => {
    const { world, author } = overflowing(5, false)
    for (const payload of ['1', '2', '3', '4']) author.publish('a', payload, { qos: 1 })
    world.changeSettings({ storedMessagesOverflow: 'reject-publish' })
    assert.equal(author.publish('a', '5', { qos: 1 }).reasonCode, reasonCodes.quotaExceeded)
    world.changeSettings({ storedMessagesOverflow: 'drop-oldest' })
    assert.equal(author.publish('a', '6', { qos: 1 }).reasonCode, 0)
  })
})

describe('mqtt.stored_messages_overflow = reject_publish', () => {
  test('a 5.0 publisher gets 0x97, and no subscriber gets the message', () => {
    const { world, offlineClient } = fullWorld()
    const live = world.subscriber('a')
    const author = world.connect('author')
    for (const qos of [1, 2] as const) {
      const refused = author.publish('a', 'too much', { qos, retain: true })
      assert.equal(refused.reasonCode, reasonCodes.quotaExceeded)
      assert.equal(refused.isComplete, true)
    }
    assert.deepEqual(live.payloads, [])
    assert.equal(world.view.retainedMessages, 0)
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, ['1', '2', '3'])
    assert.equal(author.publish('a', 'space again', { qos: 1 }).reasonCode, 0)
    assert.deepEqual(offlineClient.payloads.at(-1), 'space again')
  })

  test('a 3.1.1 publisher is not acknowledged: it waits until the session has space, and nothing is lost', () => {
    for (const qos of [1, 2] as const) {
      const { world, offlineClient } = fullWorld()
      const live = world.subscriber('a')
      const author = world.connect('author', { version: 4 })
      const waiting = author.publish('a', 'late', { qos })
      const behind = author.publish('b', 'behind it', { qos })
      assert.deepEqual([waiting.isComplete, behind.isComplete, live.payloads.length], [false, false, 0])
      offlineClient.connect()
      world.settle()
      assert.deepEqual([waiting.isComplete, behind.isComplete], [true, true])
      assert.deepEqual(live.payloads, ['late'])
      assert.deepEqual(offlineClient.payloads, ['1', '2', '3', 'late'])
      assert.equal(world.view.counts.dropped['storage-full'], 0)
    }
  })

  test('a publisher does not wait for its own full session, whose acknowledgements would be behind its message', () => {
    const world = new World({ settings: { maxStoredMessages: 3, storedMessagesOverflow: 'reject-publish' } })
    const own = silent(world, 'own', { ...durable, version: 4 })
    own.subscribe('a')
    for (const payload of ['1', '2', '3', '4', '5'])
      assert.equal(own.publish('a', payload, { qos: 1 }).isComplete, true)
    acknowledgeAll(own)
    assert.deepEqual(own.payloads, ['1', '2', '3', '4', '5'])
  })

  test('QoS 0 and other topics are not affected', () => {
    const { world } = fullWorld()
    const live = world.subscriber('#')
    const author = world.connect('author')
    author.publish('a', 'QoS 0')
    assert.equal(author.publish('b', 'elsewhere', { qos: 1 }).reasonCode, 0)
    assert.deepEqual(live.payloads, ['QoS 0', 'elsewhere'])
  })

  test('a restart frees no space', () => {
    const { world, offlineClient } = fullWorld()
    world.restart('kill')
    assert.equal(world.connect('author').publish('a', 'x', { qos: 1 }).reasonCode, reasonCodes.quotaExceeded)
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, ['1', '2', '3'])
  })

  test('the end of the full session frees its space', () => {
    const { world, offlineClient } = fullWorld()
    offlineClient.connect({ cleanStart: true })
    offlineClient.subscribe('a')
    assert.equal(world.connect('author').publish('a', 'x', { qos: 1 }).reasonCode, 0)
    assert.deepEqual(offlineClient.payloads, ['x'])
  })
})

/** Returns a client that sends this number of QoS 2 packets and no PUBREL. */
function unreleased(world: World, version: 3 | 4 | 5, count: number): Wire {
  const bare = world.wire({ version })
  bare.send(plainConnect(version, 'me'))
  for (let packetId = 1; packetId <= count; packetId++) bare.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId })
  world.settle()
  return bare
}

const acknowledgements = (wire: Wire): number[] =>
  wire.received.flatMap((packet) => (packet.type === 'pubrec' ? [packet.reasonCode] : []))

describe('the limits of retained messages', () => {
  test('retainer.max_retained_messages: a message to a further topic is not retained, but delivered; an existing one still changes', () => {
    const world = new World({ settings: { maxRetainedMessages: 2 } })
    const live = world.subscriber('#')
    for (const topic of ['a', 'b', 'c', 'a']) world.publish(topic, `${topic}!`, { qos: 1, retain: true })
    assert.deepEqual(live.payloads, ['a!', 'b!', 'c!', 'a!'])
    assert.equal(world.view.retainedMessages, 2)
    assert.equal(world.view.counts.dropped['no-retained-room'], 1)
    world.publish('b', '', { retain: true })
    world.publish('c', 'c!', { retain: true })
    assert.deepEqual(new Set(world.subscriber('#').payloads), new Set(['a!', 'c!']))
  })

  test('the limit applies to all shards together, and messages of the broker itself do not count', () => {
    let elsewhere = 1
    const topics = new TopicTable(64)
    const settings = { ...defaultCoreSettings, maxRetainedMessages: 3, retainedExpiryMs: 1_000 }
    const core = new BrokerCore(settings, { identity: 'x', topics, countRetainedOnPeers: () => elsewhere })
    const keep = (topic: string): void => {
      const content = { payload: Buffer.from('x'), qos: 0, retain: true, properties: undefined, clientId: '' } as const
      const isOfBroker = topic.startsWith('$SYS/')
      core.handle({ kind: 'command', requestId: 0, command: { name: 'publish', topic, ...content, isOfBroker } }, 1)
    }
    for (const topic of ['$SYS/a', '$SYS/b', '$SYS/c', 'a', 'b', 'c']) keep(topic)
    assert.deepEqual([core.view.retainedMessages, core.view.retainedOfClients], [5, 2])
    elsewhere = 0
    keep('c')
    assert.equal(core.view.retainedOfClients, 3)
    core.handle({ kind: 'tick' }, 2_000)
    assert.deepEqual([core.view.retainedMessages, core.view.retainedOfClients], [3, 0])
  })

  test('apply to a retained will as well', () => {
    const world = new World({ shards: 1, settings: { maxRetainedMessages: 1 } })
    world.publish('a', 'x', { retain: true })
    for (let count = 0; count < 5; count++) {
      world.connect('will-client', { will: { topic: `wills/${count}`, payload: 'gone', retain: true } }).drop()
    }
    assert.equal(world.view.retainedMessages, 1)
  })

  describe('retainer.max_payload_size', () => {
    const larger = '0123456789+'

    test('a larger message is delivered, and the topic has no retained message then: never an older one', () => {
      for (const how of [{ qos: 0 }, { qos: 1, version: 4 }, { qos: 2, version: 4 }] as const) {
        const world = new World({ settings: { maxRetainedPayloadBytes: 10 } })
        const { version = 5, qos } = how
        const live = world.subscriber('a')
        const publisher = world.connect('publisher', { version })
        publisher.publish('a', '0123456789', { retain: true })
        assert.equal(world.view.retainedMessages, 1)
        publisher.publish('a', larger, { retain: true, qos })
        assert.equal(world.view.retainedMessages, 0)
        assert.deepEqual(live.payloads, ['0123456789', larger])
        assert.deepEqual(world.subscriber('a').payloads, [])
        assert.equal(world.records().filter(({ kind }) => kind === 'retained').length, 0)
      }
    })

    test('a client of 5.0 is refused with 0x97, and no message has changed', () => {
      for (const qos of [1, 2] as const) {
        const world = new World({ settings: { maxRetainedPayloadBytes: 10 } })
        const live = world.subscriber('a')
        world.publish('a', 'kept', { retain: true })
        const wire = world.wire({ version: 5 })
        wire.send(plainConnect(5, 'me'))
        wire.sendPublish({ topic: 'a', payload: larger, qos, retain: true, packetId: 7 })
        world.settle()
        const acks = wire.received.filter((packet) => packet instanceof AckPacket)
        assert.deepEqual(
          acks.map(({ type, reasonCode }) => [type, reasonCode]),
          [[qos === 1 ? 'puback' : 'pubrec', reasonCodes.quotaExceeded]],
        )
        assert.deepEqual(live.payloads, ['kept'])
        assert.deepEqual(world.subscriber('a').payloads, ['kept'])
      }
    })
  })

  test('retainer.msg_expiry_interval: a retained message without an expiry is deleted after it', () => {
    const world = new World({ settings: { retainedExpiryMs: 60_000 } })
    world.publish('a', 'x', { retain: true })
    world.publish('b', 'x', { retain: true, properties: { messageExpiryIntervalSeconds: 100 } })
    world.passSeconds(59)
    assert.equal(world.view.retainedMessages, 2)
    world.passSeconds(2)
    assert.equal(world.view.retainedMessages, 1)
    world.passSeconds(40)
    assert.equal(world.view.retainedMessages, 0)
    assert.equal(world.records().filter(({ kind }) => kind === 'retained').length, 0)
  })
})

/** The client `eager` gets its authentication result after a second, all others at once. */
function eagerWorld(decision: AuthenticationResult): World {
  const allowed = { allowed: true } as const
  const host = {
    decision: ({ clientId }: { clientId: string }) =>
      clientId === 'eager' ? { decision, afterMs: 1_000 } : { decision: allowed, afterMs: 0 },
  }
  return new World({ host, settings: { maxParkedPackets: 5 } })
}

describe('mqtt.max_parked_packets', () => {
  const slowly = { host: { decision: () => ({ decision: { allowed: true } as const, afterMs: 1_000 }) } }

  test('a client that sends more before CONNACK is not read until then, and all packets are handled in order', () => {
    const world = eagerWorld({ allowed: true })
    const subscriber = world.subscriber('a')
    const client = world.client('eager')
    client.connect()
    const all = Array.from({ length: 400 }, (_, number) => `${number}`)
    for (const payload of all) client.wire?.sendPublish({ topic: 'a', payload })
    world.passMs(900)
    assert.deepEqual(subscriber.payloads, [])
    world.passSeconds(2)
    assert.equal(client.hasOpenConnection, true)
    assert.deepEqual(subscriber.payloads, all)
  })

  test('packets of a refused client are ignored', () => {
    const world = eagerWorld({ allowed: false, reason: reasonCodes.notAuthorized })
    const subscriber = world.subscriber('a')
    const client = world.client('eager')
    client.connect()
    for (let count = 0; count < 20; count++) client.wire?.sendPublish({ topic: 'a', payload: 'x' })
    world.passSeconds(2)
    assert.equal(client.hasOpenConnection, false)
    assert.deepEqual(subscriber.payloads, [])
  })

  test('packets of a client up to the limit are handled in order', () => {
    const world = new World({ ...slowly, settings: { maxParkedPackets: 5 } })
    const client = world.client('eager')
    client.connect()
    for (let count = 0; count < 5; count++)
      client.wire?.sendPublish({ topic: 'a', payload: String(count), retain: true })
    world.passSeconds(2)
    assert.equal(client.isConnected, true)
    assert.equal(world.view.findClient('eager')?.receivedMessages, 5)
  })

  test('a client that disconnects during its authentication leaves no state', () => {
    const world = new World(slowly)
    const client = world.client('gone', { ...durable })
    client.connect()
    client.drop()
    world.passSeconds(2)
    assert.equal(world.view.sessions, 0)
    assert.equal(world.view.connections, 0)
  })
})

describe('mqtt.max_awaiting_rel', () => {
  test('refuses a further QoS 2 packet of a 5.0 client that has the maximum, until it releases one', () => {
    const world = new World({ settings: { maxAwaitingRelease: 3, receiveMaximum: 10 } })
    const subscriber = world.subscriber('a')
    const wire = unreleased(world, 5, 4)
    assert.deepEqual(acknowledgements(wire), [0, 0, 0, reasonCodes.quotaExceeded])
    assert.equal(subscriber.payloads.length, 3)
    wire.sendBytes(Buffer.from('62020001', 'hex'))
    wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId: 4 })
    world.settle()
    assert.deepEqual(acknowledgements(wire).slice(4), [0])
    assert.equal(world.view.findClient('me')?.unreleased, 3)
  })

  for (const version of [3, 4] as const) {
    test(`MQTT ${version}: an older client, which gets no reason, is served above it`, () => {
      const world = new World({ settings: { maxAwaitingRelease: 3 } })
      assert.deepEqual(acknowledgements(unreleased(world, version, 5)), [0, 0, 0, 0, 0])
    })
  }

  test('a repeated packet is not counted', () => {
    const world = new World({ settings: { maxAwaitingRelease: 1 } })
    const wire = unreleased(world, 5, 1)
    wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId: 1, dup: true })
    world.settle()
    assert.deepEqual(acknowledgements(wire), [reasonCodes.noMatchingSubscribers, reasonCodes.success])
  })
})

describe('mqtt.idle_timeout', () => {
  test('a connection without any packet is closed after it without a response', () => {
    const world = new World({ settings: { idleTimeoutMs: 5_000 } })
    const wire = world.wire()
    world.passMs(4_999)
    assert.equal(wire.isOpen, true)
    world.passMs(2)
    assert.equal(wire.isOpen, false)
    assert.deepEqual(wire.received, [])
  })

  test('closes a connection with half a CONNECT', () => {
    const world = new World({ settings: { idleTimeoutMs: 5_000 } })
    const wire = world.wire()
    for (const byte of [0x10, 0x20, 0x00, 0x04]) {
      wire.sendBytes(Buffer.from([byte]))
      world.passSeconds(1)
    }
    world.passSeconds(2)
    assert.equal(wire.isOpen, false)
  })
})

describe('mqtt.max_unsent_bytes', () => {
  test('of a client that does not read: QoS 0 is dropped and counted, QoS 1 waits', () => {
    const world = new World({ settings: { maxUnsentBytes: 50_000 } })
    const client = world.connect('slow')
    client.subscribe('a')
    client.stopReading()
    const author = world.connect('author')
    for (let count = 0; count < 200; count++) author.publish('a', 'x'.repeat(1_000))
    for (let count = 0; count < 20; count++) author.publish('a', String(count), { qos: 1 })
    const dropped = world.view.counts.dropped['not-reading']
    assert.ok(dropped > 100, `${dropped} were dropped`)
    client.resumeReading()
    world.settle()
    assert.deepEqual(
      client.payloads.filter((payload) => payload.length < 3),
      Array.from({ length: 20 }, (_, at) => String(at)),
    )
    assert.equal(client.payloads.length, 220 - dropped)
  })
})
