import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  AckPacket,
  ProtocolError,
  PublishPacket,
  reasonCodes,
  TopicTable,
  type ConnectPacket,
  type PacketDecoder,
  type Topic,
} from '../../src/protocol/index.ts'
import { maxFilters } from '../../src/protocol/packets/read-subscription-packets.ts'
import { bytes, frame } from './bytes.ts'
import { decoderFor, drain, encode, faultOf, freshDecoder, smallConnect } from './decoding.ts'

const publishBytes = bytes`30 07 0003 ${'a/b'} ${'hi'}`

describe('a decoded PUBLISH refers to its bytes', () => {
  test('in the received chunk if the chunk contains the complete packet', () => {
    const decoder = decoderFor(4)
    const chunk = Buffer.concat([bytes`c0 00`, bytes`33 09 0003 ${'a/b'} 0102 ${'hi'}`, publishBytes])
    decoder.push(chunk)
    decoder.next()
    const packet = decoder.next()
    assert.ok(packet instanceof PublishPacket)
    assert.equal(packet.chunk, chunk)
    const { frameStart, packetIdAt, payloadStart, frameEnd } = packet
    assert.deepEqual(
      { frameStart, packetIdAt, payloadStart, frameEnd },
      { frameStart: 2, packetIdAt: 9, payloadStart: 11, frameEnd: 13 },
    )
  })

  test('in a separate buffer if the packet is divided between chunks; the next packet is in its chunk again', () => {
    const decoder = decoderFor(4)
    decoder.push(publishBytes.subarray(0, 5))
    assert.equal(decoder.next(), undefined)
    const chunk = Buffer.concat([publishBytes.subarray(5), publishBytes])
    decoder.push(chunk)
    const joined = decoder.next()
    const inPlace = decoder.next()
    assert.ok(joined instanceof PublishPacket && inPlace instanceof PublishPacket)
    assert.deepEqual(joined.chunk, publishBytes, 'and the buffer is not larger than the packet')
    assert.equal(inPlace.chunk, chunk)
    assert.equal(inPlace.frameStart, 4)
  })

  test('and has the same topic object for the same topic, on every connection', () => {
    const [first, second] = [decoderFor(4), decoderFor(5)]
    first.push(publishBytes)
    second.push(bytes`30 08 0003 ${'a/b'} 00 ${'hi'}`)
    const [one, other] = [first.next(), second.next()]
    assert.ok(one instanceof PublishPacket && other instanceof PublishPacket)
    assert.equal(one.topic, other.topic)
    assert.equal(one.topic?.name, 'a/b')
  })
})

/** Decodes frames of PUBLISH packets with the payload "hi". */
function propertiesOf(decoder: PacketDecoder, ...frames: readonly Buffer[]): readonly unknown[] {
  decoder.push(Buffer.concat(frames))
  return frames.map(() => {
    const packet = decoder.next()
    assert.ok(packet instanceof PublishPacket)
    assert.equal(packet.chunk.toString('utf8', packet.payloadStart, packet.frameEnd), 'hi')
    return packet.properties
  })
}

describe('properties of PUBLISH packets in a row', () => {
  // User property "k" = "v", or "w"; correlation data "v".
  const [one, other] = [
    bytes`30 0d 0001 ${'a'} 07 26 0001 ${'k'} 0001 ${'v'} ${'hi'}`,
    bytes`30 0d 0001 ${'a'} 07 26 0001 ${'k'} 0001 ${'w'} ${'hi'}`,
  ]
  const correlated = bytes`30 0a 0001 ${'a'} 04 09 0001 ${'v'} ${'hi'}`

  test('are one object if they are the same and the decoder shares them', () => {
    const [first, second, third, fourth] = propertiesOf(
      decoderFor(5, 'client', { sharesProperties: true }),
      one,
      one,
      other,
      one,
    )
    assert.equal(first, second)
    assert.deepEqual(first, { userProperties: [['k', 'v']] })
    assert.deepEqual(third, { userProperties: [['k', 'w']] })
    assert.deepEqual(fourth, first)
  })

  test('are not shared if they have correlation data, which refers to the chunk', () => {
    const [first, second] = propertiesOf(decoderFor(5, 'client', { sharesProperties: true }), correlated, correlated)
    assert.notEqual(first, second)
    assert.deepEqual(first, second)
  })

  test('are read again if the section is longer than the packet', () => {
    const decoder = decoderFor(5, 'client', { sharesProperties: true })
    propertiesOf(decoder, one)
    assert.equal(
      faultOf(decoder, bytes`30 09 0001 ${'a'} 07 26 0001 ${'k'} 00`).message,
      'properties run past the end of the packet',
    )
  })

  test('are separate objects in decoders that do not share them', () => {
    const [first, second] = propertiesOf(decoderFor(5, 'client'), one, one)
    assert.notEqual(first, second)
    assert.deepEqual(first, second)
  })
})

test('topics that differ in one byte are different topics on one connection', () => {
  const decoder = decoderFor(4)
  const names = ['aaaa', 'baaa', 'abaa', 'aaba', 'aaab', 'aaa', 'aaaaa', 'aaaa']
  for (const name of names) decoder.push(frame(0x30, bytes`00 ${Buffer.from([name.length])} ${name}`))
  assert.deepEqual(
    drain(decoder).map((packet) => packet.type === 'publish' && packet.topic),
    names,
  )
})

/** Returns the topic object of a message with this topic that this decoder reads. */
function topicOf(decoder: PacketDecoder, name: string): Topic | undefined {
  decoder.push(frame(0x30, bytes`${Buffer.from([name.length >> 8, name.length & 0xff])} ${name}`))
  return (decoder.next() as PublishPacket).topic
}

const publishOf = (payload: string): Buffer => frame(0x30, bytes`0001 ${'a'} ${payload}`)

test('waiting chunks are read in the order of arrival, also those that arrive during reading', () => {
  const decoder = decoderFor(4)
  const payloads: string[] = []
  const read = (): void => {
    const next = decoder.next()
    assert.ok(next instanceof PublishPacket)
    payloads.push(next.chunk.toString('latin1', next.payloadStart, next.frameEnd))
  }
  for (const payload of ['1', '2', '3']) decoder.push(publishOf(payload))
  read()
  decoder.push(publishOf('4'))
  read()
  assert.equal(
    decoder.bufferedBytes,
    publishOf('3').length + publishOf('4').length,
    'what was read is not counted any more',
  )
  for (let count = 0; count < 2; count++) read()
  assert.equal(decoder.next(), undefined)
  assert.deepEqual(payloads, ['1', '2', '3', '4'])
})

test('a decoder stores the last topic of its connection, unless its name is long', () => {
  for (const [nameBytes, isKept] of [
    [1_024, true],
    [1_025, false],
  ] as const) {
    const table = new TopicTable(2)
    const [publisher, others] = [decoderFor(4, 'server', { topics: table }), decoderFor(4, 'server', { topics: table })]
    const name = 'n'.repeat(nameBytes)
    const first = topicOf(publisher, name)
    for (const other of ['a', 'b', 'c', 'd']) topicOf(others, other)
    assert.equal(topicOf(publisher, name) === first, isKept)
  }
})

test('a pushed chunk may be overwritten when the decoder has returned all its packets', () => {
  const decoder = decoderFor(4)
  const readBuffer = Buffer.alloc(4)
  const packets = []
  for (let at = 0; at < publishBytes.length; at += 4) {
    const size = publishBytes.copy(readBuffer, 0, at, at + 4)
    decoder.push(readBuffer.subarray(0, size))
    packets.push(...drain(decoder))
    readBuffer.fill(0xff)
  }
  const plain = { type: 'publish', topic: 'a/b', qos: 0, retain: false, dup: false, packetId: 0, properties: undefined }
  assert.deepEqual(packets, [{ ...plain, payload: Buffer.from('hi') }])
})

/** Fixed header of a CONNECT, with a remaining length of three bytes. */
function headOfConnect(frameBytes: number): Buffer {
  const remaining = frameBytes - 4
  return Buffer.from([0x10, 0x80 | (remaining & 0x7f), 0x80 | ((remaining >> 7) & 0x7f), remaining >> 14])
}

describe('the decoder refuses after the header alone', () => {
  test('[MQTT-3.1.0-1] [MQTT5-3.1.0-1] a first packet that is not CONNECT, after one byte', () => {
    assert.equal(faultOf(freshDecoder(), bytes`30`).reason, reasonCodes.protocolError)
  })

  test('a CONNECT that is too large', () => {
    const fault = faultOf(freshDecoder({ maxPacketBytes: 1_000 }), bytes`10 ff ff ff 7f`)
    assert.equal(fault.reason, reasonCodes.packetTooLarge)
  })

  test('a CONNECT that is larger than any valid CONNECT, even if larger messages are allowed', () => {
    // Fixed header of four bytes, the longest name and level, flags, keep alive, two property sections with lengths of two, five fields.
    const longest = 4 + 12 + 2 * (2 + 1_000) + 5 * 65_537
    const limits = { maxPacketBytes: 10_000_000, maxPropertyBytes: 1_000 }
    const decoder = freshDecoder(limits)
    decoder.push(headOfConnect(longest))
    assert.equal(decoder.next(), undefined)
    assert.equal(faultOf(freshDecoder(limits), headOfConnect(longest + 100)).reason, reasonCodes.packetTooLarge)
  })

  test('[MQTT5-3.2.2-15] a packet that is larger than the maximum, but not one of the maximum size', () => {
    const decoder = decoderFor(4, 'server', { maxPacketBytes: 100 })
    decoder.push(frame(0x30, bytes`0003 ${'a/b'} ${'x'.repeat(93)}`))
    assert.equal(drain(decoder).length, 1, '100 bytes with the header')
    assert.equal(faultOf(decoder, bytes`30 63`).reason, reasonCodes.packetTooLarge, '101 bytes')
  })

  test('a packet type that this end must not receive, before the body', () => {
    assert.equal(faultOf(decoderFor(4), bytes`90`).reason, reasonCodes.protocolError)
    assert.equal(faultOf(decoderFor(4, 'client'), bytes`82`).reason, reasonCodes.protocolError)
  })
})

function subscribeTo(count: number): Buffer {
  return frame(0x82, Buffer.concat([bytes`0001`, ...Array.from({ length: count }, () => bytes`0001 ${'a'} 00`)]))
}

function unsubscribeFrom(count: number): Buffer {
  return frame(0xa2, Buffer.concat([bytes`0001`, ...Array.from({ length: count }, () => bytes`0001 ${'a'}`)]))
}

test('a SUBSCRIBE or UNSUBSCRIBE with more than the maximum number of filters is refused, one with the maximum is not', () => {
  for (const packetOf of [subscribeTo, unsubscribeFrom]) {
    const decoder = decoderFor(4)
    decoder.push(packetOf(maxFilters))
    assert.equal(drain(decoder).length, 1)
    assert.equal(faultOf(decoder, packetOf(maxFilters + 1)).reason, reasonCodes.quotaExceeded)
  }
})

test('the decoder of a client refuses a topic with too many levels or bytes; that of a server leaves the check to the core', () => {
  for (const topic of ['a/b/c/d', 'a'.repeat(301)]) {
    const length = Buffer.alloc(2)
    length.writeUInt16BE(topic.length)
    const packet = frame(0x32, bytes`${length} ${topic} 0001`)
    const limits = { maxTopicLevels: 3, maxTopicBytes: 300 }
    assert.equal(faultOf(decoderFor(4, 'client', limits), packet).reason, reasonCodes.topicNameInvalid)
    const server = decoderFor(4, 'server', limits)
    server.push(packet)
    const [read] = drain(server)
    assert.equal(read?.type === 'publish' && read.topic, topic)
  }
})

describe('after a protocol error', () => {
  test('the decoder throws the same error again and stores nothing', () => {
    const decoder = decoderFor(4)
    const fault = faultOf(decoder, Buffer.concat([bytes`00 00`, publishBytes]))
    decoder.push(publishBytes)
    assert.throws(
      () => decoder.next(),
      (again) => again === fault,
    )
    assert.equal(decoder.bufferedBytes, 0)
  })

  test('in a header that arrived in pieces the decoder stores nothing either', () => {
    const decoder = decoderFor(4)
    for (const byte of bytes`30 ff ff ff`) {
      decoder.push(Buffer.from([byte]))
      assert.equal(decoder.next(), undefined)
    }
    faultOf(decoder, bytes`ff`)
    assert.equal(decoder.bufferedBytes, 0)
  })

  test('the earlier packets have been returned', () => {
    const decoder = decoderFor(4)
    decoder.push(Buffer.concat([publishBytes, publishBytes, bytes`00 00`]))
    assert.ok(decoder.next())
    assert.ok(decoder.next())
    assert.throws(() => decoder.next(), ProtocolError)
  })

  test('in a CONNECT of 5.0 the decoder has the version 5.0', () => {
    const decoder = freshDecoder()
    faultOf(decoder, frame(0x10, bytes`0004 ${'MQTT'} 05 03 0000 00 0000`))
    assert.equal(decoder.version, 5)
  })
})

describe('CONNECT', () => {
  test('sets the version of the following packets', () => {
    for (const version of [3, 4, 5] as const) {
      const decoder = freshDecoder()
      decoder.push(encode(smallConnect(version), version))
      assert.equal((decoder.next() as ConnectPacket).version, version)
      assert.equal(decoder.version, version)
    }
  })

  test('[MQTT-3.1.0-2] [MQTT5-3.1.0-2] is read a second time, so that the broker can refuse it, and does not change the version', () => {
    const decoder = decoderFor(5)
    decoder.push(encode(smallConnect(3), 3))
    assert.equal((decoder.next() as ConnectPacket).version, 3)
    assert.equal(decoder.version, 5)
  })

  test('does not retain its chunk: password and will are copies', () => {
    const decoder = freshDecoder()
    const will = {
      topic: 'w' as never,
      payload: Buffer.from('gone'),
      qos: 0 as const,
      retain: false,
      properties: undefined,
    }
    const chunk = encode({ ...smallConnect(4), username: 'u', password: Buffer.from('secret'), will }, 4)
    decoder.push(chunk)
    const packet = decoder.next() as ConnectPacket
    chunk.fill(0)
    assert.equal(packet.password?.toString(), 'secret')
    assert.equal(packet.will?.payload.toString(), 'gone')
  })
})

test('an announced length allocates nothing: the memory is in proportion to the received bytes', () => {
  const decoder = decoderFor(4, 'server', { maxPacketBytes: 300_000_000 })
  const before = process.memoryUsage().arrayBuffers
  decoder.push(bytes`30 ff ff ff 7f`)
  decoder.next()
  for (let chunk = 0; chunk < 16; chunk++) {
    decoder.push(Buffer.alloc(65_536))
    assert.equal(decoder.next(), undefined)
  }
  assert.equal(decoder.bufferedBytes, 5 + 16 * 65_536)
  const grown = process.memoryUsage().arrayBuffers - before
  assert.ok(grown < 16 * 1_048_576, `${grown} bytes for a mebibyte that came`)
})

test('a packet of 1 MiB that arrives byte by byte is read in linear time', () => {
  const decoder = decoderFor(4, 'server', { maxPacketBytes: 2_000_000 })
  const packet = frame(0x30, Buffer.concat([bytes`0001 ${'a'}`, Buffer.alloc(1_048_576)]))
  for (let at = 0; at < packet.length; at++) {
    decoder.push(packet.subarray(at, at + 1))
    if (at % 1_000 === 0) assert.equal(decoder.next(), undefined)
  }
  assert.ok(decoder.next() instanceof PublishPacket)
})

test('a property section of the maximum size is accepted, and a larger one is refused', () => {
  const decoder = decoderFor(5, 'server', { maxPropertyBytes: 7 })
  decoder.push(bytes`40 0b 0001 00 07 26 0001 ${'k'} 0001 ${'v'}`)
  assert.deepEqual((decoder.next() as AckPacket).properties?.userProperties, [['k', 'v']])
  assert.equal(faultOf(decoder, bytes`40 0c 0001 00 08 26 0001 ${'k'} 0002 ${'vv'}`).reason, reasonCodes.packetTooLarge)
})

test('ten thousand user properties are read in order', () => {
  const decoder = decoderFor(5, 'server', { maxPropertyBytes: 1_000_000 })
  const userProperties = Array.from({ length: 10_000 }, (_, index) => [`name ${index % 7}`, `${index}`] as const)
  decoder.push(encode(new AckPacket('puback', 1, 0, { userProperties }), 5))
  const packet = decoder.next() as AckPacket
  assert.deepEqual(packet.properties?.userProperties, userProperties)
})
