// Chapters 1 and 2: strings, numbers, flags and packet identifiers.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { QoS } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'
import {
  ackBytes,
  assertBytesEnd,
  bytes,
  connectBytes,
  connectedRaw,
  durable,
  frame,
  framesOf,
  pingreq,
  publishBytes,
  RawEnd,
  silentClient,
  subscribeBytes,
  text,
  unsubscribeBytes,
  versions,
  type Version,
} from './raw.ts'

/** QoS 1 and 2, alternating. */
const qosOf = (count: number): QoS => (count % 2 === 0 ? 1 : 2)

const notText: Readonly<Record<string, Buffer>> = {
  'an overlong form': bytes`61 c0 af`,
  'a surrogate': bytes`ed a0 80`,
  'a surrogate pair': bytes`ed a0 80 ed b0 80`,
  'more than Unicode has': bytes`f4 90 80 80`,
  'half a character': bytes`61 e2 82`,
  'a lone continuation': bytes`80`,
  'U+0000': bytes`61 00 62`,
}

function assertRefusedInConnect(version: Version, connectWith: (content: Buffer) => Buffer): void {
  for (const [what, content] of Object.entries(notText)) {
    const end = new RawEnd(new World())
    assert.equal(end.send(connectWith(content)), version === 5 ? '2003008100' : '', `CONNECT with ${what}`)
    assert.equal(end.isOpen, false, `CONNECT with ${what} was accepted, MQTT ${version}`)
  }
}

function assertRefused(version: Version, packetWith: (content: Buffer) => Buffer): void {
  for (const content of Object.values(notText)) {
    assertBytesEnd(version, packetWith(content), 'malformedPacket', new World())
  }
}

for (const version of versions) {
  describe(`strings in MQTT ${version}`, () => {
    test('[MQTT-1.5.3-1] [MQTT-1.5.3-2] [MQTT-3.1.3-4] [MQTT5-3.1.3-4] a client ID that is not UTF-8 ends the connection', () => {
      assertRefusedInConnect(version, (content) => connectBytes(version, { payload: [text(content)] }))
    })

    test('[MQTT-3.1.3-10] [MQTT5-3.1.3-11] a will topic that is not UTF-8 ends the connection', () => {
      assertRefusedInConnect(version, (content) =>
        connectBytes(version, {
          flags: 0x06,
          payload: [text('raw'), noProperties(version), text(content), text('bye')],
        }),
      )
    })

    test('[MQTT-3.1.3-11] [MQTT5-3.1.3-12] a user name that is not UTF-8 ends the connection', () => {
      assertRefusedInConnect(version, (content) =>
        connectBytes(version, { flags: 0x82, payload: [text('raw'), text(content)] }),
      )
    })

    test('[MQTT-3.3.2-1] [MQTT5-1.5.4-1] [MQTT5-1.5.4-2] [MQTT5-3.3.2-1] [MQTT-4.7.3-2] [MQTT5-4.7.3-2] a topic that is not UTF-8 ends the connection', () => {
      assertRefused(version, (content) => publishBytes(version, content))
    })

    test('[MQTT-3.8.3-1] [MQTT5-3.8.3-1] [MQTT-4.7.3-2] [MQTT5-4.7.3-2] a filter in SUBSCRIBE that is not UTF-8 ends the connection', () => {
      assertRefused(version, (content) => subscribeBytes(version, content))
    })

    test('[MQTT-3.10.3-1] [MQTT5-3.10.3-1] a filter in UNSUBSCRIBE that is not UTF-8 ends the connection', () => {
      assertRefused(version, (content) => unsubscribeBytes(version, content))
    })

    test('[MQTT-1.5.3-3] [MQTT5-1.5.4-3] a byte order mark is part of the topic and is forwarded', () => {
      const world = new World()
      const marked = connectedRaw(world, version, 'marked')
      const plain = connectedRaw(world, version, 'plain')
      marked.send(subscribeBytes(version, bytes`efbbbf 61`))
      plain.send(subscribeBytes(version, 'a'))
      world.publish('\uFEFFa', 'x')
      assert.equal(plain.take().length, 0)
      assert.match(marked.take().toString('hex'), /^30..0004efbbbf61/)
    })
  })

  describe(`flags and packet identifiers in MQTT ${version}`, () => {
    test('[MQTT-2.2.2-1] [MQTT5-2.1.3-1] [MQTT-3.6.1-1] [MQTT5-3.6.1-1] packets from the broker have the flags of the table', () => {
      const firstBytes = new Set(framesOf(packetsOfBroker(version)).map((packet) => packet[0]))
      const expected = [0x20, 0x90, 0x40, 0x50, 0x70, 0x32, 0x34, 0x30, 0x62, 0xb0, 0xd0]
      assert.deepEqual(firstBytes, new Set(version === 5 ? [...expected, 0xe0] : expected))
    })

    for (const [name, packet] of [
      ['PUBACK', bytes`41 02 0001`],
      ['PUBREC', bytes`51 02 0001`],
      ['PUBCOMP', bytes`71 02 0001`],
      ['PINGREQ', bytes`c1 00`],
      ['PINGREQ (0xc8)', bytes`c8 00`],
    ] as const) {
      test(`[MQTT-2.2.2-2] [MQTT5-2.1.3-1] [MQTT5-4.13.1-1] ${name} with flags ends the connection`, () => {
        assertBytesEnd(version, packet, 'malformedPacket', new World())
      })
    }

    test('[MQTT-2.2.2-2] [MQTT5-2.1.3-1] CONNECT with flags gets no response', () => {
      const end = new RawEnd(new World())
      const connect = connectBytes(version)
      connect[0] = 0x12
      assert.equal(end.send(connect), '')
      assert.equal(end.isOpen, false)
    })

    test('[MQTT-2.3.1-1] [MQTT5-2.2.1-3] a packet identifier of zero ends the connection', () => {
      const world = new World()
      assertBytesEnd(version, publishBytes(version, 'a', { flags: 0x02, packetId: 0 }), 'protocolError', world)
      assertBytesEnd(version, publishBytes(version, 'a', { flags: 0x04, packetId: 0 }), 'protocolError', world)
      assertBytesEnd(version, subscribeBytes(version, 'a', { packetId: 0 }), 'protocolError', world)
      assertBytesEnd(version, unsubscribeBytes(version, 'a', { packetId: 0 }), 'protocolError', world)
    })

    test('[MQTT-2.3.1-1] [MQTT-2.3.1-4] [MQTT5-2.2.1-4] messages in flight have different packet identifiers, none of them 0', () => {
      const world = new World({ settings: { maxInflightMessages: 5_000 } })
      const subscriber = silentClient(world, 'listener', { version, receiveMaximum: 5_000 })
      subscriber.subscribe('a')
      const author = world.connect('author')
      author.publishAll(Array.from({ length: 3_000 }, (_, at) => ({ topic: 'a', payload: `${at}`, qos: qosOf(at) })))
      const ids = subscriber.messages.map(({ packetId }) => packetId)
      assert.equal(ids.length, 3_000)
      assert.equal(new Set(ids).size, 3_000)
      assert.ok(!ids.includes(0))
    })

    test('[MQTT-2.3.1-4] [MQTT5-2.2.1-4] after 65,535 packet identifiers they start again, skipping those in flight', () => {
      const world = new World({ settings: { receiveMaximum: 1_000 } })
      const author = connectedRaw(world, version, 'author')
      const batch = Buffer.concat(
        Array.from({ length: 1_000 }, (_, index) => publishBytes(version, 'a', { flags: 0x02, packetId: index + 1 })),
      )
      const ids: number[] = []
      let subscriber: RawEnd | undefined
      for (let batches = 0; batches < 66; batches++) {
        // The client reconnects from time to time: the packet identifiers belong to its session.
        if (batches % 2 === 0) subscriber = reconnected(world, version)
        author.send(batch)
        const arrived = framesOf(subscriber!.take()).map((packet) => packet.readUInt16BE(5))
        ids.push(...arrived)
        // The first message stays in flight.
        subscriber!.send(...arrived.filter((id) => id !== ids[0]).map((id) => ackBytes(0x40, id)))
      }
      const first = ids[0] ?? 0
      const times = (wanted: number): number => ids.filter((id) => id === wanted).length
      assert.deepEqual([times(0), times(first), times(first + 1), times(65_535)], [0, 1, 2, 1])
    })

    test('[MQTT-2.3.1-4] [MQTT5-2.2.1-4] [MQTT-3.3.1-1] [MQTT5-3.3.1-1] a redelivered message keeps its packet identifier', () => {
      const world = new World()
      const offlineClient = silentClient(world, 'offline', { version, ...durable })
      offlineClient.subscribe('a')
      world.publish('a', 'one', { qos: 1 })
      offlineClient.drop()
      offlineClient.connect()
      const [first, second] = offlineClient.messages
      assert.equal(second?.packetId, first?.packetId)
      assert.deepEqual([first?.dup, second?.dup], [false, true])
    })

    test('[MQTT-2.3.1-5] [MQTT5-2.2.1-2] [MQTT5-2.2.2-1] a PUBLISH of QoS 0 has no packet identifier, and a property length of 0 if it has no properties', () => {
      const world = new World()
      const end = connectedRaw(world, version)
      end.send(subscribeBytes(version, 'a'))
      world.publish('a', 'hi')
      assert.equal(end.take().toString('hex'), version === 5 ? '3006000161006869' : '30050001616869')
    })

    test('[MQTT-2.3.1-6] [MQTT5-2.2.1-5] [MQTT-3.3.4-1] [MQTT5-3.3.4-1] acknowledgements have the packet identifier of their message', () => {
      const world = new World()
      const end = connectedRaw(world, version)
      world.subscriber('a')
      assert.equal(end.send(publishBytes(version, 'a', { flags: 0x02, packetId: 0x1234 })), '40021234')
      assert.equal(end.send(publishBytes(version, 'a', { flags: 0x04, packetId: 0x4321 })), '50024321')
      assert.equal(end.send(ackBytes(0x62, 0x4321)), '70024321')
      assert.equal(end.send(publishBytes(version, 'a')), '', 'QoS 0 is not acknowledged')
    })

    test('[MQTT-2.3.1-6] [MQTT5-2.2.1-5] PUBREL has the packet identifier of its message', () => {
      const world = new World()
      const end = connectedRaw(world, version)
      end.send(subscribeBytes(version, 'a', { options: 2 }))
      world.publish('a', 'x', { qos: 2 })
      const id = end.take().readUInt16BE(5)
      assert.equal(end.send(ackBytes(0x50, id)), `6202${id.toString(16).padStart(4, '0')}`)
    })

    test('[MQTT-2.3.1-7] [MQTT5-2.2.1-6] [MQTT-3.8.4-2] [MQTT5-3.8.4-2] SUBACK and UNSUBACK have the packet identifier of their request', () => {
      const end = connectedRaw(new World(), version)
      const five = version === 5
      assert.equal(end.send(subscribeBytes(version, 'a', { packetId: 0xabcd })), five ? '9004abcd0000' : '9003abcd00')
      assert.equal(end.send(unsubscribeBytes(version, 'a', { packetId: 0xdcba })), five ? 'b004dcba0000' : 'b002dcba')
    })
  })
}

test('[MQTT5-1.5.5-1] a variable byte integer with superfluous bytes is malformed', () => {
  const longPropertyLength = frame(0x82, bytes`0001 80 00 ${text('a')} 00`)
  const longIdentifier = frame(0x82, bytes`0001 03 0b 81 00 ${text('a')} 00`)
  assertBytesEnd(5, longPropertyLength, 'malformedPacket', new World())
  assertBytesEnd(5, longIdentifier, 'malformedPacket', new World())
  assertBytesEnd(5, bytes`c0 80 00`, 'malformedPacket', new World())
  assertBytesEnd(5, bytes`30 ff ff ff ff 01`, 'malformedPacket', new World())
})

test('[MQTT5-1.5.5-1] the broker encodes lengths with the minimum number of bytes', () => {
  for (const [payloadBytes, header] of [
    [123, '307f'],
    [124, '308001'],
    [16_379, '30ff7f'],
    [16_380, '30808001'],
  ] as const) {
    const world = new World()
    const end = connectedRaw(world, 5)
    end.send(subscribeBytes(5, 'a'))
    world.publish('a', 'x'.repeat(payloadBytes))
    assert.ok(end.take().toString('hex').startsWith(header), `${payloadBytes} bytes of payload`)
  }
})

test('[MQTT5-1.5.7-1] a user property whose name or value is not UTF-8 ends the connection', () => {
  for (const content of Object.values(notText)) {
    const name = bytes`26 ${text(content)} ${text('value')}`
    const value = bytes`26 ${text('name')} ${text(content)}`
    assertBytesEnd(5, publishBytes(5, 'a', { properties: [name] }), 'malformedPacket', new World())
    assertBytesEnd(5, publishBytes(5, 'a', { properties: [value] }), 'malformedPacket', new World())
  }
})

test('[MQTT5-3.3.2-13] [MQTT5-3.3.2-19] a response topic or a content type that is not UTF-8 ends the connection', () => {
  for (const content of Object.values(notText)) {
    const responseTopic = bytes`08 ${text(content)}`
    const contentType = bytes`03 ${text(content)}`
    assertBytesEnd(5, publishBytes(5, 'a', { properties: [responseTopic] }), 'malformedPacket', new World())
    assertBytesEnd(5, publishBytes(5, 'a', { properties: [contentType] }), 'malformedPacket', new World())
  }
})

/** Connects to a persistent session with a subscription to `a` at QoS 1, and reads its redelivered messages. */
function reconnected(world: World, version: Version): RawEnd {
  const end = new RawEnd(world)
  const properties = [bytes`11 00000e10`]
  end.send(connectBytes(version, { flags: 0, properties, payload: [text('listener')] }))
  end.send(subscribeBytes(version, 'a', { options: 1 }))
  return end
}

const noProperties = (version: Version): Buffer => (version === 5 ? bytes`00` : bytes``)

/** One packet of each type that a broker sends. */
function packetsOfBroker(version: Version): Buffer {
  const world = new World()
  const end = new RawEnd(world)
  const responses: Buffer[] = []
  const sendPacket = (packet: Buffer): Buffer => {
    const response = Buffer.from(end.send(packet), 'hex')
    responses.push(response)
    return response
  }
  sendPacket(connectBytes(version))
  sendPacket(subscribeBytes(version, 'a', { options: 2 }))
  sendPacket(publishBytes(version, 'a'))
  const atLeastOnce = sendPacket(publishBytes(version, 'a', { flags: 0x02, packetId: 1 }))
  const exactlyOnce = sendPacket(publishBytes(version, 'a', { flags: 0x04, packetId: 2 }))
  sendPacket(ackBytes(0x40, idOfPublish(atLeastOnce)))
  sendPacket(ackBytes(0x50, idOfPublish(exactlyOnce)))
  sendPacket(ackBytes(0x70, idOfPublish(exactlyOnce)))
  sendPacket(ackBytes(0x62, 2))
  sendPacket(unsubscribeBytes(version, 'a'))
  sendPacket(pingreq)
  sendPacket(connectBytes(version))
  return Buffer.concat(responses)
}

function idOfPublish(stream: Buffer): number {
  const publish = framesOf(stream).find((packet) => (packet[0] ?? 0) >> 4 === 3)
  assert.ok(publish !== undefined)
  return publish.readUInt16BE(5)
}
