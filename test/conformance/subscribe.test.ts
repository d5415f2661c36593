// SUBSCRIBE, SUBACK, UNSUBSCRIBE and UNSUBACK (sections 3.8 to 3.11 of both standards).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { Rulebook } from '../core/denied-actions.ts'
import { World } from '../simulator/world.ts'
import {
  acksOf,
  assertBytesEnd,
  bytes,
  connectedRaw,
  durable,
  frame,
  publishBytes,
  propertySection,
  silentClient,
  subscribeBytes,
  text,
  unsubscribeBytes,
  versions,
} from './raw.ts'

for (const version of versions) {
  describe(`SUBSCRIBE in MQTT ${version}`, () => {
    test('[MQTT-3.8.1-1] [MQTT5-3.8.1-1] SUBSCRIBE with other flags than 0010 is malformed', () => {
      for (const firstByte of [0x80, 0x81, 0x83, 0x8a, 0x86])
        assertBytesEnd(version, subscribeBytes(version, 'a', { firstByte }), 'malformedPacket', new World())
    })

    test('[MQTT-3.8.3-3] [MQTT5-3.8.3-2] SUBSCRIBE without a filter is a protocol error', () => {
      const empty = frame(0x82, Buffer.concat([bytes`0001`, propertySection(version)]))
      assertBytesEnd(version, empty, 'protocolError', new World())
    })

    test('[MQTT-3.8.3-4] [MQTT5-3.8.3-5] reserved bits beside the QoS, and QoS 3, are malformed', () => {
      const reserved = version === 5 ? [0x40, 0x80, 0xc1, 0x03] : [0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0x03]
      for (const options of reserved)
        assertBytesEnd(version, subscribeBytes(version, 'a', { options }), 'malformedPacket', new World())
    })

    test('[MQTT-3.8.4-1] [MQTT-3.8.4-4] [MQTT-3.8.4-5] [MQTT-3.9.3-1] [MQTT5-3.8.4-1] [MQTT5-3.8.4-5] [MQTT5-3.8.4-6] [MQTT5-3.8.4-7] [MQTT5-3.9.3-1] one SUBACK has a reason code for each filter, in order, and each granted filter is in force', () => {
      const world = new World()
      const end = connectedRaw(world, version, 'many')
      const filters = [bytes`${text('a')} 02`, bytes`${text('b/+')} 00`, bytes`${text('a')} 01`]
      const packet = frame(0x82, Buffer.concat([bytes`0007`, propertySection(version), ...filters]))
      assert.equal(end.send(packet), version === 5 ? '9006000700020001' : '90050007020001')
      assert.deepEqual(
        [...world.view.findSubscriptions('many')].map(([filter, { qos }]) => [filter, qos]),
        [
          ['a', 1],
          ['b/+', 0],
        ],
      )
    })

    test('[MQTT-3.9.3-1] [MQTT-3.9.3-2] [MQTT-3.8.3-2] [MQTT5-3.9.3-1] [MQTT5-3.9.3-2] [MQTT5-3.8.4-7] a refused filter has an error in its place, and the other filters are in force', () => {
      const settings = { wildcardSubscriptionAvailable: false, sharedSubscriptionAvailable: false, maxSubscriptions: 2 }
      const client = new World({ settings }).connect('me', { version })
      const codes = client.subscribe(['a', '#', '$share/g/a', 'b', 'c'], { qos: 1 })?.reasonCodes
      assert.deepEqual(codes, version === 5 ? [1, 0xa2, 0x9e, 1, 0x97] : [1, 0x80, 0x80, 1, 0x80])
    })

    test('[MQTT-3.8.4-5] [MQTT-3.9.3-2] [MQTT5-3.8.4-7] [MQTT5-3.9.3-2] a denied filter has an error in its place', () => {
      const permissions = new Rulebook({ action: 'subscribe', topic: 'secret' })
      const client = new World({ host: { permissions } }).connect('me', { version })
      const codes = client.subscribe(['a', 'secret', 'b'], { qos: 1 })?.reasonCodes
      assert.deepEqual(codes, version === 5 ? [1, 0x87, 1] : [1, 0x80, 1])
    })

    test('[MQTT-3.8.3-2] [MQTT5-3.9.3-2] a refused wildcard filter receives nothing', () => {
      const world = new World({ settings: { wildcardSubscriptionAvailable: false } })
      world.publish('a/b', 'retained', { retain: true })
      const client = world.connect('me', { version })
      client.subscribe(['a/+', '#', '$share/g/#'])
      world.publish('a/b', 'x')
      assert.deepEqual(client.payloads, [])
      assert.equal(world.view.findSubscriptions('me').size, 0)
    })

    test('[MQTT-3.3.1-9] [MQTT5-3.3.1-12] a message that is published right after SUBSCRIBE arrives once, though it is retained', () => {
      const world = new World()
      world.publish('a/old', 'old', { retain: true })
      const raw = connectedRaw(world, version)
      const hex = raw.send(subscribeBytes(version, 'a/+'), publishBytes(version, 'a/new', { flags: 1, payload: 'new' }))
      const live = publishBytes(version, 'a/new', { payload: 'new' }).toString('hex')
      const kept = publishBytes(version, 'a/old', { flags: 1, payload: 'old' }).toString('hex')
      assert.equal(hex.split(Buffer.from('a/new').toString('hex')).length - 1, 1, hex)
      assert.ok(hex.includes(live) && hex.includes(kept), hex)
      const later = connectedRaw(world, version).send(subscribeBytes(version, 'a/+'))
      assert.ok(later.includes(publishBytes(version, 'a/new', { flags: 1, payload: 'new' }).toString('hex')), later)
    })

    test('[MQTT-3.8.4-3] [MQTT5-3.8.4-3] [MQTT5-3.8.4-4] SUBSCRIBE with an existing filter replaces the subscription and sends retained messages again', () => {
      const world = new World()
      world.publish('a', 'kept', { qos: 2, retain: true })
      const client = world.connect('me', { version })
      client.subscribe('a', { qos: 2 })
      client.subscribe('a', { qos: 1 })
      assert.deepEqual(
        client.messages.map(({ payload, qos, retain }) => [payload, qos, retain]),
        [
          ['kept', 2, true],
          ['kept', 1, true],
        ],
      )
      world.publish('a', 'x', { qos: 2 })
      assert.deepEqual(
        client.messages.slice(2).map(({ payload, qos }) => [payload, qos]),
        [['x', 1]],
      )
    })

    test('[MQTT-3.8.4-3] [MQTT5-3.8.4-4] replacing a subscription loses no message', () => {
      const world = new World({ settings: { maxInflightMessages: 2 } })
      const client = silentClient(world, 'me', { version })
      client.subscribe('a')
      const author = world.connect('author')
      for (const payload of ['1', '2', '3', '4']) author.publish('a', payload, { qos: 1 })
      client.subscribe('a', { qos: 1 })
      author.publish('a', '5', { qos: 1 })
      client.acknowledges = true
      for (const message of client.messages.slice(0, 2)) client.acknowledge(message)
      assert.deepEqual(client.payloads, ['1', '2', '3', '4', '5'])
    })

    test('[MQTT-3.8.4-6] [MQTT5-3.8.4-8] a message is sent with the lower of its QoS and the granted one', () => {
      const world = new World()
      const subscribers = ([0, 1, 2] as const).map((qos) => world.subscriber('a', { version, qos }))
      for (const qos of [0, 1, 2] as const) world.publish('a', `${qos}`, { qos })
      assert.deepEqual(
        subscribers.map((client) => client.messages.map(({ qos }) => qos)),
        [
          [0, 0, 0],
          [0, 1, 1],
          [0, 1, 2],
        ],
      )
    })

    test('[MQTT-3.8.4-6] [MQTT5-3.8.4-8] a retained message is sent with the lower of its QoS and the granted one', () => {
      const world = new World()
      for (const qos of [0, 1, 2] as const) world.publish(`a/${qos}`, 'x', { qos, retain: true })
      const subscriber = world.subscriber('a/+', { version, qos: 1 })
      assert.deepEqual(Object.fromEntries(subscriber.messages.map(({ topic, qos }) => [topic, qos])), {
        'a/0': 0,
        'a/1': 1,
        'a/2': 1,
      })
    })
  })

  describe(`UNSUBSCRIBE in MQTT ${version}`, () => {
    test('[MQTT-3.10.1-1] [MQTT5-3.10.1-1] UNSUBSCRIBE with other flags than 0010 is malformed', () => {
      for (const firstByte of [0xa0, 0xa1, 0xa3, 0xaa, 0xa6])
        assertBytesEnd(version, unsubscribeBytes(version, 'a', { firstByte }), 'malformedPacket', new World())
    })

    test('[MQTT-3.10.3-2] [MQTT5-3.10.3-2] UNSUBSCRIBE without a filter is a protocol error', () => {
      const empty = frame(0xa2, Buffer.concat([bytes`0001`, propertySection(version)]))
      assertBytesEnd(version, empty, 'protocolError', new World())
    })

    test('[MQTT-3.10.4-1] [MQTT5-3.10.4-1] UNSUBSCRIBE deletes only the filter that is identical, character by character', () => {
      const world = new World()
      const client = world.connect('me', { version })
      client.subscribe(['a/+', 'a/#', 'a/b', 'A/b', '$share/g/a/b'])
      client.unsubscribe(['a/+', 'a/b/', '/a/b', '#', '+/b'])
      assert.deepEqual([...world.view.findSubscriptions('me').keys()], ['a/#', 'a/b', 'A/b', '$share/g/a/b'])
    })

    test('[MQTT-3.10.4-2] [MQTT5-3.10.4-2] after UNSUBSCRIBE, no new messages are sent for the filter', () => {
      const world = new World()
      const client = world.connect('me', { version })
      client.subscribe('a')
      client.unsubscribe('a')
      world.publish('a', 'x', { qos: 1 })
      assert.deepEqual(client.payloads, [])
    })

    test('[MQTT-3.10.4-3] [MQTT5-3.10.4-3] a delivery of QoS 1 or 2 that has begun is completed after UNSUBSCRIBE', () => {
      const world = new World()
      const client = silentClient(world, 'me', { version, ...durable })
      client.subscribe('a')
      world.publish('a', '1', { qos: 1 })
      world.publish('a', '2', { qos: 2 })
      client.unsubscribe('a')
      client.drop()
      client.acknowledges = true
      client.connect()
      assert.deepEqual(
        client.messages.slice(2).map(({ payload, dup }) => [payload, dup]),
        [
          ['1', true],
          ['2', true],
        ],
      )
      assert.equal(acksOf(client.wire!, 'pubrel').length, 1)
      assert.equal(world.view.findClient('me')?.inflight, 0)
    })

    test('[MQTT-3.10.4-4] [MQTT-3.10.4-5] [MQTT-3.10.4-6] [MQTT5-3.10.4-4] [MQTT5-3.10.4-5] [MQTT5-3.10.4-6] [MQTT5-3.11.3-1] [MQTT5-3.11.3-2] one UNSUBACK has a reason code for each filter, also for those without a subscription', () => {
      const world = new World()
      const end = connectedRaw(world, version, 'many')
      end.send(subscribeBytes(version, 'a'), subscribeBytes(version, 'c', { packetId: 2 }))
      const filters = [text('a'), text('b'), text('c')]
      const packet = frame(0xa2, Buffer.concat([bytes`0a0b`, propertySection(version), ...filters]))
      assert.equal(end.send(packet), version === 5 ? 'b0060a0b00001100' : 'b0020a0b')
      assert.equal(world.view.findSubscriptions('many').size, 0)
      assert.equal(end.send(unsubscribeBytes(version, 'never')), version === 5 ? 'b00400010011' : 'b0020001')
    })

    test('[MQTT-3.10.4-2] [MQTT5-3.10.4-2] [MQTT-3.1.2-4] [MQTT5-3.1.2-5] acknowledged subscribes and unsubscribes survive a power loss', () => {
      const world = new World()
      const client = world.connect('me', { version, ...durable })
      client.subscribe(['stays', 'goes'])
      client.unsubscribe('goes')
      world.restart('power-loss')
      client.connect()
      assert.deepEqual([...world.view.findSubscriptions('me').keys()], ['stays'])
    })
  })
}

describe('subscription options of MQTT 5.0', () => {
  test('[MQTT5-3.8.3-3] with no local, a client does not get its own messages, on any connection', () => {
    const world = new World()
    const client = world.connect('me', { ...durable })
    client.subscribe('a', { noLocal: true })
    client.subscribe('b')
    client.publish('a', 'mine', { qos: 1 })
    client.publish('b', 'mine too', { qos: 1 })
    client.drop()
    client.connect()
    client.publish('a', 'mine', { qos: 2 })
    world.publish('a', 'another’s')
    assert.deepEqual(client.payloads, ['mine too', 'another’s'])
  })

  test('[MQTT5-3.8.3-3] with no local, a client gets its own messages through another subscription without no local', () => {
    const world = new World()
    const client = world.connect('me')
    client.subscribe('a/b', { noLocal: true, identifier: 1 })
    client.subscribe('a/#', { qos: 1, identifier: 2 })
    client.publish('a/b', 'mine', { qos: 2 })
    assert.deepEqual(
      client.messages.map(({ qos, properties }) => [qos, properties?.subscriptionIdentifiers]),
      [[1, [2]]],
    )
  })

  test('[MQTT5-3.8.3-3] no local applies to live messages: the client gets its own retained message', () => {
    const world = new World()
    const client = world.connect('me')
    client.publish('a', 'mine', { retain: true })
    client.subscribe('a', { noLocal: true })
    assert.deepEqual(client.payloads, ['mine'])
    client.publish('a', 'live', { retain: true })
    assert.deepEqual(client.payloads, ['mine'])
  })

  test('[MQTT5-3.8.3-4] no local on a shared subscription is a protocol error', () => {
    assertBytesEnd(5, subscribeBytes(5, '$share/g/a', { options: 0x04 }), 'protocolError', new World())
  })

  test('[MQTT5-3.8.3-5] retain handling 3 is a protocol error', () => {
    assertBytesEnd(5, subscribeBytes(5, 'a', { options: 0x30 }), 'protocolError', new World())
  })

  test('[MQTT5-3.8.3-2] a subscription identifier of 0 is a protocol error', () => {
    assertBytesEnd(5, subscribeBytes(5, 'a', { properties: [bytes`0b 00`] }), 'protocolError', new World())
  })

  test('[MQTT5-3.9.3-2] while the disk fails, SUBACK refuses new subscriptions of a persistent session', () => {
    const world = new World()
    const client = world.connect('me', { ...durable })
    world.disk.fail()
    // Each shard notices the failure with its own first write: each has some of these topics.
    for (const topic of 'bcdefghi') world.connect('author').publish(topic, 'x', { retain: true })
    world.passSeconds(1)
    client.subscribe('a')
    world.disk.mend()
    world.passSeconds(2)
    assert.deepEqual(
      client.received('suback').map((packet) => packet.reasonCodes),
      [[reasonCodes.unspecifiedError]],
    )
    assert.equal(world.view.findSubscriptions('me').size, 0)
  })
})
