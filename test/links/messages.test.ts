// Messages from one shard to another arrive unchanged and in order, however they are grouped.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PeerSendList, type PeerMessage, type PeerPublish } from '../../src/core/index.ts'
import { parseTopicName } from '../../src/protocol/index.ts'
import { encodePublish } from '../simulator/wire.ts'
import { LinkedPair } from './pipe.ts'
import {
  contentOfPeer,
  publishesOf,
  rareMessages,
  retainedResponse,
  samples,
  translatePeer,
  type Sample,
} from './peer-message-samples.ts'
import { fc } from '../properties.ts'

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
  remaining: undefined,
}))

function isPlain({
  hasSubscribers,
  isRetained,
  isAwaited,
  isRepeat,
  groups,
  exactlyOnce,
  remaining,
}: PeerPublish): boolean {
  const isMore = isRetained || isAwaited || isRepeat === true || remaining !== undefined
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

/** Returns the message as the other end knows its shards. */
function translateMessage(message: PeerMessage, { owners: [sender, receiver] }: LinkedPair): PeerMessage {
  const translate = (number: number): number => translatePeer(number, sender.names, receiver.names)
  if (message.kind === 'publish') return { ...message, tried: message.tried?.map(translate) }
  if (message.kind === 'interest-seen')
    return { ...message, sent: message.sent.map((one) => ({ ...one, peer: translate(one.peer) })) }
  if (message.kind === 'retained-request')
    return { ...message, after: message.after.map((one) => ({ ...one, peer: translate(one.peer) })) }
  return message
}

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
            expected.push(contentOfPeer(translateMessage(message, pair)))
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
  remaining: undefined,
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
