// Rules that some brokers are known to violate, and that no other file of this folder tests.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AckPacket, reasonCodes } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'
import { assertBytesEnd, assertClosed, bytes, publishBytes, RawEnd, sendBytes, versions } from './raw.ts'
import { plainConnect } from '../simulator/plain-connect.ts'

describe('packets that only a server sends', () => {
  const serverOnly = [
    ['CONNACK', bytes`20 02 00 00`, bytes`20 03 00 00 00`],
    ['SUBACK', bytes`90 03 00 01 00`, bytes`90 04 00 01 00 00`],
    ['UNSUBACK', bytes`b0 02 00 01`, bytes`b0 04 00 01 00 00`],
    ['PINGRESP', bytes`d0 00`, bytes`d0 00`],
    ['type 0', bytes`00 00`, bytes`00 00`],
  ] as const
  for (const [name, before5, since5] of serverOnly) {
    for (const version of versions) {
      test(`[MQTT-4.8.0-1] [MQTT5-4.13.1-1] ${name} from a client of version ${version} ends its connection`, () => {
        const world = new World()
        const other = world.subscriber('a')
        const client = world.connect('offender', { version })
        sendBytes(world, client, version === 5 ? since5 : before5)
        assert.equal(client.hasOpenConnection, false)
        assert.equal(other.isConnected, true)
      })
    }
  }
})

describe('topics beyond mqtt.max_topic_levels and mqtt.max_topic_length', () => {
  const settings = { maxTopicLevels: 3, maxTopicBytes: 300 }
  const long = 'a'.repeat(301)

  for (const version of versions) {
    test(`[MQTT-4.8.0-1] [MQTT5-4.13.1-1] end the connection in a PUBLISH of QoS 0 only (version ${version})`, () => {
      const world = new World({ settings })
      const subscriber = world.subscriber('#')
      assertBytesEnd(version, publishBytes(version, 'a/b/c/d'), 'topicNameInvalid', world)
      assertBytesEnd(version, publishBytes(version, long), 'topicNameInvalid', world)
      world.publish('a/b/c', 'x')
      assert.deepEqual(subscriber.payloads, ['x'])
    })

    test(`[MQTT5-3.9.3-2] are refused in SUBACK, and the connection stays open (version ${version})`, () => {
      const world = new World({ settings })
      const client = world.connect('client', { version })
      const filters = ['a/b/c/#', 'a/b', '$share/g/a/b/c', '$share/g/a/b/c/d', long]
      const refused = version === 5 ? reasonCodes.topicFilterInvalid : 0x80
      assert.deepEqual(client.subscribe(filters, { qos: 0 })?.reasonCodes, [refused, 0, 0, refused, refused])
      world.publish('a/b', 'x')
      assert.deepEqual(client.payloads, ['x'])
    })
  }

  test('[MQTT5-4.13.1-1] are refused in PUBACK and PUBREC, and the connection stays open', () => {
    const world = new World({ settings })
    const subscriber = world.subscriber('#')
    const wire = world.wire({ version: 5 })
    wire.send(plainConnect(5, 'me'))
    for (const topic of ['a/b/c/d', long]) {
      wire.sendPublish({ topic, payload: 'x', qos: 1, packetId: 1 })
      wire.sendPublish({ topic, payload: 'x', qos: 2, packetId: 2 })
    }
    world.settle()
    const acks = wire.received.filter((packet) => packet instanceof AckPacket)
    assert.deepEqual(
      acks.map(({ type, reasonCode }) => [type, reasonCode]),
      ['puback', 'pubrec', 'puback', 'pubrec'].map((type) => [type, reasonCodes.topicNameInvalid]),
    )
    assert.equal(wire.isOpen, true)
    assert.deepEqual(subscriber.payloads, [])
  })
})

describe('shared subscriptions with every option', () => {
  test('[MQTT5-3.3.1-13] [MQTT5-3.3.4-3] retain as published and the subscription identifier of the member apply to its messages', () => {
    const world = new World()
    const member = world.connect('member')
    member.subscribe('$share/group/a/#', { qos: 1, retainAsPublished: true, identifier: 77 })
    world.publish('a/b', 'x', { retain: true, qos: 1 })
    const [message] = member.messages
    assert.equal(message?.retain, true)
    assert.deepEqual(message?.properties?.subscriptionIdentifiers, [77])
  })

  test('[MQTT5-3.3.1-12] without retain as published the flag is off', () => {
    const world = new World()
    const member = world.connect('member')
    member.subscribe('$share/group/a/#')
    world.publish('a/b', 'x', { retain: true })
    assert.equal(member.messages[0]?.retain, false)
  })

  for (const retainHandling of [0, 1, 2] as const) {
    test(`[MQTT5-3.3.1-9] with retain handling ${retainHandling}, the broker sends no retained messages`, () => {
      const world = new World()
      world.publish('a', 'kept', { retain: true })
      const member = world.connect('member')
      member.subscribe('$share/group/a', { retainHandling })
      assert.deepEqual(member.payloads, [])
    })
  }

  test('[MQTT5-4.8.2-3] a wildcard in the filter and an ordinary subscription of the same client both receive the message', () => {
    const world = new World()
    const member = world.connect('member')
    member.subscribe(['$share/group/+/b'], { qos: 0 })
    member.subscribe(['a/b'], { qos: 1 })
    world.publish('a/b', 'x', { qos: 2 })
    assert.deepEqual(
      member.messages.map(({ qos }) => qos).sort((one, other) => one - other),
      [0, 1],
    )
  })
})

describe('client ids of MQTT 3.1', () => {
  const cases: [string, string, string][] = [
    ['23 characters', 'a'.repeat(23), '20020000'],
    ['24 characters', 'a'.repeat(24), '20020002'],
    ['no characters', '', '20020002'],
  ]
  for (const [what, clientId, connack] of cases) {
    test(`[MQTT-3.1.3-5] ${what}: CONNACK ${connack}`, () => {
      const end = new RawEnd(new World({ settings: { limitsClientIdsOf31: true } }))
      assert.equal(end.send(connect31(clientId)), connack)
      assert.equal(end.isOpen, connack === '20020000')
    })
  }
})

test('[MQTT-3.1.3-5] a client of MQTT 3.1 with a longer id is accepted by default, as mqtt.strict_clientid_31 is false', () => {
  const end = new RawEnd(new World())
  assert.equal(end.send(connect31('a'.repeat(100))), '20020000')
})

describe('reason codes of refusals', () => {
  test('[MQTT5-3.9.3-2] SUBSCRIBE: each filter has its own reason code, and the granted ones apply', () => {
    const world = new World({
      settings: { sharedSubscriptionAvailable: false, wildcardSubscriptionAvailable: false, maxSubscriptions: 2 },
    })
    const client = world.connect('client')
    const filters = ['a', '$share/g/a', 'b/+', '$exclusive/a', 'c', 'd']
    assert.deepEqual(client.subscribe(filters, { qos: 0 })?.reasonCodes, [
      0,
      reasonCodes.sharedSubscriptionsNotSupported,
      reasonCodes.wildcardSubscriptionsNotSupported,
      reasonCodes.topicFilterInvalid,
      0,
      reasonCodes.quotaExceeded,
    ])
  })

  test('[MQTT5-3.14.4-1] a second CONNECT gets DISCONNECT with 0x82', () => {
    const world = new World()
    const client = world.connect('client')
    client.wire?.send(plainConnect(5, 'client'))
    world.settle()
    assertClosed(client, 'protocolError')
  })
})

function connect31(clientId: string): Buffer {
  return Buffer.concat([
    Buffer.from([0x10, 14 + clientId.length]),
    bytes`00 06 4d 51 49 73 64 70 03 02 00 00`,
    Buffer.from([0, clientId.length]),
    Buffer.from(clientId),
  ])
}
