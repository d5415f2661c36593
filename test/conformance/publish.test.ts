// PUBLISH and retained messages (section 3.3 of both standards).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { World } from '../simulator/world.ts'
import {
  assertBytesEnd,
  bytes,
  connectedRaw,
  connectedWire,
  durable,
  publishBytes,
  silentClient,
  subscribeBytes,
  text,
  versions,
} from './raw.ts'

for (const version of versions) {
  describe(`PUBLISH in MQTT ${version}`, () => {
    test('[MQTT-3.3.1-2] [MQTT5-3.3.1-2] [MQTT-4.3.1-1] [MQTT5-4.3.1-1] QoS 0 is sent without DUP, and a QoS 0 PUBLISH with DUP is malformed', () => {
      const world = new World()
      const end = connectedRaw(world, version)
      end.send(subscribeBytes(version, 'a', { options: 2 }))
      world.publish('a', 'x')
      assert.equal(end.take()[0], 0x30)
      assertBytesEnd(version, publishBytes(version, 'a', { flags: 0x08 }), 'malformedPacket', world)
    })

    test('[MQTT-3.3.1-3] [MQTT5-3.3.1-3] DUP of the publisher is not forwarded to subscribers', () => {
      const world = new World()
      const subscriber = world.subscriber('a', { version })
      const end = connectedRaw(world, version)
      end.send(publishBytes(version, 'a', { flags: 0x0a, packetId: 1, payload: 'once' }))
      end.send(publishBytes(version, 'a', { flags: 0x0c, packetId: 2, payload: 'twice' }))
      assert.deepEqual(
        subscriber.messages.map(({ payload, dup }) => [payload, dup]),
        [
          ['once', false],
          ['twice', false],
        ],
      )
    })

    test('[MQTT-3.3.1-4] [MQTT5-3.3.1-4] a PUBLISH with QoS 3 is malformed', () => {
      assertBytesEnd(version, publishBytes(version, 'a', { flags: 0x06, packetId: 1 }), 'malformedPacket', new World())
    })

    test('[MQTT-3.3.2-2] [MQTT5-3.3.2-2] [MQTT-4.7.1-1] [MQTT5-4.7.0-1] a topic with wildcards ends the connection', () => {
      for (const topic of ['a/+', '#', 'a/#', '+', 'a+b', 'a#']) {
        assertBytesEnd(version, publishBytes(version, topic), 'malformedPacket', new World())
      }
    })

    test('[MQTT-3.3.2-1] [MQTT5-3.3.2-1] a PUBLISH that ends within its topic is malformed', () => {
      assertBytesEnd(version, bytes`30 03 0005 61`, 'malformedPacket', new World())
      assertBytesEnd(version, bytes`30 01 00`, 'malformedPacket', new World())
      assertBytesEnd(version, bytes`32 04 0001 61 00`, 'malformedPacket', new World())
    })

    test('[MQTT-3.3.2-3] [MQTT5-3.3.2-3] a subscriber gets the messages whose topic its filter matches, with the published topic', () => {
      const world = new World()
      const subscriber = world.subscriber(['a/+/c', 'd/#'], { version })
      for (const topic of ['a/b/c', 'a/b', 'a/b/c/d', 'd', 'd/e/f', 'e']) world.publish(topic, 'x')
      assert.deepEqual(
        subscriber.messages.map(({ topic }) => topic),
        ['a/b/c', 'd', 'd/e/f'],
      )
    })

    test('[MQTT-3.3.4-1] [MQTT5-3.3.4-1] PUBLISH gets no acknowledgement, PUBACK or PUBREC, depending on its QoS', () => {
      const world = new World()
      world.subscriber('a')
      const wire = connectedWire(world, version)
      for (const qos of [0, 1, 2] as const) wire.sendPublish({ topic: 'a', payload: 'x', qos, packetId: qos })
      world.settle()
      assert.deepEqual(
        wire.received.slice(1).map((packet) => [packet.type, 'packetId' in packet && packet.packetId]),
        [
          ['puback', 1],
          ['pubrec', 2],
        ],
      )
    })

    test('[MQTT-3.3.5-1] [MQTT5-3.3.4-2] with overlapping subscriptions, the highest QoS applies', () => {
      const world = new World()
      const subscriber = world.connect('listener', { version })
      subscriber.subscribe('a/#', { qos: 0 })
      subscriber.subscribe('a/b', { qos: 2 })
      subscriber.subscribe('+/b', { qos: 1 })
      world.publish('a/b', 'x', { qos: 2 })
      assert.equal(Math.max(...subscriber.messages.map(({ qos }) => qos)), 2)
      assert.equal(subscriber.messages.length, 1, 'one copy is sent')
    })
  })

  describe(`retained messages in MQTT ${version}`, () => {
    test('[MQTT-3.3.1-5] [MQTT-3.3.1-6] [MQTT-3.3.1-8] [MQTT5-3.3.1-5] the last retained message is stored with its QoS and sent to new subscriptions with the retain flag', () => {
      for (const qos of [0, 1, 2] as const) {
        const world = new World()
        const author = world.connect('author', { version })
        author.publish('a', 'first', { qos, retain: true })
        author.publish('a', 'last', { qos, retain: true })
        author.publish('b', 'other', { qos, retain: true })
        const late = world.subscriber('a', { version })
        assert.deepEqual(
          late.messages.map(({ payload, retain, qos: given }) => [payload, retain, given]),
          [['last', true, qos]],
        )
      }
    })

    test('[MQTT-3.3.1-5] [MQTT5-3.3.1-5] an acknowledged retained message survives a power loss', () => {
      const world = new World()
      const author = world.connect('author', { version })
      author.publish('a', 'kept', { qos: 1, retain: true })
      world.restart('power-loss')
      assert.deepEqual(world.subscriber('a', { version }).payloads, ['kept'])
    })

    test('[MQTT-3.3.1-7] [MQTT5-3.3.1-5] a retained QoS 0 message replaces one of QoS 2', () => {
      const world = new World()
      world.publish('a', 'old', { qos: 2, retain: true })
      world.publish('a', 'new', { qos: 0, retain: true })
      assert.deepEqual(world.subscriber('a', { version }).payloads, ['new'])
    })

    test('[MQTT-3.3.1-9] [MQTT5-3.3.1-12] an existing subscription gets messages without the retain flag', () => {
      const world = new World()
      const subscriber = world.subscriber('a', { version })
      world.publish('a', 'x', { qos: 1, retain: true })
      assert.deepEqual(
        subscriber.messages.map(({ retain }) => retain),
        [false],
      )
    })

    test('[MQTT-3.3.1-10] [MQTT-3.3.1-11] [MQTT5-3.3.1-6] [MQTT5-3.3.1-7] a retained message with an empty payload is delivered, deletes the stored one, and is not stored', () => {
      const world = new World()
      const subscriber = world.subscriber('a', { version })
      world.publish('a', 'x', { retain: true })
      world.publish('a', '', { qos: 1, retain: true })
      world.publish('b', '', { retain: true })
      assert.deepEqual(subscriber.payloads, ['x', ''])
      assert.equal(world.view.retainedMessages, 0)
      assert.deepEqual(world.subscriber(['a', 'b'], { version }).payloads, [])
      world.restart()
      assert.deepEqual(world.subscriber('a', { version }).payloads, [])
    })

    test('[MQTT-3.3.1-12] [MQTT5-3.3.1-8] a message without the retain flag does not change the retained message', () => {
      const world = new World()
      world.publish('a', 'kept', { retain: true })
      world.publish('a', 'passing', { qos: 1 })
      world.publish('a', '', { qos: 1 })
      world.publish('b', 'passing', { qos: 1 })
      assert.deepEqual(world.subscriber(['a', 'b'], { version }).payloads, ['kept'])
    })
  })
}

test('[MQTT-3.3.5-2] the PUBLISH of a 3.1.1 client without permission is acknowledged, and reaches no subscriber', () => {
  const world = new World()
  const subscriber = world.subscriber('$SYS/#')
  const end = connectedRaw(world, 4)
  assert.equal(end.send(publishBytes(4, '$SYS/x', { flags: 0x03, packetId: 1 })), '40020001')
  assert.equal(end.send(publishBytes(4, '$SYS/x', { flags: 0x04, packetId: 2 })), '50020002')
  assert.equal(end.send(bytes`62 02 0002`), '70020002')
  assert.equal(end.send(publishBytes(4, '$SYS', { flags: 0x03, packetId: 3 })), '40020003')
  assert.deepEqual(subscriber.payloads, [])
  assert.equal(world.view.retainedMessages, 0)
})

for (const topic of ['$share/group/a', '$queue/a', '$exclusive/a']) {
  test(`[MQTT5-4.8.2-1] [bad-input 14] a PUBLISH to ${topic} is not authorized and reaches no subscriber: the prefix is reserved for subscriptions`, () => {
    const world = new World()
    const subscriber = world.connect('listener')
    subscriber.subscribe(topic.startsWith('$exclusive') ? 'a' : topic)
    const [raw4, raw5] = [connectedRaw(world, 4, 'raw4'), connectedRaw(world, 5, 'raw5')]
    assert.equal(raw4.send(publishBytes(4, topic, { flags: 0x03, packetId: 1 })), '40020001')
    assert.match(raw5.send(publishBytes(5, topic, { flags: 0x03, packetId: 1 })), /^40..000187/)
    assert.match(raw5.send(publishBytes(5, topic, { flags: 0x04, packetId: 2 })), /^50..000287/)
    assert.equal(world.client('will-client', { will: { topic, payload: 'x' } }).connect()?.reasonCode, 0x87)
    assert.deepEqual(subscriber.payloads, [])
    assert.equal(world.view.retainedMessages, 0)
    // The prefix is reserved only at the beginning of a topic.
    assert.equal(raw5.send(publishBytes(5, `a/${topic}`, { flags: 0x02, packetId: 3 })), '4003000310')
  })
}

describe('retain options of MQTT 5.0', () => {
  test('[MQTT5-3.3.1-9] [MQTT5-3.8.4-4] retain handling 0: retained messages are sent after every SUBSCRIBE', () => {
    const world = new World()
    world.publish('a', 'kept', { retain: true })
    const client = world.connect('me')
    client.subscribe('a', { retainHandling: 0 })
    client.subscribe('a', { retainHandling: 0 })
    assert.deepEqual(
      client.messages.map(({ payload, retain }) => [payload, retain]),
      [
        ['kept', true],
        ['kept', true],
      ],
    )
  })

  test('[MQTT5-3.3.1-10] retain handling 1: retained messages are sent only if the subscription is new', () => {
    const world = new World()
    world.publish('a', 'kept', { retain: true })
    const client = world.connect('me', { ...durable })
    client.subscribe('a', { retainHandling: 1 })
    client.subscribe('a', { retainHandling: 1, qos: 1 })
    assert.equal(client.messages.length, 1)
    client.drop()
    client.connect()
    client.subscribe('a', { retainHandling: 1 })
    assert.equal(client.messages.length, 1, 'the subscription existed')
    client.unsubscribe('a')
    client.subscribe('a', { retainHandling: 1 })
    assert.equal(client.messages.length, 2, 'the subscription is new again')
  })

  test('[MQTT5-3.3.1-11] retain handling 2: retained messages are not sent', () => {
    const world = new World()
    world.publish('a', 'kept', { retain: true })
    const client = world.connect('me')
    client.subscribe('a', { retainHandling: 2 })
    assert.deepEqual(client.payloads, [])
  })

  test('[MQTT5-3.3.1-12] [MQTT5-3.3.1-13] the retain flag is forwarded only with retain as published', () => {
    const world = new World()
    const cleared = world.subscriber('a')
    const asPublished = world.subscriber('a', { retainAsPublished: true })
    world.publish('a', '1', { retain: true })
    world.publish('a', '2', { qos: 2 })
    world.publish('a', '3', { qos: 1, retain: true })
    assert.deepEqual(
      cleared.messages.map(({ retain }) => retain),
      [false, false, false],
    )
    assert.deepEqual(
      asPublished.messages.map(({ retain }) => retain),
      [true, false, true],
    )
  })

  test('[MQTT5-3.3.1-13] retain as published applies to messages that are stored for a disconnected client, too', () => {
    const world = new World()
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a', { retainAsPublished: true })
    offlineClient.disconnect()
    world.publish('a', '1', { qos: 1, retain: true })
    world.publish('a', '2', { qos: 1 })
    world.restart('kill')
    offlineClient.connect()
    assert.deepEqual(
      offlineClient.messages.map(({ retain }) => retain),
      [true, false],
    )
  })
})

const allProperties = {
  payloadFormatIndicator: 1,
  contentType: 'text/plain; charset=utf-8',
  responseTopic: 'responses/to/me',
  correlationData: Buffer.from([0, 255, 1, 254]),
  userProperties: [
    ['z', '1'],
    ['a', '2'],
    ['z', '1'],
    ['', 'no name'],
    ['ключ', '値'],
  ],
} as const

describe('message properties of MQTT 5.0', () => {
  for (const qos of [0, 1, 2] as const) {
    test(`[MQTT5-3.3.2-4] [MQTT5-3.3.2-15] [MQTT5-3.3.2-16] [MQTT5-3.3.2-17] [MQTT5-3.3.2-18] [MQTT5-3.3.2-20] at QoS ${qos} they are forwarded unchanged`, () => {
      const world = new World()
      const subscribers = [
        world.subscriber('a'),
        world.subscriber('a', { identifier: 7 }),
        world.subscriber('a', { topicAliasMaximum: 5 }),
      ]
      world.publish('a', 'x', { qos, properties: allProperties })
      for (const subscriber of subscribers) {
        const { subscriptionIdentifiers, topicAlias, ...properties } = subscriber.messages[0]?.properties ?? {}
        void [subscriptionIdentifiers, topicAlias]
        assert.deepEqual(properties, allProperties)
      }
    })
  }

  test('[MQTT5-3.3.2-4] [MQTT5-3.3.2-15] [MQTT5-3.3.2-16] [MQTT5-3.3.2-17] [MQTT5-3.3.2-18] [MQTT5-3.3.2-20] of retained and queued messages, they are unchanged after a restart', () => {
    const world = new World()
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a', { retainHandling: 2 })
    offlineClient.disconnect()
    world.publish('a', 'x', { qos: 1, retain: true, properties: allProperties })
    world.restart('power-loss')
    offlineClient.connect()
    assert.deepEqual(offlineClient.messages[0]?.properties, allProperties)
    assert.deepEqual(world.subscriber('a').messages[0]?.properties, allProperties)
  })

  test('[MQTT5-3.3.2-17] a client of an older version gets the message without them', () => {
    const world = new World()
    const old = world.subscriber('a', { version: 4 })
    world.publish('a', 'x', { qos: 1, properties: allProperties })
    assert.deepEqual(old.payloads, ['x'])
  })

  test('[MQTT5-3.3.2-14] a response topic with wildcards is a protocol error', () => {
    for (const topic of ['a/+', '#']) {
      const packet = publishBytes(5, 'a', { properties: [bytes`08 ${text(topic)}`] })
      assertBytesEnd(5, packet, 'protocolError', new World())
    }
  })

  test('[MQTT5-3.3.2-5] a message that expires before its delivery has begun is deleted', () => {
    const world = new World()
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a')
    offlineClient.disconnect()
    world.publish('a', 'brief', { qos: 1, properties: { messageExpiryIntervalSeconds: 10 } })
    world.publish('a', 'brief too', { qos: 2, properties: { messageExpiryIntervalSeconds: 10 } })
    world.publish('a', 'lasting', { qos: 1 })
    world.publish('r', 'retained', { retain: true, properties: { messageExpiryIntervalSeconds: 10 } })
    world.passSeconds(11)
    assert.deepEqual(world.subscriber('r').payloads, [])
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, ['lasting'])
    assert.equal(world.records().filter(({ kind }) => kind === 'queued' || kind === 'retained').length, 0)
  })

  test('[MQTT5-3.3.2-5] with an expiry of 0, a message is delivered at once at every QoS, and never later', () => {
    const properties = { messageExpiryIntervalSeconds: 0 }
    for (const qos of [0, 1, 2] as const) {
      const world = new World()
      const present = world.connect('present')
      present.subscribe('a')
      const offlineClient = world.connect('offline', { ...durable })
      offlineClient.subscribe('a')
      offlineClient.disconnect()
      world.publish('a', 'x', { qos, retain: true, properties })
      world.passSeconds(1)
      offlineClient.connect()
      assert.deepEqual([present.payloads, offlineClient.payloads], [['x'], []], `QoS ${qos}`)
      assert.deepEqual(world.subscriber('a').payloads, [])
    }
  })

  test('[MQTT5-3.3.2-5] a retained message that expires while the broker is stopped is deleted from the disk', () => {
    const world = new World()
    world.publish('r', 'retained', { retain: true, properties: { messageExpiryIntervalSeconds: 10 } })
    world.stop()
    world.passSeconds(11)
    world.start()
    assert.deepEqual(world.subscriber('r').payloads, [])
    assert.equal(world.view.retainedMessages, 0)
    assert.deepEqual(
      world.records().filter(({ kind }) => kind === 'retained'),
      [],
    )
  })

  test('[MQTT5-3.3.2-5] a message that waits for the in-flight window of a connected client expires, too', () => {
    const world = new World()
    const client = silentClient(world, 'slow', { receiveMaximum: 1 })
    client.subscribe('a')
    const author = world.connect('author')
    author.publish('a', 'first', { qos: 1 })
    author.publish('a', 'brief', { qos: 1, properties: { messageExpiryIntervalSeconds: 10 } })
    author.publish('a', 'lasting', { qos: 1 })
    world.passSeconds(11)
    client.acknowledge(client.messages[0])
    assert.deepEqual(client.payloads, ['first', 'lasting'])
  })

  test('[MQTT5-3.3.2-6] the forwarded expiry is the remaining time', () => {
    const world = new World()
    const live = world.subscriber('a')
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a', { retainHandling: 2 })
    offlineClient.disconnect()
    world.publish('a', 'x', { qos: 1, retain: true, properties: { messageExpiryIntervalSeconds: 100 } })
    world.passSeconds(30)
    offlineClient.connect()
    const late = world.subscriber('a')
    const left = [live, offlineClient, late].map(
      (client) => client.messages[0]?.properties?.messageExpiryIntervalSeconds,
    )
    assert.deepEqual(left, [100, 70, 70])
  })

  test('[MQTT5-3.3.2-5] [MQTT5-3.3.2-6] messages expire while the broker is stopped', () => {
    const world = new World()
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a')
    offlineClient.disconnect()
    world.publish('a', 'brief', { qos: 1, properties: { messageExpiryIntervalSeconds: 20 } })
    world.publish('a', 'longer', { qos: 1, properties: { messageExpiryIntervalSeconds: 100 } })
    world.crash('kill')
    world.passSeconds(30)
    world.start()
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, ['longer'])
    assert.equal(offlineClient.messages[0]?.properties?.messageExpiryIntervalSeconds, 70)
  })
})
