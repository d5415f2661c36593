// Messages from one shard to another arrive unchanged and in order, however they are grouped.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Message,
  createMessageFromPublish,
  never,
  PeerSendList,
  type MessageSource,
  type PeerMessage,
  type PeerPublish,
} from '../../src/core/index.ts'
import {
  PacketDecoder,
  parseTopicFilter,
  parseTopicName,
  TopicTable,
  type MessageProperties,
  type PublishPacket,
  type QoS,
} from '../../src/protocol/index.ts'
import { encodePublish } from '../simulator/wire.ts'
import { LinkedPair } from './pipe.ts'
import { fc } from '../properties.ts'

const topics = new TopicTable(64)

interface Sample {
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
  username: string | undefined
  isByOwnRight: boolean
  mountpoint: string
}

/** Messages of one publisher follow each other in its chunk. */
function publishesOf(samples: readonly Sample[]): PeerPublish[] {
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

function contentOfPeer(peerMessage: PeerMessage): unknown {
  if (peerMessage.kind === 'publish') return { ...peerMessage, message: contentOf(peerMessage.message) }
  if (peerMessage.kind === 'retained-response') return { ...peerMessage, messages: peerMessage.messages.map(contentOf) }
  return peerMessage
}

const text = fc.string({ unit: 'grapheme', maxLength: 12 }).map((value) => value.replaceAll(/[+#\0]/g, '-'))
/** Most messages are plain, and plain messages are sent in runs. */
const seldom = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
const samples = fc.record<Sample>({
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
  tried: seldom(fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { minLength: 1 })),
  packetId: seldom(fc.integer({ min: 1, max: 65_535 })),
  username: seldom(text),
  isByOwnRight: fc.constantFrom(false, false, false, false, true),
  mountpoint: fc.constantFrom('', '', '', '', 'site-7/'),
})

const filter = parseTopicFilter('sport/+/score')!
const rareMessages = fc.constantFrom<PeerMessage[]>(
  { kind: 'release', publisher: 'pump-1', packetId: 9 },
  {
    kind: 'interest',
    version: 3,
    isFirst: true,
    isComplete: false,
    changes: [{ filter, members: 2, storedMembers: 1, storedQoS: 1, qos: 2, isFull: true }],
  },
  { kind: 'interest-seen', version: 3, sent: [0, 12, 2 ** 40] },
  { kind: 'committed', upTo: 2 ** 40 + 1, refused: undefined, uncommitted: undefined },
  { kind: 'committed', upTo: 4, refused: [{ number: 3, reason: 0x97 }], uncommitted: undefined },
  { kind: 'committed', upTo: 4, refused: undefined, uncommitted: [2, 3] },
  { kind: 'retained-request', requestId: 4, filter, after: [1, 2], limit: 100 },
  { kind: 'retained-request', requestId: 4, filter: undefined, after: [], limit: 100 },
  { kind: 'retained-cancelled', requestId: 4 },
  { kind: 'exclusive-request', requestId: 5, filter, clientId: 'pump-1' },
  { kind: 'exclusive-released', requestId: 5, filter, clientId: 'pump-1' },
  { kind: 'exclusive-response', requestId: 5, isGranted: true },
)

function retainedResponse(found: readonly Sample[]): PeerMessage {
  const messages = publishesOf(found).map(({ message }) => message)
  return { kind: 'retained-response', requestId: 8, isEnd: messages.length === 0, messages }
}

interface Variation {
  publisher: string
  isAwaited: boolean
  isSent: boolean
}

/** Similar messages, some of them different or not for this shard. */
const variations = fc.record<Variation>({
  publisher: fc.constantFrom('pump-1', 'pump-1', 'pump-1', 'pump-2'),
  isAwaited: fc.constantFrom(true, true, true, false),
  isSent: fc.constantFrom(true, true, true, false),
})

function similarMessages([sample, various]: [Sample, Variation[]]): PeerMessage[] {
  const publishes = publishesOf(various.map((variation) => ({ ...sample, ...variation })))
  return publishes.filter((_, index) => various[index]?.isSent)
}

/**
 * Properties of a plain message: to local subscribers only, without acknowledgement. `PeerSendList.sendPlain` sends such
 * messages with less work than `push`.
 */
const plainProperties = { isForSubscribers: true, isToBeRetained: false, isAwaited: false, isRepeat: false } as const
const plainSamples = samples.map((sample) => ({
  ...sample,
  ...plainProperties,
  groups: undefined,
  packetId: undefined,
}))

function isPlain({ hasSubscribers, isRetained, isAwaited, isRepeat, groups, exactlyOnce }: PeerPublish): boolean {
  const isMore = isRetained || isAwaited || isRepeat === true
  return hasSubscribers && !isMore && groups === undefined && exactlyOnce === undefined
}

/** Runs of messages of one publisher, or other messages. */
const messageRuns: fc.Arbitrary<PeerMessage[]> = fc.oneof(
  fc.array(samples, { minLength: 1, maxLength: 6 }).map(publishesOf),
  fc.array(plainSamples, { minLength: 1, maxLength: 6 }).map(publishesOf),
  fc.tuple(samples, fc.array(variations, { minLength: 2, maxLength: 20 })).map(similarMessages),
  rareMessages.map((message) => [message]),
  fc.array(samples, { maxLength: 3 }).map((found) => [retainedResponse(found)]),
)

test('messages arrive unchanged and in order, whenever the turns end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(messageRuns, fc.boolean()), { maxLength: 20 }),
      fc.boolean(),
      (turns, usesSendPlain) => {
        const pair = new LinkedPair()
        const expected: unknown[] = []
        const list = new PeerSendList()
        for (const [messages, endsTurn] of turns) {
          for (const message of messages) {
            expected.push(contentOfPeer(message))
            if (usesSendPlain && message.kind === 'publish' && isPlain(message)) list.sendPlain(1, message.message)
            else list.push({ to: 1, message })
          }
          list.drainTo(() => pair.links[0])
          list.clear()
          if (endsTurn) pair.deliverAll(1)
        }
        pair.settle()
        assert.deepEqual(pair.owners[1].messages.map(contentOfPeer), expected)
      },
    ),
    { numRuns: 200 },
  )
})

const plain: Sample = {
  topic: 'a/b',
  payload: Buffer.alloc(64, 1),
  qos: 1,
  retain: false,
  version: 4,
  properties: undefined,
  publisher: 'pump-1',
  publishedAtMs: 1,
  expiresAtMs: undefined,
  isFrameless: false,
  isForSubscribers: true,
  isToBeRetained: false,
  isAwaited: false,
  isRepeat: false,
  groups: undefined,
  tried: undefined,
  packetId: undefined,
  username: undefined,
  isByOwnRight: false,
  mountpoint: '',
}

test('a frame that can be forwarded unchanged arrives as such a frame', () => {
  const pair = new LinkedPair()
  for (const publish of publishesOf([plain, { ...plain, qos: 0 }, { ...plain, version: 5 }]))
    pair.links[0].send(publish)
  pair.settle()
  const messages = pair.owners[1].messages.map((peerMessage) => (peerMessage as PeerPublish).message)
  assert.deepEqual(
    messages.map(({ frameShape, packetIdAt }) => [frameShape, packetIdAt > 0]),
    [
      [4, true],
      [4, false],
      [5, true],
    ],
  )
  const [first] = messages
  const frame = first.chunk.subarray(first.frameStart, first.frameEnd)
  assert.deepEqual(frame, encodePublish({ ...plain, packetId: 7, payload: Buffer.from(plain.payload) }, 4))
})

test('the chunk of a publisher can be reused after its messages are settled', () => {
  const pair = new LinkedPair()
  const [publish] = publishesOf([plain])
  pair.links[0].send(publish)
  pair.links[0].settle()
  publish.message.chunk.fill(0)
  pair.settle()
  assert.equal((pair.owners[1].messages[0] as PeerPublish).message.readPayload()[0], 1)
})

test('a thousand messages of one publisher take little more space than their frames, in link buffers of limited size', () => {
  const pair = new LinkedPair()
  const frameBytes = encodePublish({ ...plain, packetId: 7, payload: Buffer.from(plain.payload) }, 4).length
  for (const publish of publishesOf(Array.from({ length: 1_000 }, () => plain))) pair.links[0].send(publish)
  assert.equal(pair.deliverAll(1), 2)
  assert.equal(pair.owners[1].messages.length, 1_000)
  assert.ok(frameBytes * 1_000 < 131_072)
})

test('a message that is larger than a link buffer has its own link buffer', () => {
  const pair = new LinkedPair()
  const large = { ...plain, payload: Buffer.alloc(1_000_000, 3) }
  for (const publish of publishesOf([plain, large, plain])) pair.links[0].send(publish)
  pair.settle()
  const sizes = pair.owners[1].messages.map((peerMessage) => (peerMessage as PeerPublish).message.payloadBytes)
  assert.deepEqual(sizes, [64, 1_000_000, 64])
})

test('received messages have the topic objects of the receiving shard', () => {
  const pair = new LinkedPair()
  const known = pair.owners[1].topics.internName(parseTopicName('a/b')!)
  for (const publish of publishesOf([plain, plain])) pair.links[0].send(publish)
  pair.settle()
  for (const peerMessage of pair.owners[1].messages) assert.equal((peerMessage as PeerPublish).message.topic, known)
})
