// Measures how many packets per second the decoder reads and the writer writes, on one processor and without a socket.
//
//   npx node bench/protocol/decode.ts [seconds for each line, 2 by default]

import {
  PacketDecoder,
  TopicTable,
  measurePacket,
  measurePublish,
  writeAck,
  writePacket,
  writePublish,
  type ConnectPacket,
  type ProtocolVersion,
  type PublishFields,
  type TopicName,
} from '../../src/protocol/index.ts'

const secondsPerLine = Number(process.argv[2] ?? 2)
const chunkBytes = 65_536
const topics = new TopicTable(100_000)

const connect = (version: ProtocolVersion): ConnectPacket => ({
  type: 'connect',
  version,
  clientId: 'bench',
  cleanStart: true,
  keepAliveSeconds: 60,
  username: undefined,
  password: undefined,
  will: undefined,
  properties: undefined,
  isBridge: false,
})

const publish = (more: Partial<PublishFields>, name = 'bench/topic/17'): PublishFields => ({
  topic: topics.internName(name as TopicName),
  topicIsOmitted: false,
  topicAlias: 0,
  qos: 0,
  retain: false,
  dup: false,
  packetId: 0,
  properties: undefined,
  messageExpiryIntervalSeconds: undefined,
  subscriptionIdentifiers: undefined,
  chunk: Buffer.alloc(64, 'x'),
  payloadStart: 0,
  payloadEnd: 64,
  ...more,
})

function frameOf(fields: PublishFields, version: ProtocolVersion): Buffer {
  const frame = Buffer.alloc(measurePublish(fields, version))
  writePublish(fields, version, frame, 0)
  return frame
}

/** A chunk of 64 KiB as a socket would give it: whole packets, then a piece of the next. Returned in two. */
function chunksOf(frames: readonly Buffer[]): { chunks: Buffer[]; packets: number } {
  const all: Buffer[] = []
  let bytes = 0
  for (let index = 0; bytes < chunkBytes * 2; index++) {
    const frame = frames[index % frames.length]
    all.push(frame)
    bytes += frame.length
  }
  const joined = Buffer.concat(all)
  const chunks = [0, 1, 2].map((index) => Buffer.from(joined.subarray(index * chunkBytes, (index + 1) * chunkBytes)))
  return { chunks: chunks.filter((chunk) => chunk.length > 0), packets: all.length }
}

function report(name: string, packets: number, elapsedMs: number): void {
  const perSecond = packets / elapsedMs / 1_000
  console.log(`${name.padEnd(44)} ${perSecond.toFixed(2).padStart(7)} million/s`)
}

function measureDecoding(name: string, version: ProtocolVersion, frames: readonly Buffer[]): void {
  const decoder = new PacketDecoder({
    role: 'server',
    topics,
    maxPacketBytes: 10_485_760,
    maxPropertyBytes: 32_768,
    maxTopicLevels: 128,
    maxTopicBytes: 65_535,
  })
  const hello = connect(version)
  const first = Buffer.alloc(measurePacket(hello, version))
  writePacket(hello, version, first, 0)
  decoder.push(first)
  decoder.next()
  const { chunks, packets } = chunksOf(frames)
  const round = (): void => {
    for (const chunk of chunks) {
      decoder.push(chunk)
      while (decoder.next() !== undefined);
    }
  }
  const warmUntil = performance.now() + 300
  while (performance.now() < warmUntil) round()
  const startedAt = performance.now()
  let rounds = 0
  while (performance.now() - startedAt < secondsPerLine * 1_000) {
    round()
    rounds++
  }
  report(name, rounds * packets, performance.now() - startedAt)
}

function measureWriting(name: string, write: (target: Buffer, at: number) => number): void {
  const target = Buffer.alloc(chunkBytes)
  const fill = (): number => {
    let packets = 0
    for (let at = 0; at < chunkBytes - 256; packets++) at = write(target, at)
    return packets
  }
  const warmUntil = performance.now() + 300
  while (performance.now() < warmUntil) fill()
  const startedAt = performance.now()
  let packets = 0
  while (performance.now() - startedAt < secondsPerLine * 1_000) packets += fill()
  report(name, packets, performance.now() - startedAt)
}

const acks = Array.from({ length: 100 }, (_, index) => {
  const ack = Buffer.alloc(4)
  writeAck('puback', index + 1, ack, 0)
  return ack
})
const manyTopics = Array.from({ length: 1_000 }, (_, index) => frameOf(publish({}, `bench/topic/${index}`), 4))
const properties = { contentType: 'text/plain', userProperties: [['unit', 'kelvin']] as const }

measureDecoding('decode PUBLISH QoS 0, 3.1.1, one topic', 4, [frameOf(publish({}), 4)])
measureDecoding('decode PUBLISH QoS 0, 3.1.1, 1,000 topics', 4, manyTopics)
measureDecoding('decode PUBLISH QoS 1, 3.1.1', 4, [frameOf(publish({ qos: 1, packetId: 9 }), 4)])
measureDecoding('decode PUBLISH QoS 0, 5.0, no properties', 5, [frameOf(publish({}), 5)])
measureDecoding('decode PUBLISH QoS 0, 5.0, two properties', 5, [frameOf(publish({ properties }), 5)])
measureDecoding('decode PUBACK, 3.1.1', 4, acks)
measureDecoding('decode PUBACK, 5.0', 5, acks)

const qos0 = publish({})
const withProperties = publish({ properties, subscriptionIdentifiers: [3] })
measureWriting('write PUBLISH QoS 0, 3.1.1', (target, at) => writePublish(qos0, 4, target, at))
measureWriting('write PUBLISH QoS 0, 5.0, no properties', (target, at) => writePublish(qos0, 5, target, at))
measureWriting('write PUBLISH QoS 0, 5.0, three properties', (target, at) =>
  writePublish(withProperties, 5, target, at),
)
measureWriting('write PUBACK', (target, at) => writeAck('puback', 7, target, at))
