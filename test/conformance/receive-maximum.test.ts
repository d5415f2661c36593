// Receive Maximum in both directions (sections 3.3.4 and 4.9 of MQTT 5.0).

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'
import {
  acknowledge,
  connectedWire,
  durable,
  persistentWire,
  breakConnection,
  payloadOf,
  silentClient,
  subscribeBytes,
  typesOf,
} from './raw.ts'

describe('Receive Maximum', () => {
  test('[MQTT5-3.3.4-7] [MQTT5-4.13.1-1] one PUBLISH more than the Receive Maximum of the broker ends the connection with 0x93', () => {
    const world = new World({ settings: { receiveMaximum: 3 } })
    world.subscriber('a')
    const wire = connectedWire(world, 5)
    assert.equal(wire.of('connack')[0]?.properties?.receiveMaximum, 3)
    const publish = (packetId: number): void => {
      wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId })
      world.settle()
    }
    for (const packetId of [1, 2, 3]) publish(packetId)
    acknowledge(world, wire, { type: 'pubrel', packetId: 1 })
    publish(4)
    assert.equal(wire.isOpen, true)
    publish(5)
    assert.deepEqual(
      wire.of('disconnect').map(({ reasonCode }) => reasonCode),
      [reasonCodes.receiveMaximumExceeded],
    )
    assert.equal(wire.isOpen, false)
  })

  test('[MQTT5-3.3.4-7] a repeated QoS 2 PUBLISH is not counted again', () => {
    const world = new World({ settings: { receiveMaximum: 1 } })
    const wire = connectedWire(world, 5)
    for (const dup of [false, true, true]) wire.sendPublish({ topic: 'a', payload: 'x', qos: 2, packetId: 1, dup })
    world.settle()
    assert.deepEqual(typesOf(wire.received), ['connack', 'pubrec', 'pubrec', 'pubrec'])
    acknowledge(world, wire, { type: 'pubrel', packetId: 1 })
    wire.sendPublish({ topic: 'a', payload: 'y', qos: 1, packetId: 2 })
    world.settle()
    assert.equal(wire.isOpen, true)
  })

  test('[MQTT5-3.3.4-7] QoS 1 is counted until PUBACK is sent', () => {
    const world = new World({ settings: { receiveMaximum: 2 } })
    const offlineClient = world.connect('offline', { ...durable })
    offlineClient.subscribe('a')
    const wire = connectedWire(world, 5)
    world.disk.hold()
    for (const packetId of [1, 2]) wire.sendPublish({ topic: 'a', payload: 'x', qos: 1, packetId })
    world.settle()
    assert.equal(wire.isOpen, true)
    world.disk.release()
    world.settle()
    for (const packetId of [3, 4]) wire.sendPublish({ topic: 'a', payload: 'x', qos: 1, packetId })
    world.settle()
    assert.equal(wire.isOpen, true, 'the first two had been acknowledged')
    world.disk.hold()
    for (const packetId of [5, 6, 7]) wire.sendPublish({ topic: 'a', payload: 'x', qos: 1, packetId })
    world.settle()
    world.disk.release()
    world.settle()
    assert.deepEqual(
      wire.of('disconnect').map(({ reasonCode }) => reasonCode),
      [reasonCodes.receiveMaximumExceeded],
    )
  })

  test('[MQTT5-3.3.4-9] [MQTT5-4.9.0-1] [MQTT5-4.9.0-2] at most as many messages are in flight as the Receive Maximum of the client', () => {
    const world = new World()
    const wire = persistentWire(world, 5, 2)
    wire.sendBytes(subscribeBytes(5, 'a', { options: 2 }))
    world.settle()
    for (const [payload, qos] of [
      ['1', 1],
      ['2', 2],
      ['3', 1],
      ['4', 2],
    ] as const)
      world.publish('a', payload, { qos })
    const payloads = (): string => wire.of('publish').map(payloadOf).join('')
    assert.equal(payloads(), '12')
    const [one = 0, two = 0] = wire.of('publish').map(({ packetId }) => packetId)
    acknowledge(world, wire, { type: 'pubrec', packetId: two })
    assert.equal(payloads(), '12', 'PUBREC alone frees no slot')
    acknowledge(world, wire, { type: 'puback', packetId: one })
    assert.equal(payloads(), '123')
    acknowledge(world, wire, { type: 'pubcomp', packetId: two })
    assert.equal(payloads(), '1234')
  })

  test('[MQTT5-3.3.4-9] [MQTT5-4.9.0-2] a PUBREC with an error frees a slot', () => {
    const world = new World()
    const wire = persistentWire(world, 5, 1)
    wire.sendBytes(subscribeBytes(5, 'a', { options: 2 }))
    world.settle()
    for (const payload of ['1', '2']) world.publish('a', payload, { qos: 2 })
    acknowledge(world, wire, {
      type: 'pubrec',
      packetId: wire.of('publish')[0]?.packetId ?? 0,
      reason: reasonCodes.unspecifiedError,
    })
    assert.deepEqual(wire.of('publish').map(payloadOf), ['1', '2'])
  })

  test('[MQTT5-3.3.4-10] [MQTT5-4.9.0-3] other packets are processed while the in-flight window is full', () => {
    const world = new World()
    const wire = persistentWire(world, 5, 1)
    wire.sendBytes(subscribeBytes(5, '#', { options: 2 }))
    world.settle()
    world.publish('a', '1', { qos: 1 })
    world.publish('a', '2', { qos: 1 })
    world.publish('a', 'QoS 0')
    wire.sendBytes(subscribeBytes(5, 'b', { packetId: 9 }))
    wire.send({ type: 'pingreq' })
    wire.sendPublish({ topic: '$other', payload: 'x', qos: 1, packetId: 5 })
    world.settle()
    const responses = typesOf(wire.received).slice(4)
    assert.deepEqual(responses.toSorted(), ['pingresp', 'puback', 'suback'])
    assert.deepEqual(wire.of('publish').map(payloadOf), ['1', 'QoS 0'])
  })

  test('[MQTT5-3.3.4-9] [MQTT5-4.9.0-1] [MQTT5-4.9.0-2] a client that reconnects with a smaller Receive Maximum has at most so many messages in flight', () => {
    const world = new World()
    const wire = persistentWire(world, 5, 10)
    wire.sendBytes(subscribeBytes(5, 'a', { options: 2 }))
    world.settle()
    for (const payload of ['1', '2', '3', '4', '5']) world.publish('a', payload, { qos: 1 })
    assert.equal(wire.of('publish').length, 5)
    breakConnection(world, wire)
    const again = persistentWire(world, 5, 2)
    assert.deepEqual(again.of('publish').map(payloadOf), ['1', '2'])
    for (let count = 0; count < 5; count++) {
      acknowledge(world, again, { type: 'puback', packetId: again.of('publish')[count]?.packetId ?? 0 })
    }
    assert.deepEqual(again.of('publish').map(payloadOf), ['1', '2', '3', '4', '5'])
    assert.ok(again.of('publish').every(({ dup }) => dup))
  })

  for (const qos of [1, 2] as const) {
    test(`[MQTT5-3.3.4-9] [MQTT5-4.9.0-2] the limit also applies after a restart, at QoS ${qos}`, () => {
      const world = new World()
      const client = silentClient(world, 'me', { ...durable })
      client.subscribe('a')
      const author = world.connect('author')
      for (let count = 0; count < 6; count++) author.publish('a', 'x', { qos })
      assert.equal(client.messages.length, 6)
      world.restart('kill')
      const again = persistentWire(world, 5, 2)
      assert.equal(again.of('publish').length, 2)
    })
  }
})
