// Delivery of QoS 1 and 2: sections 4.3 to 4.6 of both standards, 4.9 of 5.0, 3.3.4.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AckPacket, reasonCodes } from '../../src/protocol/index.ts'
import { World, type Wire } from '../simulator/world.ts'
import {
  ackBytes,
  acksOf,
  acknowledge,
  bytes,
  connectedRaw,
  durable,
  persistentWire,
  breakConnection,
  payloadOf,
  publishBytes,
  subscribeBytes,
  typesOf,
  versions,
  type Version,
} from './raw.ts'

function subscribed(world: World, version: Version, filter = 'a'): Wire {
  const wire = persistentWire(world, version)
  wire.sendBytes(subscribeBytes(version, filter, { options: 2 }))
  world.settle()
  return wire
}

for (const version of versions) {
  describe(`the sender's side in MQTT ${version}`, () => {
    for (const qos of [1, 2] as const) {
      test(`[MQTT-4.3.2-1] [MQTT-4.3.3-1] [MQTT5-4.3.2-1] [MQTT5-4.3.2-2] [MQTT5-4.3.3-1] [MQTT5-4.3.3-2] a new message of QoS ${qos} has an unused packet id and no DUP`, () => {
        const world = new World()
        const wire = subscribed(world, version)
        for (const payload of ['1', '2', '3']) world.publish('a', payload, { qos })
        const publishes = wire.of('publish')
        assert.deepEqual(
          publishes.map((packet) => [packet.qos, packet.dup]),
          [1, 2, 3].map(() => [qos, false]),
        )
        assert.equal(new Set(publishes.map(({ packetId }) => packetId)).size, 3)
      })
    }

    test('[MQTT-4.3.2-1] [MQTT5-4.3.2-3] QoS 1 is unacknowledged until PUBACK', () => {
      const world = new World()
      const wire = subscribed(world, version)
      world.publish('a', 'x', { qos: 1 })
      breakConnection(world, wire)
      const again = persistentWire(world, version)
      const [packet] = again.of('publish')
      assert.equal(packet?.dup, true)
      acknowledge(world, again, { type: 'puback', packetId: packet?.packetId ?? 0 })
      breakConnection(world, again)
      assert.deepEqual(persistentWire(world, version).of('publish'), [])
    })

    test('[MQTT-4.3.3-1] [MQTT5-4.3.3-3] [MQTT5-4.3.3-4] [MQTT5-4.3.3-5] [MQTT5-4.3.3-6] QoS 2: PUBLISH until PUBREC, then PUBREL until PUBCOMP and never PUBLISH again', () => {
      const world = new World()
      const first = subscribed(world, version)
      world.publish('a', 'x', { qos: 2 })
      const packetId = first.of('publish')[0]?.packetId ?? 0
      breakConnection(world, first)

      const second = persistentWire(world, version)
      assert.deepEqual(
        second.of('publish').map((packet) => [packet.packetId, packet.dup]),
        [[packetId, true]],
      )
      acknowledge(world, second, { type: 'pubrec', packetId })
      assert.deepEqual(
        acksOf(second, 'pubrel').map((packet) => packet.packetId),
        [packetId],
      )
      breakConnection(world, second)

      const third = persistentWire(world, version)
      assert.deepEqual(typesOf(third.received), ['connack', 'pubrel'])
      acknowledge(world, third, { type: 'pubrec', packetId })
      assert.deepEqual(typesOf(third.received), ['connack', 'pubrel', 'pubrel'])
      acknowledge(world, third, { type: 'pubcomp', packetId })
      breakConnection(world, third)
      assert.deepEqual(typesOf(persistentWire(world, version).received), ['connack'])
    })

    test('[MQTT-4.3.3-1] [MQTT5-4.3.3-3] [MQTT5-4.3.3-5] the state of QoS 2 deliveries survives a power loss', () => {
      const world = new World()
      const first = subscribed(world, version)
      world.publish('a', 'early', { qos: 2 })
      const early = first.of('publish')[0]?.packetId ?? 0
      acknowledge(world, first, { type: 'pubrec', packetId: early })
      world.publish('a', 'late', { qos: 2 })
      const late = first.of('publish')[1]?.packetId ?? 0
      world.restart('power-loss')

      const second = persistentWire(world, version)
      assert.deepEqual(
        acksOf(second, 'pubrel').map((packet) => packet.packetId),
        [early],
      )
      assert.deepEqual(
        second.of('publish').map((packet) => [packet.packetId, packet.dup, payloadOf(packet)]),
        [[late, true, 'late']],
      )
    })

    test('[MQTT-4.4.0-1] [MQTT-4.6.0-1] [MQTT5-4.4.0-1] [MQTT5-4.6.0-1] unacknowledged packets are sent again in the same order, PUBLISH with DUP and PUBREL, with the same packet identifiers', () => {
      const world = new World()
      const wire = subscribed(world, version)
      for (const [payload, qos] of [
        ['1', 1],
        ['2', 2],
        ['3', 2],
        ['4', 1],
        ['5', 2],
      ] as const)
        world.publish('a', payload, { qos })
      const ids = wire.of('publish').map(({ packetId }) => packetId)
      acknowledge(world, wire, { type: 'pubrec', packetId: ids[1] ?? 0 })
      acknowledge(world, wire, { type: 'puback', packetId: ids[0] ?? 0 })
      breakConnection(world, wire)
      const again = persistentWire(world, version)
      assert.deepEqual(
        again.received.slice(1).map((packet) => [packet.type, 'packetId' in packet ? packet.packetId : 0]),
        [
          ['pubrel', ids[1]],
          ['publish', ids[2]],
          ['publish', ids[3]],
          ['publish', ids[4]],
        ],
      )
      assert.ok(again.of('publish').every(({ dup }) => dup))
    })

    test('[MQTT-4.6.0-1] [MQTT5-4.6.0-1] the order is the same in each connection after a restart, though only QoS 2 keeps its packet identifiers', () => {
      const world = new World()
      const wire = subscribed(world, version)
      for (const qos of [1, 2, 1] as const) world.publish('a', `${wire.of('publish').length}`, { qos })
      world.restart('kill')
      const second = persistentWire(world, version)
      assert.deepEqual(second.of('publish').map(payloadOf), ['0', '1', '2'])
      breakConnection(world, second)
      assert.deepEqual(persistentWire(world, version).of('publish').map(payloadOf), ['0', '1', '2'])
    })

    test('[MQTT-4.6.0-4] [MQTT5-4.6.0-4] PUBRELs are sent in the order of the PUBRECs', () => {
      const world = new World()
      const wire = subscribed(world, version)
      for (const payload of ['1', '2', '3']) world.publish('a', payload, { qos: 2 })
      const [one = 0, two = 0, three = 0] = wire.of('publish').map(({ packetId }) => packetId)
      for (const packetId of [two, three, one]) wire.send(new AckPacket('pubrec', packetId, 0, undefined))
      world.settle()
      assert.deepEqual(
        acksOf(wire, 'pubrel').map(({ packetId }) => packetId),
        [two, three, one],
      )
    })

    test('[MQTT-4.6.0-5] [MQTT-4.6.0-6] [MQTT5-4.6.0-5] [MQTT5-4.6.0-6] messages of one client, topic and QoS reach every subscriber in order', () => {
      for (const qos of [0, 1, 2] as const) {
        const world = new World({ settings: { maxInflightMessages: 7, maxQueuedMessages: 1_000 } })
        const expected = Array.from({ length: 200 }, (_, index) => String(index))
        const live = world.subscriber('a', { version })
        const offlineClient = world.connect('offline', { version, ...durable })
        offlineClient.subscribe('a')
        const author = world.connect('author', { version })
        expected.forEach((payload, index) => {
          if (qos > 0 && index === 50) offlineClient.drop()
          author.publish('a', payload, { qos })
          if (qos > 0 && index === 150) offlineClient.connect()
        })
        assert.deepEqual(live.payloads, expected)
        assert.deepEqual(offlineClient.payloads, expected)
      }
    })
  })

  describe(`the receiver's side in MQTT ${version}`, () => {
    test('[MQTT-4.3.2-2] [MQTT5-4.3.2-4] [MQTT5-4.3.2-5] QoS 1: after PUBACK, a PUBLISH with the same packet identifier is a new message, with or without DUP', () => {
      const world = new World()
      const subscriber = world.subscriber('a')
      const end = connectedRaw(world, version)
      assert.equal(end.send(publishBytes(version, 'a', { flags: 0x02, packetId: 5, payload: '1' })), '40020005')
      assert.equal(end.send(publishBytes(version, 'a', { flags: 0x0a, packetId: 5, payload: '2' })), '40020005')
      assert.deepEqual(subscriber.payloads, ['1', '2'])
    })

    test('[MQTT-4.3.3-2] [MQTT5-4.3.3-8] [MQTT5-4.3.3-10] [MQTT5-4.3.3-11] [MQTT5-4.3.3-12] QoS 2: each PUBLISH gets PUBREC, one is delivered, and PUBCOMP frees the packet identifier', () => {
      const world = new World()
      const subscriber = world.subscriber('a')
      const end = connectedRaw(world, version)
      const publish = (payload: string, flags = 0x04): string =>
        end.send(publishBytes(version, 'a', { flags, packetId: 5, payload }))
      assert.equal(publish('once'), '50020005')
      assert.equal(publish('once', 0x0c), '50020005')
      assert.equal(publish('once'), '50020005')
      assert.deepEqual(subscriber.payloads, ['once'])
      assert.equal(end.send(ackBytes(0x62, 5)), '70020005')
      assert.equal(publish('anew'), '50020005')
      assert.deepEqual(subscriber.payloads, ['once', 'anew'])
    })

    test('[MQTT-4.3.3-2] [MQTT5-4.3.3-10] [MQTT5-4.3.3-11] a duplicate QoS 2 PUBLISH on another connection of the session, also after a power loss, is not delivered again', () => {
      const world = new World()
      const subscriber = world.connect('listener', { ...durable })
      subscriber.subscribe('a')
      const publish = (wire: Wire): void => {
        wire.sendPublish({ topic: 'a', payload: 'once', qos: 2, packetId: 5, dup: true })
        world.settle()
      }
      const first = persistentWire(world, version)
      publish(first)
      breakConnection(world, first)
      publish(persistentWire(world, version))
      world.restart('power-loss')
      subscriber.connect()
      const last = persistentWire(world, version)
      publish(last)
      assert.deepEqual(subscriber.payloads, ['once'])
      acknowledge(world, last, { type: 'pubrel', packetId: 5 })
      assert.deepEqual(
        acksOf(last, 'pubcomp').map((packet) => [packet.packetId, packet.reasonCode]),
        [[5, 0]],
      )
    })

    test('[MQTT-4.3.3-2] [MQTT5-4.3.3-11] PUBREL with an unknown packet identifier is acknowledged with PUBCOMP, in 5.0 with 0x92', () => {
      const end = connectedRaw(new World(), version)
      assert.match(end.send(ackBytes(0x62, 77)), version === 5 ? /^702a004d92261f/ : /^7002004d$/)
    })

    test('[MQTT-4.6.0-2] [MQTT-4.6.0-3] [MQTT5-4.6.0-2] [MQTT5-4.6.0-3] PUBACKs and PUBRECs are sent in the order of the messages, also if their commits complete in another order', () => {
      const world = new World()
      const offlineClient = world.connect('offline', { ...durable })
      offlineClient.subscribe('stored')
      world.subscriber('live')
      const wire = persistentWire(world, version)
      world.disk.hold()
      const sent = [
        ['stored', 1],
        ['live', 1],
        ['nobody', 2],
        ['live', 1],
        ['stored', 2],
        ['nobody', 1],
      ] as const
      sent.forEach(([topic, qos], index) => wire.sendPublish({ topic, payload: 'x', qos, packetId: index + 1 }))
      world.settle()
      world.disk.release()
      world.settle()
      assert.deepEqual(
        wire.received.slice(1).map((packet) => [packet.type, 'packetId' in packet ? packet.packetId : 0]),
        sent.map(([, qos], index) => [qos === 1 ? 'puback' : 'pubrec', index + 1]),
      )
    })

    test('[MQTT-4.5.0-1] [MQTT5-4.5.0-1] an acknowledged message is in the session of every subscriber, connected or not', () => {
      const world = new World()
      const offlineClients = ['one', 'two', 'three'].map((id) => world.connect(id, { version, ...durable }))
      for (const offlineClient of offlineClients) {
        offlineClient.subscribe('a')
        offlineClient.disconnect()
      }
      const live = world.connect('live', { version, ...durable })
      live.subscribe('a')
      live.stopReading()
      assert.equal(world.connect('author').publish('a', 'x', { qos: 1 }).isAcknowledged, true)
      world.restart('power-loss')
      for (const client of [...offlineClients, live]) {
        client.connect()
        assert.deepEqual(client.payloads, ['x'])
      }
    })
  })
}

describe('delivery in MQTT 5.0', () => {
  test('[MQTT5-4.4.0-1] no message is sent again while the connection is open', () => {
    const world = new World({ settings: { retryIntervalMs: 1_000 } })
    const wire = subscribed(world, 5)
    world.publish('a', '1', { qos: 1 })
    world.publish('a', '2', { qos: 2 })
    world.passSeconds(3_600)
    assert.equal(wire.of('publish').length, 2)
  })

  test('[MQTT5-4.4.0-2] [MQTT5-4.3.3-4] a PUBACK or PUBREC with an error ends the delivery: no PUBREL, no redelivery', () => {
    const world = new World()
    const wire = subscribed(world, 5)
    world.publish('a', '1', { qos: 1 })
    world.publish('a', '2', { qos: 2 })
    const [one = 0, two = 0] = wire.of('publish').map(({ packetId }) => packetId)
    acknowledge(world, wire, { type: 'puback', packetId: one, reason: reasonCodes.unspecifiedError })
    acknowledge(world, wire, { type: 'pubrec', packetId: two, reason: reasonCodes.quotaExceeded })
    assert.deepEqual(acksOf(wire, 'pubrel'), [])
    breakConnection(world, wire)
    assert.deepEqual(typesOf(persistentWire(world, 5).received), ['connack'])
    assert.equal(world.records().filter(({ kind }) => kind === 'queued' || kind === 'outgoing').length, 0)
  })

  test('[MQTT5-4.3.3-9] after a PUBREC with an error, the same packet identifier is a new message', () => {
    const world = new World()
    const subscriber = world.subscriber('a')
    const end = connectedRaw(world, 5)
    assert.match(end.send(publishBytes(5, '$SYS/x', { flags: 0x04, packetId: 5 })), /^50..000587/)
    assert.equal(end.send(publishBytes(5, 'a', { flags: 0x0c, packetId: 5, payload: 'new' })), '50020005')
    assert.deepEqual(subscriber.payloads, ['new'])
  })

  test('[MQTT5-4.3.3-7] a message that was sent once does not expire', () => {
    const world = new World()
    const wire = subscribed(world, 5)
    for (const qos of [1, 2] as const)
      world.publish('a', `${qos}`, { qos, properties: { messageExpiryIntervalSeconds: 10 } })
    assert.equal(wire.of('publish').length, 2)
    breakConnection(world, wire)
    world.passSeconds(100)
    const again = persistentWire(world, 5)
    assert.deepEqual(
      again.of('publish').map((packet) => [payloadOf(packet), packet.dup]),
      [
        ['1', true],
        ['2', true],
      ],
    )
  })

  test('[MQTT5-4.3.3-7] a message that was sent once does not expire after a restart', () => {
    const world = new World()
    const wire = subscribed(world, 5)
    for (const qos of [1, 2] as const)
      world.publish('a', `${qos}`, { qos, properties: { messageExpiryIntervalSeconds: 10 } })
    assert.equal(wire.of('publish').length, 2)
    world.crash('kill')
    world.passSeconds(100)
    world.start()
    const again = persistentWire(world, 5)
    assert.deepEqual(
      again.of('publish').map((packet) => [payloadOf(packet), packet.dup]),
      [
        ['1', true],
        ['2', true],
      ],
    )
  })

  test('[MQTT5-4.3.3-13] the QoS 2 exchange with the publisher completes though the message has expired', () => {
    const world = new World()
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a')
    offlineClient.disconnect()
    const wire = persistentWire(world, 5)
    const properties = { messageExpiryIntervalSeconds: 1 }
    wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId: 5, properties })
    world.settle()
    world.passSeconds(60)
    offlineClient.connect()
    assert.deepEqual(offlineClient.payloads, [])
    acknowledge(world, wire, { type: 'pubrel', packetId: 5 })
    assert.deepEqual(
      acksOf(wire, 'pubcomp').map((packet) => [packet.packetId, packet.reasonCode]),
      [[5, 0]],
    )
  })

  test('[MQTT5-3.4.2-1] [MQTT5-3.5.2-1] [MQTT5-3.6.2-1] [MQTT5-3.7.2-1] acknowledgements have reason codes of their tables', () => {
    const world = new World()
    world.subscriber('a')
    const end = connectedRaw(world, 5)
    assert.equal(end.send(publishBytes(5, 'a', { flags: 0x02, packetId: 1 })), '40020001')
    assert.equal(end.send(publishBytes(5, 'nobody', { flags: 0x02, packetId: 2 })), '4003000210')
    assert.match(end.send(publishBytes(5, '$SYS/x', { flags: 0x02, packetId: 3 })), /^40..000387/)
    assert.equal(end.send(publishBytes(5, 'nobody', { flags: 0x04, packetId: 4 })), '5003000410')
    assert.match(end.send(bytes`50 02 0063`), /^62..006392/, 'PUBREL for an unknown packet identifier')
    assert.equal(end.send(bytes`50 03 0063 80`), '', 'no packet after a PUBREC with an error')
    assert.match(end.send(bytes`62 02 0063`), /^70..006392/, 'PUBCOMP for an unknown packet identifier')
  })

  for (const [name, packet] of [
    ['PUBACK', bytes`40 03 0001 92`],
    ['PUBREC', bytes`50 03 0001 92`],
    ['PUBREL', bytes`62 03 0001 97`],
    ['PUBCOMP', bytes`70 03 0001 97`],
  ] as const) {
    test(`[MQTT5-3.4.2-1] [MQTT5-3.5.2-1] [MQTT5-3.6.2-1] [MQTT5-3.7.2-1] ${name} with a reason code of another packet type ends the connection`, () => {
      const end = connectedRaw(new World(), 5)
      assert.match(end.send(packet), /^e00[12]8[12]/)
      assert.equal(end.isOpen, false)
    })
  }
})
