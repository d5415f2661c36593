// CONNECT and CONNACK (sections 3.1 and 3.2): the rules that both versions share.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { World } from '../simulator/world.ts'
import {
  assertClosed,
  bytes,
  connectBytes,
  connectedRaw,
  connectPacket,
  durable,
  frame,
  pingreq,
  publishBytes,
  RawEnd,
  propertySection,
  sendBytes,
  subscribeBytes,
  text,
  typesOf,
  versions,
  type Version,
  withoutReasons,
} from './raw.ts'

/** The broker closes the connection without sending a packet. */
function assertClosedSilently(connect: Buffer, what: string): void {
  const end = new RawEnd(new World())
  assert.equal(end.send(connect), '', `${what}: response`)
  assert.equal(end.isOpen, false, `${what}: accepted`)
}

/** The broker closes the connection; a client of 5.0 first gets CONNACK with "malformed packet". */
function assertMalformed(version: Version, connect: Buffer, what: string): void {
  const end = new RawEnd(new World())
  assert.equal(end.send(connect), version === 5 ? '2003008100' : '', what)
  assert.equal(end.isOpen, false, `${what}: accepted`)
}

const letters = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'

for (const version of versions) {
  describe(`the form of CONNECT in MQTT ${version}`, () => {
    test('[MQTT-3.1.0-1] [MQTT5-3.1.0-1] [MQTT5-3.14.0-1] a connection that starts with another packet is closed without a response', () => {
      assertClosedSilently(publishBytes(version, 'a'), 'PUBLISH')
      assertClosedSilently(subscribeBytes(version, 'a'), 'SUBSCRIBE')
      assertClosedSilently(pingreq, 'PINGREQ')
      assertClosedSilently(bytes`e0 00`, 'DISCONNECT')
    })

    test('[MQTT-3.1.0-2] [MQTT5-3.1.0-2] a second CONNECT ends the connection', () => {
      const world = new World()
      const willSubscriber = world.subscriber('wills')
      const client = world.connect('twice', { version, will: { topic: 'wills', payload: 'twice' } })
      sendBytes(world, client, connectBytes(version, { payload: [text('twice')] }))
      assertClosed(client, 'protocolError')
      assert.deepEqual(willSubscriber.payloads, ['twice'])
    })

    test('[MQTT-3.1.0-2] [MQTT5-3.1.0-2] a second CONNECT of an unknown version ends the connection, too', () => {
      const world = new World()
      const client = world.connect('twice', { version })
      sendBytes(world, client, connectBytes(version, { name: 'MQTX', payload: [text('twice')] }))
      assertClosed(client, 'protocolError')
    })

    test('[MQTT-3.1.0-2] [MQTT5-3.1.0-2] a second CONNECT while the first is being authenticated ends the connection, too', () => {
      const world = new World({ host: { decision: () => ({ decision: { allowed: true }, afterMs: 1_000 }) } })
      const end = new RawEnd(world)
      assert.equal(end.send(connectBytes(version), connectBytes(version)), '')
      world.passSeconds(2)
      assert.equal(end.isOpen, false)
      assert.equal(end.take().length, 0)
      assert.equal(world.view.sessions, 0)
    })

    test('[MQTT-3.1.2-1] [MQTT5-3.1.2-1] a CONNECT with another protocol name is refused', () => {
      for (const name of ['MQTX', 'mqtt', 'MQIsdp', 'MQTTT', '']) {
        const world = new World()
        const end = new RawEnd(world)
        assert.doesNotMatch(end.send(connectBytes(version, { name })), /^20..0000/, name)
        assert.equal(end.isOpen, false)
        assert.equal(world.view.sessions, 0)
      }
    })

    test('[MQTT-3.1.2-2] [MQTT5-3.1.2-2] a CONNECT with another protocol level is refused with the CONNACK of MQTT 3.1.1, and closed', () => {
      for (const level of [0, 2, 3, 6, 127]) {
        const end = new RawEnd(new World())
        assert.equal(end.send(connectBytes(version, { level })), '20020001')
        assert.equal(end.isOpen, false)
      }
    })

    test('[MQTT-3.1.2-3] [MQTT5-3.1.2-3] a CONNECT with the reserved flag is malformed', () => {
      assertMalformed(version, connectBytes(version, { flags: 0x03 }), 'reserved flag')
    })

    test('[MQTT-3.1.2-11] [MQTT-3.1.2-13] [MQTT-3.1.2-15] [MQTT5-3.1.2-11] [MQTT5-3.1.2-13] will QoS or will retain without a will is malformed', () => {
      for (const flags of [0x0a, 0x12, 0x22])
        assertMalformed(version, connectBytes(version, { flags }), flags.toString(16))
    })

    test('[MQTT-3.1.2-14] [MQTT5-3.1.2-12] a will of QoS 3 is malformed', () => {
      const payload = [text('raw'), propertySection(version), text('wills'), text('x')]
      assertMalformed(version, connectBytes(version, { flags: 0x1e, payload }), 'QoS 3')
    })

    test('[MQTT-3.1.2-9] [MQTT5-3.1.2-9] a will flag without a whole will is malformed', () => {
      assertMalformed(version, connectBytes(version, { flags: 0x06 }), 'nothing')
      const payload = [text('raw'), propertySection(version), text('wills')]
      assertMalformed(version, connectBytes(version, { flags: 0x06, payload }), 'topic only')
    })

    test('[MQTT-3.1.2-18] [MQTT-3.1.2-20] [MQTT5-3.1.2-16] [MQTT5-3.1.2-18] a field without its flag is malformed', () => {
      assertMalformed(version, connectBytes(version, { payload: [text('raw'), text('user')] }), 'user name')
      assertMalformed(
        version,
        connectBytes(version, { flags: 0x82, payload: [text('raw'), text('u'), text('p')] }),
        'password',
      )
    })

    test('[MQTT-3.1.2-19] [MQTT-3.1.2-21] [MQTT5-3.1.2-17] [MQTT5-3.1.2-19] a flag without its field is malformed', () => {
      assertMalformed(version, connectBytes(version, { flags: 0x82 }), 'user name')
      assertMalformed(version, connectBytes(version, { flags: 0xc2, payload: [text('raw'), text('user')] }), 'password')
    })

    test('[MQTT-3.1.3-3] [MQTT5-3.1.3-3] a CONNECT without a client id field is malformed', () => {
      assertMalformed(version, connectBytes(version, { payload: [] }), 'no payload')
    })

    test('[MQTT-3.1.3-1] [MQTT5-3.1.3-1] the fields of the payload are read in the order of the standard', () => {
      const seen: (string | undefined)[] = []
      const world = new World({
        host: {
          decision: ({ clientId, username, password }) => {
            seen.push(clientId, username, password?.toString())
            return { decision: { allowed: true }, afterMs: 0 }
          },
        },
      })
      const willSubscriber = world.subscriber('wills')
      const payload = [text('me'), propertySection(version), text('wills'), text('gone'), text('user'), text('secret')]
      const end = new RawEnd(world)
      assert.match(end.send(connectBytes(version, { flags: 0xc6, payload })), /^20/)
      assert.deepEqual(seen.slice(-3), ['me', 'user', 'secret'])
      end.send(connectBytes(version))
      assert.deepEqual(willSubscriber.payloads, ['gone'])
    })

    test('[MQTT-3.1.4-1] [MQTT-3.2.2-6] [MQTT5-3.1.4-1] [MQTT5-3.14.0-1] [MQTT5-4.13.1-1] a malformed CONNECT ends the connection; 5.0 gets CONNACK with the reason', () => {
      const right = connectBytes(version)
      const body = right.subarray(2)
      assertMalformed(version, frame(0x10, Buffer.concat([body, bytes`00`])), 'one byte too many')
      for (let length = 7; length < body.length; length++) {
        assertMalformed(version, frame(0x10, body.subarray(0, length)), `${length} of ${body.length} bytes`)
      }
    })
  })

  describe(`CONNACK in MQTT ${version}`, () => {
    test('[MQTT-3.1.4-4] [MQTT-3.2.0-1] [MQTT5-3.1.4-5] [MQTT5-3.2.0-1] [MQTT5-3.2.0-2] CONNACK is the first packet, and is sent once, whatever the client sends meanwhile', () => {
      const world = new World({ host: { decision: () => ({ decision: { allowed: true }, afterMs: 1_000 }) } })
      const wire = world.wire({ version })
      wire.send(connectPacket(version, { clientId: 'eager' }))
      wire.sendBytes(subscribeBytes(version, 'a'))
      wire.sendBytes(publishBytes(version, 'a', { payload: 'x' }))
      wire.send({ type: 'pingreq' })
      world.passMs(900)
      assert.deepEqual(typesOf(wire.received), [])
      world.passMs(200)
      const [first, ...others] = typesOf(wire.received)
      assert.equal(first, 'connack')
      assert.deepEqual(others.toSorted(), ['pingresp', 'publish', 'suback'])
      assert.equal(wire.of('connack')[0]?.reasonCode, 0)
    })

    test('[MQTT-3.2.2-1] [MQTT5-3.2.2-1] [MQTT5-3.2.2-2] with a clean start, no session is present, even if one was stored', () => {
      const world = new World()
      const client = world.connect('me', { version, ...durable })
      client.disconnect()
      assert.equal(client.connect({ cleanStart: true })?.sessionPresent, false)
      assert.match(new RawEnd(world).send(connectBytes(version)), /^20..0000/)
    })

    test('[MQTT-3.2.2-2] [MQTT-3.2.2-3] [MQTT5-3.2.2-3] [MQTT5-3.1.2-6] without a clean start, session present tells whether there is a session', () => {
      const world = new World()
      const end = (): RawEnd => new RawEnd(world)
      const connect = connectBytes(version, { flags: 0, properties: [bytes`11 000000ff`] })
      assert.match(end().send(connect), /^20..0000/)
      assert.match(end().send(connect), /^20..0100/)
    })

    test('[MQTT-3.2.2-4] [MQTT-3.2.2-5] [MQTT5-3.2.2-6] [MQTT5-3.2.2-7] [MQTT5-4.13.2-1] CONNACK with a refusal has no session present, and the connection closes', () => {
      const world = new World({
        host: {
          decision: ({ username }) => ({
            decision: username === 'mallory' ? { allowed: false, reason: 0x86 } : { allowed: true },
            afterMs: 0,
          }),
        },
      })
      world.connect('me', { version, ...durable }).disconnect()
      const end = new RawEnd(world)
      const connack = end.send(connectBytes(version, { flags: 0x80, payload: [text('me'), text('mallory')] }))
      assert.equal(connack, version === 5 ? '2003008600' : '20020004')
      assert.equal(end.isOpen, false)
    })

    test('[MQTT-3.1.4-5] [MQTT5-3.1.4-2] [MQTT5-3.1.4-6] packets after a refused CONNECT are not processed', () => {
      const world = new World({
        host: {
          decision: ({ clientId }) => ({
            decision: clientId === 'raw' ? { allowed: false, reason: 0x87 } : { allowed: true },
            afterMs: clientId === 'raw' ? 500 : 0,
          }),
        },
      })
      const subscriber = world.subscriber('#')
      const end = new RawEnd(world)
      end.send(connectBytes(version), publishBytes(version, 'a', { payload: 'first', flags: 0x01 }), pingreq)
      world.passSeconds(1)
      assert.equal(withoutReasons(end.take()).toString('hex'), version === 5 ? '2003008700' : '20020005')
      assert.equal(end.isOpen, false)
      end.send(publishBytes(version, 'a', { payload: 'first' }))
      assert.deepEqual(subscriber.payloads, [])
      assert.equal(world.view.retainedMessages, 0)
    })
  })

  describe(`client ids in MQTT ${version}`, () => {
    test('[MQTT-3.1.3-2] [MQTT5-3.1.3-2] the client ID alone identifies the session', () => {
      const world = new World()
      world.connect('me', { version, ...durable, username: 'one' }).disconnect()
      assert.equal(world.connect('Me', { version, ...durable }).connack?.sessionPresent, false)
      const again = new RawEnd(world)
      const payload = [text('me'), text('two')]
      const connect = connectBytes(version, { flags: 0x80, properties: [bytes`11 000000ff`], payload })
      assert.match(again.send(connect), /^20..0100/)
    })

    test('[MQTT-3.1.3-5] [MQTT5-3.1.3-5] client IDs of 1 to 23 digits and letters are accepted', () => {
      const world = new World()
      for (let length = 1; length <= 23; length++) {
        const client = world.connect(letters.slice(length, 2 * length), { version })
        assert.equal(client.isConnected, true)
      }
      for (const id of [letters.slice(0, 23), letters.slice(23, 46), letters.slice(39)]) {
        assert.equal(world.connect(id, { version }).isConnected, true)
      }
    })

    test('[MQTT-3.1.3-6] [MQTT5-3.1.3-6] clients with an empty client ID and a clean start get one each', () => {
      const world = new World()
      const clients = Array.from({ length: 50 }, () => world.connect('', { version }))
      assert.ok(clients.every((client) => client.isConnected))
      assert.equal(world.view.sessions, 50)
      assert.equal(new Set([...world.view.walkClients()].map(({ clientId }) => clientId)).size, 50)
    })

    test('[MQTT-3.1.3-9] [MQTT5-3.1.3-8] a client with a refused client ID gets the reason in CONNACK, and the connection closes', () => {
      const world = new World({ settings: { maxClientIdBytes: 10 } })
      const end = new RawEnd(world)
      const connack = end.send(connectBytes(version, { payload: [text('eleven char')] }))
      assert.equal(connack, version === 5 ? '2003008500' : '20020002')
      assert.equal(end.isOpen, false)
      assert.match(new RawEnd(world).send(connectBytes(version, { payload: [text('ten chars.')] })), /^20..0000/)
    })

    test('[MQTT-3.1.4-2] [MQTT5-3.1.4-3] a connection with the client ID of a connected client takes over its session', () => {
      const world = new World()
      const first = world.connect('me', { version, ...durable })
      const ended: string[] = []
      first.whenEnded = () => ended.push('first')
      const wire = first.wire
      const second = world.client('me', { version, ...durable })
      second.sessions.push(...first.sessions)
      assert.equal(second.connect()?.sessionPresent, true)
      assert.equal(wire?.isOpen, false)
      assert.deepEqual(ended, ['first'])
      assert.equal(first.disconnected?.reasonCode, version === 5 ? 0x8e : undefined)
      assert.equal(world.view.connections, 1)
    })
  })

  describe(`sessions in MQTT ${version}`, () => {
    test('[MQTT-3.1.2-4] [MQTT5-3.1.2-5] [MQTT5-3.1.2-23] [MQTT-4.1.0-1] without a clean start, the session resumes: subscriptions, unacknowledged messages, packet identifiers of QoS 2', () => {
      const world = new World()
      const wire = connectedWireDurable(world, version)
      wire.sendBytes(subscribeBytes(version, 'a', { options: 2 }))
      wire.sendPublish({ topic: 'elsewhere', payload: 'x', qos: 2, packetId: 7 })
      world.settle()
      world.publish('a', 'one', { qos: 1 })
      wire.break(0)
      world.settle()
      world.publish('a', 'two', { qos: 2 })

      const subscriber = world.subscriber('elsewhere')
      const again = connectedWireDurable(world, version)
      const publishes = again.of('publish')
      assert.deepEqual(
        publishes.map(({ qos, dup }) => [qos, dup]),
        [
          [1, true],
          [2, false],
        ],
      )
      again.sendPublish({ topic: 'elsewhere', payload: 'x', qos: 2, packetId: 7, dup: true })
      again.sendBytes(publishBytes(version, 'a', { payload: 'three' }))
      world.settle()
      assert.deepEqual(subscriber.payloads, [], 'QoS 2 with packet identifier 7 had been delivered already')
      assert.equal(again.of('publish').length, 3, 'its subscription is in force')
    })

    test('[MQTT-3.1.2-5] [MQTT-4.5.0-1] [MQTT5-4.5.0-1] QoS 1 and 2 messages are stored for a disconnected client', () => {
      const world = new World()
      const offlineClient = world.connect('offline', { version, ...durable })
      offlineClient.subscribe(['a/+', 'b'])
      offlineClient.disconnect()
      world.publish('a/1', 'one', { qos: 1 })
      world.publish('b', 'two', { qos: 2 })
      world.publish('c', 'not subscribed', { qos: 2 })
      offlineClient.connect()
      assert.deepEqual(offlineClient.payloads, ['one', 'two'])
    })

    test('[MQTT-3.1.2-6] [MQTT-3.1.4-3] [MQTT5-3.1.2-4] [MQTT5-3.1.4-4] a clean start discards the old session', () => {
      const world = new World()
      const client = world.connect('me', { version, ...durable })
      client.subscribe('a')
      client.disconnect()
      world.publish('a', 'kept for it', { qos: 1 })
      client.connect({ cleanStart: true })
      world.publish('a', 'later', { qos: 1 })
      assert.deepEqual(client.payloads, [])
      assert.equal(world.view.findSubscriptions('me').size, 0)
    })

    test('[MQTT-3.1.2-6] [MQTT5-4.1.0-2] a clean session, or one with expiry 0, ends with its connection', () => {
      const world = new World()
      const client = world.connect('me', { version })
      client.subscribe('a')
      client.drop()
      assert.equal(world.view.sessions, 0)
      assert.equal(client.connect({ cleanStart: false })?.sessionPresent, false)
    })

    test('[MQTT-3.1.2-7] [MQTT-4.1.0-2] [MQTT5-4.1.0-1] retained messages stay when the session of their publisher ends', () => {
      const world = new World()
      const author = world.connect('author', { version })
      author.publish('a', 'kept', { qos: 1, retain: true })
      author.disconnect()
      assert.equal(world.view.sessions, 0)
      assert.deepEqual(world.subscriber('a', { version }).payloads, ['kept'])
    })

    test('[MQTT-4.1.0-2] [MQTT5-4.1.0-1] the session of a connected client never expires', () => {
      const world = new World({ settings: { sessionExpirySeconds: 10 } })
      const client = world.connect('me', { version, cleanStart: false, sessionExpirySeconds: 10 })
      client.subscribe('a')
      world.passSeconds(10_000)
      world.publish('a', 'x', { qos: 1 })
      assert.deepEqual(client.payloads, ['x'])
    })
  })

  describe(`keep alive in MQTT ${version}`, () => {
    test('[MQTT-3.1.2-24] [MQTT5-3.1.2-22] [MQTT5-3.2.2-22] after 1.5 times the keep alive without a packet, the connection ends, and the will is published', () => {
      const world = new World()
      const willSubscriber = world.subscriber('wills')
      const client = world.connect('me', { version, keepAliveSeconds: 10, will: { topic: 'wills', payload: 'gone' } })
      world.passMs(14_999)
      assert.equal(client.hasOpenConnection, true)
      world.passMs(2)
      assertClosed(client, 'keepAliveTimeout')
      assert.deepEqual(willSubscriber.payloads, ['gone'])
    })

    test('[MQTT-3.1.2-24] [MQTT5-3.1.2-22] any packet restarts the keep alive period', () => {
      const world = new World()
      const client = world.connect('me', { version, keepAliveSeconds: 10 })
      for (const packet of [pingreq, publishBytes(version, 'a'), bytes`40 02 0001`]) {
        world.passSeconds(14)
        sendBytes(world, client, packet)
      }
      world.passSeconds(14)
      assert.equal(client.hasOpenConnection, true)
      world.passSeconds(2)
      assert.equal(client.hasOpenConnection, false)
    })

    test('[MQTT-3.1.2-24] [MQTT5-3.1.2-22] a client that is still sending a large packet is not idle', () => {
      const world = new World()
      const subscriber = world.subscriber('a')
      const client = world.connect('me', { version, keepAliveSeconds: 10 })
      const packet = publishBytes(version, 'a', { payload: 'takes its time' })
      for (const byte of packet) {
        world.passSeconds(14)
        sendBytes(world, client, Buffer.from([byte]))
      }
      assert.deepEqual(subscriber.payloads, ['takes its time'])
      sendBytes(world, client, packet.subarray(0, -1))
      world.passMs(14_999)
      assert.equal(client.hasOpenConnection, true)
      world.passMs(2)
      assertClosed(client, 'keepAliveTimeout')
    })

    test('[MQTT-3.1.2-24] [MQTT5-3.1.2-22] a keep alive of 0 disables the check', () => {
      const world = new World()
      const client = world.connect('me', { version, keepAliveSeconds: 0 })
      world.passSeconds(1_000_000)
      assert.equal(client.hasOpenConnection, true)
    })

    test('[MQTT-3.12.4-1] [MQTT5-3.12.4-1] PINGREQ gets PINGRESP', () => {
      const end = connectedRaw(new World(), version)
      assert.equal(end.send(pingreq), 'd000')
      assert.equal(end.send(pingreq, pingreq), 'd000d000')
    })
  })
}

test('[MQTT-3.1.2-22] a password without a user name is malformed in 3.1.1', () => {
  assertClosedSilently(connectBytes(4, { flags: 0x42, payload: [text('raw'), text('secret')] }), 'password only')
})

test('[MQTT-3.1.3-7] [MQTT-3.1.3-8] an empty client ID without clean session is refused with return code 2', () => {
  const end = new RawEnd(new World())
  assert.equal(end.send(connectBytes(4, { flags: 0, payload: [text('')] })), '20020002')
  assert.equal(end.isOpen, false)
})

test('[MQTT-3.1.3-9] [MQTT5-3.1.3-8] a client ID with the reserved form of bridges is refused: that client would get the messages of a bridge', () => {
  for (const [version, refusal] of [
    [4, '20020002'],
    [5, '2003008500'],
  ] as const) {
    const end = new RawEnd(new World())
    assert.equal(end.send(connectBytes(version, { payload: [text('$bridge/north')] })), refusal)
    assert.equal(end.isOpen, false)
  }
})

test('[MQTT-4.8.0-2] a CONNECT that needs a failing disk ends its connection', () => {
  const world = new World()
  world.disk.fail()
  // Each shard notices the failure with its own first write: each has some of these topics.
  for (const topic of 'abcdefgh') world.connect('author').publish(topic, 'x', { retain: true })
  world.passSeconds(1)
  const end = new RawEnd(world)
  assert.equal(end.send(connectBytes(4, { flags: 0 })), '20020003')
  assert.equal(end.isOpen, false)
})

test('[MQTT-7.0.0-2] a client of 3.1.1 needs no extension of the broker', () => {
  const world = new World(refuseNone)
  const end = connectedRaw(world, 4)
  assert.equal(end.send(subscribeBytes(4, 'a')), '9003000100')
  assert.equal(end.send(publishBytes(4, 'a', { payload: 'x' })), '300400016178')
  assert.equal(end.send(bytes`e0 00`), '')
  assert.equal(end.isOpen, false)
})

const refuseNone = { settings: { wildcardSubscriptionAvailable: false, sharedSubscriptionAvailable: false } } as const

function connectedWireDurable(world: World, version: Version) {
  const wire = world.wire({ version })
  const properties = version === 5 ? { sessionExpiryIntervalSeconds: 3_600 } : undefined
  wire.send(connectPacket(version, { clientId: 'again', cleanStart: false, properties }))
  world.settle()
  return wire
}
