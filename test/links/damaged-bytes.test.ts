// Bytes that a link cannot read end the link with a reason, and never the shard: no assertion, no endless loop, no message with invalid
// values.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PeerMessage } from '../../src/core/index.ts'
import { LinkDecodeError } from '../../src/links/index.ts'
import { recordKinds } from '../../src/links/record-kinds.ts'
import { parseTopicFilter, parseTopicName } from '../../src/protocol/index.ts'
import { fc } from '../properties.ts'
import { testLength } from '../test-length.ts'
import { publishesOf, rareMessages, retainedResponse, samples } from './peer-message-samples.ts'
import { FakeStream } from '../shard/fake-stream.ts'
import { LinkedPair } from './pipe.ts'

const numRuns = testLength({ daily: 3_000, long: 100_000 })

interface Mutation {
  /** Position in the buffer, as a part of its length. */
  readonly at: number
  readonly kind: 'replace' | 'flip' | 'insert' | 'remove' | 'cut'
  readonly bytes: Uint8Array
}

const mutations: fc.Arbitrary<Mutation> = fc.record({
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  kind: fc.constantFrom('replace', 'replace', 'flip', 'flip', 'insert', 'remove', 'cut'),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }),
})

/** `keepsLength`: the header of the buffer is corrected, so that the damage is within a record. */
function mutate(buffer: ArrayBuffer, list: readonly Mutation[], keepsLength: boolean): ArrayBuffer {
  let bytes = Buffer.from(buffer)
  for (const { at, kind, bytes: changed } of list) {
    const place = Math.floor(at * bytes.length)
    const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)]
    if (kind === 'cut') bytes = Buffer.concat([before])
    else if (kind === 'insert') bytes = Buffer.concat([before, changed, after])
    else if (kind === 'remove') bytes = Buffer.concat([before, after.subarray(changed.length)])
    else {
      bytes = Buffer.from(bytes)
      for (const [index, byte] of changed.entries())
        if (place + index < bytes.length)
          bytes[place + index] = kind === 'replace' ? byte : bytes[place + index] ^ (1 << (byte & 7))
    }
  }
  if (keepsLength && bytes.length >= 4) bytes.writeUInt32LE(bytes.length, 0)
  const result = new ArrayBuffer(bytes.length)
  bytes.copy(Buffer.from(result))
  return result
}

const messages: fc.Arbitrary<PeerMessage[]> = fc
  .array(
    fc.oneof(
      rareMessages.map((message) => [message]),
      fc.array(samples, { minLength: 1, maxLength: 3 }).map(publishesOf),
      fc.array(samples, { maxLength: 2 }).map((found) => [retainedResponse(found)]),
    ),
    { minLength: 1, maxLength: 4 },
  )
  .map((lists) => lists.flat())

function assertValid(message: PeerMessage): void {
  if (message.kind === 'publish') {
    assert.ok(parseTopicName(message.message.topic.name) !== undefined, 'a topic is invalid')
    assert.ok(message.message.payloadBytes >= 0 && message.message.qos <= 2)
    assert.ok(Number.isFinite(message.message.publishedAtMs))
    assert.ok((message.exactlyOnce?.packetId ?? 1) > 0)
    for (const group of message.groups ?? []) assert.equal(parseTopicFilter(group), group)
  }
  if (message.kind === 'retained-response') for (const one of message.messages) assert.ok(one.payloadBytes >= 0)
  if (message.kind === 'interest')
    for (const { filter, qos, storedQoS } of message.changes) {
      assert.equal(parseTopicFilter(filter), filter)
      assert.ok(qos <= 2 && storedQoS <= 2)
    }
}

test('a link buffer with changed bytes is read, or ends the link with a decode error', () => {
  let ended = 0
  fc.assert(
    fc.property(messages, fc.array(mutations, { minLength: 1, maxLength: 3 }), fc.boolean(), (sent, list, keeps) => {
      const pair = new LinkedPair()
      pair.links[0].relay(new FakeStream(), 3, [Buffer.from('CONNECT')])
      for (const message of sent) pair.links[0].send(message)
      pair.links[0].flush()
      pair.changeNext(1, (buffer) => mutate(buffer, list, keeps))
      pair.deliverAll(1)
      const { isClosed, error, messages: received } = pair.owners[1]
      assert.equal(isClosed, error instanceof LinkDecodeError)
      if (error !== undefined) assert.notEqual(error.message, '')
      for (const message of received) assertValid(message)
      // Nothing is read after the error, and the other end learns that the link has ended.
      if (isClosed) {
        ended++
        assert.equal(pair.links[1].readNext(), false)
        pair.settle()
        assert.equal(pair.owners[0].isClosed, true)
        assert.equal(pair.owners[0].error, undefined)
      }
    }),
    { numRuns },
  )
  assert.ok(ended > numRuns / 4, `only ${ended} of ${numRuns} changes were noticed`)
})

test('random bytes as a link buffer end the link with a decode error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const pair = new LinkedPair()
      pair.links[0].sendFinalNotice()
      pair.links[0].flush()
      pair.changeNext(1, () => mutate(Buffer.concat([Buffer.alloc(4), bytes]).buffer, [], true))
      pair.deliverAll(1)
      assert.ok(pair.owners[1].error instanceof LinkDecodeError)
    }),
    { numRuns: 500 },
  )
})

/** Returns a link buffer with these records, and the encoding level before them. */
function createBuffer(
  level: number,
  records: readonly (readonly [kind: number, body: readonly number[]])[],
): ArrayBuffer {
  const all = [[recordKinds.opening, [level]] as const, ...records].flatMap(([kind, body]) => {
    const length = Buffer.alloc(4)
    length.writeUInt32LE(body.length)
    return [kind, ...length, ...body]
  })
  const buffer = new ArrayBuffer(4 + all.length)
  const bytes = Buffer.from(buffer)
  bytes.writeUInt32LE(bytes.length)
  bytes.set(all, 4)
  return buffer
}

function findError(buffer: ArrayBuffer): string | undefined {
  const pair = new LinkedPair()
  pair.links[0].sendFinalNotice()
  pair.links[0].flush()
  pair.changeNext(1, () => buffer)
  pair.deliverAll(1)
  return pair.owners[1].error?.message
}

test('the reason names what could not be read', () => {
  const huge = [255, 255, 255, 255, 255, 255, 255, 127]
  assert.equal(findError(createBuffer(1, [])), undefined)
  assert.match(findError(createBuffer(2, [])) ?? '', /encoding level 2; this version reads 1 to 1/)
  assert.match(findError(createBuffer(1, [[99, []]])) ?? '', /unknown kind 99/)
  assert.match(findError(createBuffer(1, [[recordKinds.relayData, [7, 0, 0, 0]]])) ?? '', /relay 7 is not open/)
  assert.match(findError(createBuffer(1, [[recordKinds.interest, [0, 0, ...huge]]])) ?? '', /does not fit|above/)
  assert.match(findError(createBuffer(1, [[recordKinds.interestSeen, [0, 1, 9, 0, 0]]])) ?? '', /unknown tag 9/)
  assert.match(findError(createBuffer(1, [[recordKinds.exclusiveResponse, [1, 1, 1]]])) ?? '', /1 bytes after/)
  assert.match(findError(createBuffer(1, [[recordKinds.publishRun, [16]]])) ?? '', /not a frame of PUBLISH/)
  assert.match(findError(createBuffer(1, [[recordKinds.release, [0, 0, 0, 0, 0]]])) ?? '', /packet identifier is 0/)
  const [topicWithWildcard, source] = [[0x30, 3, 0, 1, 0x2b], [16]]
  assert.match(
    findError(createBuffer(1, [[recordKinds.publishRun, [...source, ...topicWithWildcard]]])) ?? '',
    /wildcards/,
  )
})

test('many link buffers without a record do not end the shard', () => {
  const pair = new LinkedPair()
  for (let count = 0; count < 50_000; count++) pair.receive(1, createEmptyBuffer())
  pair.deliverAll(1)
  assert.equal(pair.owners[1].error, undefined)
})

function createEmptyBuffer(): ArrayBuffer {
  const buffer = new ArrayBuffer(4)
  new DataView(buffer).setUint32(0, 4, true)
  return buffer
}
