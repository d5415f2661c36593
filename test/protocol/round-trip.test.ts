import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicFilter, topicName, travellingPacket, type Travelling } from './arbitrary-packets.ts'
import { decoderFor, drain, encode, freshDecoder } from './decoding.ts'
import { parseTopicFilter, parseTopicName } from '../../src/protocol/index.ts'
import { fc } from '../properties.ts'

const decoderOf = ({ packet, version, role }: Travelling) =>
  packet.type === 'connect' ? freshDecoder() : decoderFor(version, role)

// A fixed seed: the packets are the same in every run and on every machine.
const seed = 5
const runs = { numRuns: 2_000, seed }

test('a written packet is read as the same packet', () => {
  fc.assert(
    fc.property(travellingPacket, (travelling) => {
      const decoder = decoderOf(travelling)
      decoder.push(encode(travelling.packet, travelling.version))
      assert.deepEqual(drain(decoder), [travelling.packet])
      assert.equal(decoder.bufferedBytes, 0)
    }),
    runs,
  )
})

test('the decoder returns the same packets wherever the bytes are divided', () => {
  fc.assert(
    fc.property(travellingPacket, (travelling) => {
      const bytes = encode(travelling.packet, travelling.version)
      for (let cut = 0; cut <= bytes.length; cut++) {
        const decoder = decoderOf(travelling)
        decoder.push(bytes.subarray(0, cut))
        const early = drain(decoder)
        assert.equal(decoder.bufferedBytes, cut === bytes.length ? 0 : cut)
        decoder.push(bytes.subarray(cut))
        assert.deepEqual([...early, ...drain(decoder)], [travelling.packet])
      }
    }),
    { numRuns: 300, seed },
  )
})

test('the decoder returns the packets of a stream in order, however the stream is divided into chunks', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 50 })
  const streams = fc.array(travellingPacket, { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(streams, sizes, fc.boolean(), (travellers, chunkSizes, readsInBetween) => {
      const { version, role } = travellers[0]
      const alike = travellers.filter((any) => any.version === version && any.role === role)
      const stream = Buffer.concat(alike.map(({ packet }) => encode(packet, version)))
      const decoder = decoderFor(version, role)
      const packets = []
      for (let at = 0, index = 0; at < stream.length; index++) {
        const size = chunkSizes[index % chunkSizes.length]
        decoder.push(stream.subarray(at, at + size))
        at += size
        if (readsInBetween) packets.push(...drain(decoder))
      }
      packets.push(...drain(decoder))
      assert.deepEqual(
        packets,
        alike.map(({ packet }) => packet),
      )
      assert.equal(decoder.bufferedBytes, 0)
    }),
    { numRuns: 500, seed },
  )
})

test('every valid topic name and filter is parsed unchanged', () => {
  fc.assert(
    fc.property(topicName, (name) => assert.equal(parseTopicName(name), name)),
    runs,
  )
  fc.assert(
    fc.property(topicFilter, (filter) => assert.equal(parseTopicFilter(filter), filter)),
    runs,
  )
})
