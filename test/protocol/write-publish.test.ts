import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  AckPacket,
  toConnackReason,
  measurePacket,
  measurePublish,
  reasonCodes,
  writeAck,
  writePacket,
  writePublish,
  type AckType,
  type ControlPacket,
  type ProtocolVersion,
  type PublishFields,
  type TopicFilter,
  type TopicName,
} from '../../src/protocol/index.ts'
import { bytes } from './bytes.ts'
import { decoderFor, drain, encode, smallConnect, topics, type PlainPublish } from './decoding.ts'

const plain: PublishFields = {
  topic: topics.internName('a/b' as TopicName),
  topicIsOmitted: false,
  topicAlias: 0,
  qos: 0,
  retain: false,
  dup: false,
  packetId: 0,
  properties: undefined,
  messageExpiryIntervalSeconds: undefined,
  subscriptionIdentifiers: undefined,
  chunk: Buffer.from('..hi..'),
  payloadStart: 2,
  payloadEnd: 4,
}

/** The packet is written between other bytes, which must not change. */
function write(fields: PublishFields, version: ProtocolVersion): Buffer {
  const size = measurePublish(fields, version)
  const target = Buffer.alloc(size + 6, 0xee)
  assert.equal(writePublish(fields, version, target, 3), 3 + size)
  assert.equal(target.toString('hex', 0, 3) + target.toString('hex', 3 + size), 'eeeeeeeeeeee')
  return target.subarray(3, 3 + size)
}

function read(frame: Buffer): PlainPublish {
  const decoder = decoderFor(5, 'client')
  decoder.push(frame)
  return drain(decoder)[0] as PlainPublish
}

describe('a PUBLISH is written', () => {
  test('with the payload directly from its chunk', () => {
    assert.deepEqual(write(plain, 4), bytes`30 07 0003 ${'a/b'} ${'hi'}`)
  })

  test('[MQTT5-2.2.1-2] at QoS 0 without a packet identifier, even if one is given', () => {
    assert.deepEqual(write({ ...plain, packetId: 7 }, 4), write(plain, 4))
    assert.deepEqual(write({ ...plain, packetId: 7 }, 5), write(plain, 5))
  })

  test('in versions before 5.0 without properties', () => {
    const rich = {
      ...plain,
      topicAlias: 3,
      properties: { contentType: 'c' },
      messageExpiryIntervalSeconds: 9,
      subscriptionIdentifiers: [1],
    }
    assert.deepEqual(write(rich, 3), write(plain, 3))
    assert.deepEqual(write(rich, 4), write(plain, 4))
  })

  test('in 5.0 with an alias instead of the topic', () => {
    const aliased = { ...plain, topicIsOmitted: true, topicAlias: 0x0102 }
    assert.deepEqual(write(aliased, 5), bytes`30 08 0000 03 23 0102 ${'hi'}`)
  })

  test('in 5.0 with alias and topic, the first time', () => {
    assert.deepEqual(write({ ...plain, topicAlias: 1 }, 5), bytes`30 0b 0003 ${'a/b'} 03 23 0001 ${'hi'}`)
  })

  test('[MQTT5-3.3.2-6] with the remaining expiry interval instead of the received one', () => {
    const properties = { messageExpiryIntervalSeconds: 100, contentType: 'c' }
    assert.deepEqual(read(write({ ...plain, properties, messageExpiryIntervalSeconds: 0 }, 5)).properties, {
      messageExpiryIntervalSeconds: 0,
      contentType: 'c',
    })
    assert.deepEqual(read(write({ ...plain, properties }, 5)).properties, properties)
    assert.deepEqual(read(write({ ...plain, messageExpiryIntervalSeconds: 7 }, 5)).properties, {
      messageExpiryIntervalSeconds: 7,
    })
  })

  test('with its own properties, whatever packet was written before', () => {
    const small = { ...plain, properties: { contentType: 'small' } }
    const large = { ...plain, properties: { contentType: 'l'.repeat(5_000) } }
    for (const fields of [small, large, small, small, large]) {
      assert.deepEqual(read(write(fields, 5)).properties, fields.properties)
    }
  })

  test('with a payload and a topic of any size', () => {
    for (const size of [0, 1, 47, 48, 49, 127, 16_384, 2_097_152]) {
      const payload = Buffer.alloc(size, 'x')
      const name = 't'.repeat(Math.max(1, Math.min(size, 65_535))) as TopicName
      const fields = { ...plain, topic: topics.internName(name), chunk: payload, payloadStart: 0, payloadEnd: size }
      const decoder = decoderFor(5, 'client', { maxPacketBytes: 10_000_000 })
      decoder.push(write(fields, 5))
      const [packet] = drain(decoder) as PlainPublish[]
      assert.equal(packet.topic, name)
      assert.ok(packet.payload.equals(payload))
    }
  })
})

test('an acknowledgement of success takes four bytes', () => {
  const firstBytes: Record<AckType, number> = { puback: 0x40, pubrec: 0x50, pubrel: 0x62, pubcomp: 0x70 }
  for (const [type, firstByte] of Object.entries(firstBytes)) {
    const target = Buffer.alloc(6)
    assert.equal(writeAck(type as AckType, 0xfedc, target, 1), 5)
    assert.deepEqual(target, Buffer.from([0, firstByte, 2, 0xfe, 0xdc, 0]))
  }
})

test('fields that a version before 5.0 does not have are omitted from every packet', () => {
  const filter = 'a' as TopicFilter
  const subscription = { filter, qos: 1, noLocal: true, retainAsPublished: true, retainHandling: 2 } as const
  const reason = { reasonString: '?' }
  const spelled: readonly (readonly [ControlPacket, Buffer])[] = [
    [new AckPacket('pubrec', 1, 0x97, reason), bytes`50 02 0001`],
    [
      { type: 'subscribe', packetId: 1, subscriptions: [subscription], properties: { subscriptionIdentifier: 1 } },
      bytes`82 06 0001 0001 ${'a'} 01`,
    ],
    [{ type: 'suback', packetId: 1, reasonCodes: [1], properties: reason }, bytes`90 03 0001 01`],
    [{ type: 'unsubscribe', packetId: 1, filters: [filter], properties: {} }, bytes`a2 05 0001 0001 ${'a'}`],
    [{ type: 'unsuback', packetId: 1, reasonCodes: [0x11], properties: reason }, bytes`b0 02 0001`],
    [{ type: 'connack', sessionPresent: true, reasonCode: 0, properties: reason }, bytes`20 02 01 00`],
    [{ type: 'disconnect', reasonCode: 0x04, properties: reason }, bytes`e0 00`],
  ]
  for (const [packet, expected] of spelled)
    for (const version of [3, 4] as const) assert.deepEqual(encode(packet, version), expected, packet.type)
})

test('a refused CONNECT gets a CONNACK code for each reason', () => {
  assert.equal(toConnackReason(reasonCodes.packetTooLarge), reasonCodes.packetTooLarge)
  assert.equal(toConnackReason(reasonCodes.receiveMaximumExceeded), reasonCodes.protocolError)
})

describe('writing an impossible packet is an internal error:', () => {
  test('a text of more than 65,535 bytes', () => {
    assert.throws(() => write4({ ...smallConnect(4), clientId: 'ü'.repeat(32_768) }), /Assertion failed: a text/)
  })

  test('binary data of more than 65,535 bytes', () => {
    const packet = { ...smallConnect(4), username: 'u', password: Buffer.alloc(65_536) }
    assert.throws(() => write4(packet), /Assertion failed: binary data/)
  })

  test('a password without a username before 5.0', () => {
    assert.throws(() => write4({ ...smallConnect(4), password: Buffer.alloc(1) }), /Assertion failed: before 5.0/)
  })

  test('an AUTH before 5.0', () => {
    assert.throws(() => write4({ type: 'auth', reasonCode: 0, properties: undefined }), /Assertion failed: auth/)
  })

  test('a packet that is too large for a remaining length', () => {
    const fields = { ...plain, payloadStart: 0, payloadEnd: 268_435_456 }
    assert.throws(() => measurePublish(fields, 4), /Assertion failed/)
    assert.equal(measurePublish({ ...fields, payloadEnd: 268_435_450 }, 4), 268_435_460)
    assert.equal(measurePacket({ type: 'pingreq' }, 4), 2)
  })
})

function write4(packet: Parameters<typeof writePacket>[0]): number {
  return writePacket(packet, 4, Buffer.alloc(200_000), 0)
}
