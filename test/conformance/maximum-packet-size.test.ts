// The Maximum Packet Size of a client (section 3.1.2.11.4 of MQTT 5.0): larger packets are not sent.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AckPacket, measurePacket } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'
import {
  bytes,
  connectBytes,
  connectedRaw,
  connectedWire,
  durable,
  publishBytes,
  RawEnd,
  subscribeBytes,
  typesOf,
} from './raw.ts'

describe('the maximum packet size of a client', () => {
  test('[MQTT5-3.1.2-24] [MQTT5-3.1.2-25] a message that is too large for a client counts as delivered, and the next ones are sent', () => {
    const world = new World()
    const small = world.subscriber('a', { maximumPacketBytes: 100 })
    const large = world.subscriber('a')
    const author = world.connect('author')
    for (const qos of [0, 1, 2] as const) {
      const publication = author.publish('a', 'x'.repeat(100), { qos })
      author.publish('a', `small ${qos}`, { qos })
      assert.equal(publication.isComplete, true)
    }
    assert.deepEqual(small.payloads, ['small 0', 'small 1', 'small 2'])
    assert.equal(large.payloads.length, 6)
    assert.equal(world.view.counts.dropped['too-large'], 3)
    assert.equal(world.view.findClient(small.id)?.inflight, 0)
  })

  test('[MQTT5-3.1.2-24] a packet of exactly the maximum is sent, and one byte more is not', () => {
    const world = new World()
    const client = world.subscriber('a', { maximumPacketBytes: 100 })
    const author = world.connect('author')
    // Two bytes of fixed header, three of topic, one of property length.
    author.publish('a', 'x'.repeat(94))
    author.publish('a', 'x'.repeat(95))
    author.publish('a', 'x'.repeat(92), { qos: 1 })
    author.publish('a', 'x'.repeat(93), { qos: 1 })
    assert.deepEqual(
      client.payloads.map((payload) => payload.length),
      [94, 92],
    )
  })

  const deliveries = [
    ['published with QoS 1, delivered with QoS 0', { published: 1, granted: 0, upgradeQoS: false, largest: 94 }],
    ['published with QoS 0, delivered with QoS 1', { published: 0, granted: 1, upgradeQoS: true, largest: 92 }],
  ] as const
  for (const [what, { published, granted, upgradeQoS, largest }] of deliveries) {
    test(`[MQTT5-3.1.2-24] the limit is exact for a message ${what}`, () => {
      const world = new World({ settings: { upgradeQoS } })
      const client = world.connect('small', { maximumPacketBytes: 100 })
      client.subscribe('a', { qos: granted })
      const author = world.connect('author')
      author.publish('a', 'x'.repeat(largest), { qos: published })
      author.publish('a', 'x'.repeat(largest + 1), { qos: published })
      assert.deepEqual(
        client.messages.map(({ payload, qos }) => [payload.length, qos]),
        [[largest, granted]],
      )
    })
  }

  test('[MQTT5-3.1.2-24] [MQTT5-3.1.2-26] a message that would be too large with a topic alias is sent without one', () => {
    const world = new World()
    const wire = connectedWire(world, 5, { properties: { maximumPacketSizeBytes: 100, topicAliasMaximum: 10 } })
    wire.sendBytes(subscribeBytes(5, 'a'))
    world.settle()
    // An alias takes three bytes.
    for (const payloadBytes of [91, 92, 94, 95]) world.publish('a', 'x'.repeat(payloadBytes))
    assert.deepEqual(
      wire
        .of('publish')
        .map(({ payloadStart, frameEnd, properties }) => [frameEnd - payloadStart, properties?.topicAlias]),
      [
        [91, 1],
        [92, undefined],
        [94, undefined],
      ],
    )
  })

  test('[MQTT5-3.1.2-25] a stored message that is too large for the client when it reconnects is deleted', () => {
    const world = new World()
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a')
    offlineClient.disconnect()
    world.publish('a', 'x'.repeat(200), { qos: 1 })
    world.publish('a', 'y'.repeat(200), { qos: 2 })
    world.publish('a', 'small', { qos: 1 })
    offlineClient.connect({ maximumPacketBytes: 100 })
    assert.deepEqual(offlineClient.payloads, ['small'])
    assert.equal(world.records().filter(({ kind }) => kind === 'queued' || kind === 'outgoing').length, 0)
  })

  test('[MQTT5-3.1.2-24] [MQTT5-3.1.2-25] a message in flight that is too large for the smaller maximum of the next connection is deleted', () => {
    const world = new World()
    const client = connectedWire(world, 5, {
      clientId: 'me',
      cleanStart: false,
      properties: { sessionExpiryIntervalSeconds: 600 },
    })
    client.sendBytes(subscribeBytes(5, 'a', { options: 2 }))
    world.settle()
    world.publish('a', 'x'.repeat(200), { qos: 1 })
    world.publish('a', 'x'.repeat(200), { qos: 2 })
    client.break(0)
    world.settle()
    const back = connectedWire(world, 5, {
      clientId: 'me',
      cleanStart: false,
      properties: { sessionExpiryIntervalSeconds: 600, maximumPacketSizeBytes: 100 },
    })
    world.publish('a', 'small', { qos: 1 })
    assert.deepEqual(
      back.of('publish').map((packet) => packet.qos),
      [1],
    )
    assert.equal(world.view.findClient('me')?.inflight, 1)
  })

  test('[MQTT5-3.1.2-24] [MQTT5-3.2.2-19] [MQTT5-3.2.2-20] a CONNACK that would be too large is not sent', () => {
    const world = new World()
    const end = new RawEnd(world)
    const response = end.send(connectBytes(5, { properties: [bytes`27 0000000a`] }))
    assert.ok(response.length <= 20, `${response.length / 2} bytes for a client with a maximum of 10`)
    assert.equal(end.isOpen, false, 'a client that cannot get CONNACK is refused')
  })

  for (const [maximumPacketBytes, expected] of [
    [1, ''],
    [4, ''],
    [5, '2003009500'],
  ] as const) {
    test(`[MQTT5-3.1.2-24] a client with a maximum of ${maximumPacketBytes} bytes is refused with ${expected === '' ? 'none' : 'five'}`, () => {
      const end = new RawEnd(new World())
      const properties = [Buffer.from([0x27, 0, 0, 0, maximumPacketBytes])]
      assert.equal(end.send(connectBytes(5, { properties })), expected)
      assert.equal(end.isOpen, false)
    })
  }

  test('[MQTT5-3.1.2-24] [MQTT5-3.9.2-1] [MQTT5-3.9.2-2] [MQTT5-3.11.2-1] [MQTT5-3.11.2-2] [MQTT5-3.14.2-3] [MQTT5-3.14.2-4] a SUBACK, UNSUBACK or DISCONNECT that would be too large is not sent', () => {
    for (const request of ['subscribe', 'unsubscribe'] as const) {
      const world = new World()
      const wire = connectedWire(world, 5, { properties: { maximumPacketSizeBytes: 30 } })
      const filters = Array.from({ length: 40 }, (_, index) => `a/${index}`)
      if (request === 'unsubscribe')
        wire.send({ type: 'unsubscribe', packetId: 1, filters: filters as never, properties: undefined })
      else {
        const options = { qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
        const subscriptions = filters.map((filter) => ({ filter: filter as never, ...options }))
        wire.send({ type: 'subscribe', packetId: 1, subscriptions, properties: undefined })
      }
      world.settle()
      assert.deepEqual(typesOf(wire.received), ['connack', 'disconnect'])
      assert.equal(wire.isOpen, false)
    }
  })

  test('[MQTT5-3.4.2-2] [MQTT5-3.4.2-3] [MQTT5-3.5.2-2] [MQTT5-3.5.2-3] [MQTT5-3.6.2-2] [MQTT5-3.6.2-3] [MQTT5-3.7.2-2] [MQTT5-3.7.2-3] acknowledgements and refusals fit the smallest maximum', () => {
    const refused = { packetId: 9, dup: false, retain: false, payload: 'x' } as const
    for (const maximumPacketSizeBytes of [29, 30, 43, 44] as const) {
      const world = new World()
      const wire = connectedWire(world, 5, { properties: { maximumPacketSizeBytes } })
      wire.sendPublish({ ...refused, topic: '$SYS/x', qos: 1 })
      wire.sendPublish({ ...refused, topic: '$SYS/x', qos: 2 })
      wire.sendBytes(bytes`62 02 0009`)
      wire.sendBytes(bytes`50 02 0009`)
      world.settle()
      const acks = wire.received.filter((packet) => packet instanceof AckPacket)
      assert.equal(acks.length, 4)
      for (const ack of acks) assert.ok(measurePacket(ack, 5) <= maximumPacketSizeBytes)
      const withText = acks.filter(({ properties }) => properties?.reasonString !== undefined)
      assert.equal(withText.length, { 29: 0, 30: 2, 43: 2, 44: 4 }[maximumPacketSizeBytes])
    }
    const world = new World()
    const end = connectedRaw(world, 5)
    const plain = [
      end.send(publishBytes(5, 'nobody', { flags: 0x02, packetId: 1 })),
      end.send(publishBytes(5, 'nobody', { flags: 0x04, packetId: 3 })),
      end.send(bytes`62 02 0003`),
    ]
    for (const response of plain) assert.ok(response.length > 0 && response.length <= 12, response)
  })

  test('[MQTT5-3.1.2-29] a client without Request Problem Information gets no reason strings, but all properties of messages', () => {
    const world = new World()
    const wire = connectedWire(world, 5, { properties: { requestProblemInformation: false } })
    wire.sendBytes(subscribeBytes(5, 'a', { options: 2 }))
    wire.sendPublish({ topic: '$SYS/x', payload: 'x', qos: 1, packetId: 1 })
    wire.sendPublish({ topic: '$SYS/x', payload: 'x', qos: 2, packetId: 2 })
    wire.sendBytes(bytes`62 02 0009`)
    world.settle()
    world.publish('a', 'x', { properties: { userProperties: [['a', 'b']] } })
    for (const packet of wire.received) {
      if (packet.type === 'publish') assert.deepEqual(packet.properties?.userProperties, [['a', 'b']])
      else if (packet.type !== 'connack')
        assert.equal('properties' in packet ? packet.properties : undefined, undefined)
    }
    assert.deepEqual(typesOf(wire.received), ['connack', 'suback', 'puback', 'pubrec', 'pubcomp', 'publish'])
  })
})
