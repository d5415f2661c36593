// Peer messages of all kinds with generated values, and their content for comparison.

import {
  Message,
  createMessageFromPublish,
  never,
  type Interest,
  type MessageSource,
  type PeerCount,
  type PeerMessage,
  type PeerNames,
  type PeerNumber,
  type PeerPublish,
} from '../../src/core/index.ts'
import {
  PacketDecoder,
  parseTopicFilter,
  TopicTable,
  reasonCodes,
  type MessageProperties,
  type PublishPacket,
  type QoS,
  type TopicFilter,
} from '../../src/protocol/index.ts'
import type { FormerShard, RemainingReceivers } from '../../src/records/index.ts'
import { encodePublish } from '../simulator/wire.ts'
import { fc } from '../properties.ts'

const topics = new TopicTable(64)

export interface Sample {
  topic: string
  payload: Uint8Array
  qos: QoS
  retain: boolean
  version: 4 | 5
  properties: MessageProperties | undefined
  publisher: string
  publishedAtMs: number
  expiresAtMs: number | undefined
  /** A message without a frame: created by the broker, or changed since it was received. */
  isFrameless: boolean
  isForSubscribers: boolean
  isToBeRetained: boolean
  isAwaited: boolean
  isRepeat: boolean
  groups: string[] | undefined
  tried: number[] | undefined
  packetId: number | undefined
  remaining: RemainingReceivers | undefined
  username: string | undefined
  isByOwnRight: boolean
  mountpoint: string
}

/** Messages of one publisher follow each other in its chunk. */
export function publishesOf(samples: readonly Sample[]): PeerPublish[] {
  const frames = samples.map((sample) =>
    encodePublish(
      { ...sample, packetId: sample.qos === 0 ? 0 : 7, payload: Buffer.from(sample.payload) },
      sample.version,
    ),
  )
  const chunk = Buffer.concat(frames)
  let at = 0
  return samples.map((sample, index) => {
    const publish = publishOf(sample, chunk, at, at + frames[index].length)
    at += frames[index].length
    return publish
  })
}

function publishOf(sample: Sample, chunk: Buffer, start: number, end: number): PeerPublish {
  const { groups, packetId, publisher } = sample
  const packet = decoded(chunk.subarray(start, end), sample.version)
  packet.chunk = chunk
  packet.frameStart += start
  packet.payloadStart += start
  packet.frameEnd += start
  if (packet.packetIdAt !== 0) packet.packetIdAt += start
  const message = sample.isFrameless
    ? framelessOf(sample, packet)
    : createMessageFromPublish(packet, packet.topic!, {
        publisher,
        version: sample.version,
        nowMs: sample.publishedAtMs,
      })
  message.publisherUsername = sample.username
  message.isByOwnRight = sample.isByOwnRight
  message.publisherMountpoint = sample.mountpoint
  return {
    kind: 'publish',
    message,
    hasSubscribers: sample.isForSubscribers,
    isRetained: sample.isToBeRetained,
    groups: groups?.map((group) => parseTopicFilter(`$share/${group}/a`)!),
    tried: groups === undefined ? undefined : sample.tried,
    isAwaited: sample.isAwaited,
    exactlyOnce: packetId === undefined ? undefined : { publisher, packetId },
    isRepeat: sample.isRepeat ? true : undefined,
    ...(sample.remaining !== undefined && { remaining: sample.remaining }),
  }
}

function framelessOf(sample: Sample, packet: PublishPacket): Message {
  const source: MessageSource = {
    qos: sample.qos,
    retain: sample.retain,
    properties: packet.properties,
    publisher: sample.publisher,
    publishedAtMs: sample.publishedAtMs,
    expiresAtMs: sample.expiresAtMs ?? never,
    chunk: packet.chunk,
    payloadStart: packet.payloadStart,
    payloadEnd: packet.frameEnd,
  }
  return new Message(packet.topic!, source)
}

function decoded(frame: Buffer, version: 4 | 5): PublishPacket {
  const limits = { maxPacketBytes: 1 << 28, maxPropertyBytes: 1 << 20, maxTopicLevels: 128, maxTopicBytes: 65_535 }
  const decoder = new PacketDecoder({ role: 'client', version, topics, ...limits })
  decoder.push(frame)
  return decoder.next() as PublishPacket
}

/** Returns the content of a message, independent of the place of its bytes. */
function contentOf(message: Message): unknown {
  const { topic, qos, retain, properties, publisher, publishedAtMs, expiresAtMs } = message
  const { publisherUsername, isByOwnRight, publisherMountpoint } = message
  return {
    topic: topic.name,
    qos,
    retain,
    properties: properties === undefined ? undefined : { ...properties },
    publisher,
    publishedAtMs,
    expiresAtMs,
    publisherUsername,
    isByOwnRight,
    publisherMountpoint,
    payload: message.readPayload().toString('hex'),
  }
}

/** Returns plain objects for comparison. */
export function contentOfPeer(peerMessage: PeerMessage): unknown {
  if (peerMessage.kind === 'publish')
    return structuredClone({ ...peerMessage, message: contentOf(peerMessage.message) })
  if (peerMessage.kind === 'retained-response')
    return structuredClone({ ...peerMessage, messages: peerMessage.messages.map(contentOf) })
  return structuredClone(peerMessage)
}

const text = fc.string({ unit: 'grapheme', maxLength: 12 }).map((value) => value.replaceAll(/[+#\0]/g, '-'))
/** Most messages are plain, and plain messages are sent in runs. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
const formerShards: fc.Arbitrary<FormerShard[]> = fc.array(
  fc
    .integer({ min: 0, max: 64 })
    .chain((shard) => fc.record({ shard: fc.constant(shard), of: fc.integer({ min: shard + 1, max: 65 }) })),
  { maxLength: 3 },
)
const sharedFilters = fc.array(fc.constantFrom('$share/red/a', '$share/blue/a'), { maxLength: 2 })
const remainingReceivers: fc.Arbitrary<RemainingReceivers> = fc.record({
  subscribersOf: fc.option(formerShards, { nil: undefined }),
  doneOn: formerShards,
  groups: fc.option(sharedFilters, { nil: undefined }),
  doneGroups: sharedFilters,
  isDoneHere: fc.boolean(),
})
export const samples = fc.record<Sample>({
  topic: text.map((value) => `t/${value}`),
  payload: fc.uint8Array({ maxLength: 300 }),
  qos: fc.constantFrom<QoS[]>(0, 1, 2),
  retain: fc.boolean(),
  version: fc.constantFrom<(4 | 5)[]>(4, 4, 5),
  properties: fc.option(
    fc.record<MessageProperties>({
      contentType: text,
      correlationData: fc.uint8Array({ maxLength: 10 }).map((bytes) => Buffer.from(bytes)),
      userProperties: fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 2 }),
    }),
    { nil: undefined },
  ),
  publisher: fc.constantFrom('', 'pump-1', 'pümp-2'),
  publishedAtMs: fc.constantFrom(1_800_000_000_000, 1_800_000_000_001),
  expiresAtMs: seldom(fc.constant(1_800_000_100_000)),
  isFrameless: fc.constantFrom(false, false, false, true),
  isForSubscribers: fc.boolean(),
  isToBeRetained: fc.boolean(),
  isAwaited: fc.boolean(),
  isRepeat: fc.constantFrom(false, false, false, true),
  groups: seldom(fc.uniqueArray(fc.constantFrom('red', 'blue'), { minLength: 1 })),
  tried: seldom(fc.uniqueArray(fc.constantFrom(0, 7, 255, 256, 257), { minLength: 1 })),
  packetId: seldom(fc.integer({ min: 1, max: 65_535 })),
  remaining: seldom(remainingReceivers),
  username: seldom(text),
  isByOwnRight: fc.constantFrom(false, false, false, false, true),
  mountpoint: fc.constantFrom('', '', '', '', 'site-7/'),
})

/** Local shards that both ends know. Their numbers differ, because each end adds them in another order. */
export const localNames = [
  { life: '0123456789abcdef', thread: 0 },
  { life: 'fedcba9876543210', thread: 65_535 },
] as const

/** Returns the number as the other end knows the shard. */
export function translatePeer(number: PeerNumber, from: PeerNames, to: PeerNames): PeerNumber {
  const name = from.get(number)
  const translated = name === undefined ? undefined : to.find(name)
  if (translated === undefined) throw new Error(`the other end does not know shard ${number}`)
  return translated
}

/** Shards as the sender knows them: 256 and 257 are the local ones. */
const peers = fc.oneof(fc.integer({ min: 0, max: 255 }), fc.constantFrom(256, 257))
const counts: fc.Arbitrary<PeerCount[]> = fc.uniqueArray(fc.record({ peer: peers, count: fc.maxSafeNat() }), {
  selector: ({ peer }) => peer,
  maxLength: 5,
})
const names = text.map((value) => `client ${value}`)
const filters: fc.Arbitrary<TopicFilter> = fc
  .tuple(fc.constantFrom('', '$share/group/', '$share/$queue/'), text, fc.constantFrom('', '/+', '/#', '/+/x'))
  .map(([prefix, value, end]) => parseTopicFilter(`${prefix}f/${value}${end}`)!)
const packetIds = fc.integer({ min: 1, max: 65_535 })
const qualities = fc.constantFrom<QoS[]>(0, 1, 2)
const interests: fc.Arbitrary<Interest> = fc.record({
  filter: filters,
  members: fc.nat(),
  storedMembers: fc.nat(),
  storedQoS: qualities,
  qos: qualities,
  isFull: fc.boolean(),
})
const numbers = fc.maxSafeNat()
const optionalList = <T>(items: fc.Arbitrary<T>): fc.Arbitrary<T[] | undefined> =>
  fc.option(fc.array(items, { minLength: 1, maxLength: 3 }), { nil: undefined })

/** All messages except publications and retained responses. */
export const rareMessages: fc.Arbitrary<PeerMessage> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('release' as const, 'release-request' as const),
    publisher: names,
    packetId: packetIds,
  }),
  fc.record({
    kind: fc.constant('interest' as const),
    version: numbers,
    isFirst: fc.boolean(),
    isComplete: fc.boolean(),
    changes: fc.array(interests, { maxLength: 4 }),
  }),
  fc.record({ kind: fc.constant('interest-seen' as const), version: numbers, sent: counts }),
  fc.record({
    kind: fc.constant('committed' as const),
    upTo: numbers,
    refused: optionalList(
      fc.record({
        number: numbers,
        reason: fc.constantFrom(reasonCodes.quotaExceeded, reasonCodes.noMatchingSubscribers),
      }),
    ),
    uncommitted: optionalList(numbers),
  }),
  fc.record({
    kind: fc.constant('retained-request' as const),
    requestId: numbers,
    filter: fc.option(filters, { nil: undefined }),
    after: counts,
    limit: fc.integer({ min: 0, max: 65_535 }),
  }),
  fc.record({ kind: fc.constant('retained-cancelled' as const), requestId: numbers }),
  fc.record({
    kind: fc.constantFrom('exclusive-request' as const, 'exclusive-released' as const),
    requestId: numbers,
    filter: filters,
    clientId: names,
  }),
  fc.record({ kind: fc.constant('exclusive-response' as const), requestId: numbers, isGranted: fc.boolean() }),
)

export function retainedResponse(found: readonly Sample[]): PeerMessage {
  const messages = publishesOf(found).map(({ message }) => message)
  return { kind: 'retained-response', requestId: 8, isEnd: messages.length === 0, messages }
}
