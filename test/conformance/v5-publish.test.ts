// Topic aliases and subscription identifiers of MQTT 5.0.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { World } from '../simulator/world.ts'
import { assertBytesEnd, assertClosed, bytes, durable, publishBytes, sendBytes } from './raw.ts'

/** The topic alias property, with a value of two bytes. */
const alias = (value: number): Buffer => Buffer.from([0x23, value >> 8, value & 0xff])

describe('topic aliases', () => {
  test('[MQTT5-3.3.2-12] every alias up to the maximum of the broker is accepted, and may be assigned to another topic', () => {
    const world = new World({ settings: { maxTopicAlias: 3 } })
    const subscriber = world.subscriber('#')
    const author = world.connect('author')
    assert.equal(author.connack?.properties?.topicAliasMaximum, 3)
    for (const value of [1, 2, 3])
      sendBytes(world, author, publishBytes(5, `t${value}`, { properties: [alias(value)] }))
    for (const value of [3, 2, 1]) sendBytes(world, author, publishBytes(5, '', { properties: [alias(value)] }))
    sendBytes(world, author, publishBytes(5, 'new', { properties: [alias(1)] }))
    sendBytes(world, author, publishBytes(5, '', { properties: [alias(1)] }))
    assert.deepEqual(
      subscriber.messages.map(({ topic }) => topic),
      ['t1', 't2', 't3', 't3', 't2', 't1', 'new', 'new'],
    )
  })

  test('[MQTT5-3.3.2-8] [MQTT5-3.3.2-9] [MQTT5-3.2.2-17] an alias of 0, or above the maximum, ends the connection with 0x94', () => {
    const world = new World({ settings: { maxTopicAlias: 3 } })
    assertBytesEnd(5, publishBytes(5, 'a', { properties: [alias(0)] }), 'topicAliasInvalid', world)
    assertBytesEnd(5, publishBytes(5, 'a', { properties: [alias(4)] }), 'topicAliasInvalid', world)
  })

  test('[MQTT5-3.2.2-18] a broker with a maximum of 0 refuses all aliases', () => {
    const world = new World({ settings: { maxTopicAlias: 0 } })
    assertBytesEnd(5, publishBytes(5, 'a', { properties: [alias(1)] }), 'topicAliasInvalid', world)
  })

  test('[MQTT5-3.3.2-7] an alias ends with its connection, and does not apply to other connections', () => {
    const world = new World()
    const author = world.connect('author', { ...durable })
    sendBytes(world, author, publishBytes(5, 'a', { properties: [alias(1)] }))
    assertBytesEnd(5, publishBytes(5, '', { properties: [alias(1)] }), 'protocolError', world)
    author.drop()
    author.connect()
    sendBytes(world, author, publishBytes(5, '', { properties: [alias(1)] }))
    assertClosed(author, 'protocolError')
  })

  test('[MQTT5-3.1.2-26] [MQTT5-3.3.2-11] [MQTT5-3.3.2-8] the broker uses no alias above the maximum of the client', () => {
    const world = new World()
    const client = world.subscriber('#', { topicAliasMaximum: 2 })
    const author = world.connect('author')
    for (let round = 0; round < 3; round++) {
      for (const topic of ['a', 'b', 'c', 'd']) author.publish(topic, 'x', { qos: round === 0 ? 0 : 1 })
    }
    const aliases = client.received('publish').map((packet) => packet.properties?.topicAlias)
    assert.ok(aliases.includes(1) && aliases.includes(2), 'both aliases are used')
    assert.ok(aliases.every((value) => value === undefined || value === 1 || value === 2))
    assert.deepEqual(client.messages.map(({ topic }) => topic).join(''), 'abcdabcdabcd')
    assert.ok(
      client.received('publish').some((packet) => packet.topic === undefined),
      'and spare the topic',
    )
  })

  test('[MQTT5-3.1.2-26] the broker uses no alias above mqtt.max_topic_alias', () => {
    const world = new World({ settings: { maxTopicAlias: 2 } })
    const client = world.subscriber('#', { topicAliasMaximum: 65_535 })
    for (const topic of ['a', 'b', 'c']) world.publish(topic, 'x')
    assert.deepEqual(
      client.received('publish').map((packet) => packet.properties?.topicAlias),
      [1, 2, undefined],
    )
  })

  test('[MQTT5-3.3.2-8] messages that wait for the disk have no alias, as other packets may be sent before them', () => {
    const world = new World()
    const client = world.connect('me', { ...durable, topicAliasMaximum: 5 })
    client.subscribe('a', { qos: 2 })
    const author = world.connect('author')
    world.disk.hold()
    author.publish('a', '1', { qos: 2 })
    author.publish('a', '2', { qos: 0 })
    world.disk.release()
    world.settle()
    author.publish('a', '3', { qos: 0 })
    assert.deepEqual(client.payloads, ['1', '2', '3'])
    assert.deepEqual(
      client.received('publish').map((packet) => packet.properties?.topicAlias),
      [undefined, undefined, 1],
    )
  })

  test('[MQTT5-3.1.2-27] [MQTT5-3.3.2-11] the broker uses no alias if the maximum of the client is 0 or absent', () => {
    const world = new World()
    const clients = [world.subscriber('a'), world.subscriber('a', { topicAliasMaximum: 0 })]
    for (let count = 0; count < 3; count++) world.publish('a', 'x')
    for (const client of clients) {
      assert.ok(client.received('publish').every((packet) => packet.properties?.topicAlias === undefined))
    }
  })

  test('[MQTT5-3.3.2-7] the broker sends the topic of each alias again on the next connection', () => {
    const world = new World()
    const client = world.connect('me', { ...durable, topicAliasMaximum: 5 })
    client.subscribe('a')
    world.publish('a', '1')
    client.drop()
    client.connect()
    world.publish('a', '2')
    world.publish('a', '3')
    assert.deepEqual(
      client.received('publish').map((packet) => packet.topic?.name),
      ['a', undefined],
    )
  })
})

describe('subscription identifiers', () => {
  test('[MQTT5-3.3.4-3] [MQTT5-3.3.4-4] one copy has the identifiers of all matching subscriptions', () => {
    const world = new World()
    const client = world.connect('me')
    client.subscribe('a/b', { identifier: 1 })
    client.subscribe('a/+', { identifier: 268_435_455 })
    client.subscribe('#')
    client.subscribe('c', { identifier: 3 })
    for (const qos of [0, 1, 2] as const) world.publish('a/b', 'x', { qos })
    assert.equal(client.messages.length, 3)
    for (const { properties } of client.messages) {
      assert.deepEqual(
        [...(properties?.subscriptionIdentifiers ?? [])].sort((a, b) => a - b),
        [1, 268_435_455],
      )
    }
  })

  test('[MQTT5-3.3.4-5] with several copies, for a shared and an ordinary subscription, each has its own identifier', () => {
    const world = new World()
    const client = world.connect('me')
    client.subscribe('a', { identifier: 1 })
    client.subscribe('$share/group/a', { identifier: 2 })
    world.publish('a', 'x', { qos: 1 })
    const identifiers = client.messages.map(({ properties }) => properties?.subscriptionIdentifiers)
    assert.deepEqual(new Set(identifiers.map((list) => list?.join())), new Set(['1', '2']))
    assert.equal(identifiers.length, 2)
  })

  test('[MQTT5-3.3.4-3] retained and queued messages have the identifier, too', () => {
    const world = new World()
    world.publish('a', 'kept', { retain: true })
    const client = world.connect('me', { ...durable })
    client.subscribe('a', { identifier: 9 })
    client.disconnect()
    world.publish('a', 'waiting', { qos: 1 })
    world.restart()
    client.connect()
    assert.deepEqual(
      client.messages.map(({ properties }) => properties?.subscriptionIdentifiers),
      [[9], [9]],
    )
  })

  test('[MQTT5-3.3.4-3] a subscription that is replaced without an identifier has no identifier', () => {
    const world = new World()
    const client = world.connect('me')
    client.subscribe('a', { identifier: 9 })
    client.subscribe('a')
    world.publish('a', 'x')
    assert.equal(client.messages[0]?.properties?.subscriptionIdentifiers, undefined)
  })

  test('[MQTT5-3.3.4-6] a PUBLISH with an identifier from a client is a protocol error', () => {
    assertBytesEnd(5, publishBytes(5, 'a', { properties: [bytes`0b 01`] }), 'protocolError', new World())
  })
})
