import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decoderFor, drain, encode, freshDecoder } from './decoding.ts'
import type { NamedPacket } from './named-packet.ts'
import { namedPackets } from './named-packets.ts'

const decoderOf = ({ packet, version, role }: NamedPacket) =>
  packet.type === 'connect' ? freshDecoder() : decoderFor(version, role)

describe('each named packet', () => {
  for (const named of namedPackets) {
    test(`is read as its meaning: ${named.name}`, () => {
      const decoder = decoderOf(named)
      decoder.push(named.bytes)
      assert.deepEqual(drain(decoder), [named.packet])
      assert.equal(decoder.bufferedBytes, 0)
    })
    if (named.isOnlyRead) continue
    test(`is written as the bytes of the standard: ${named.name}`, () => {
      assert.equal(encode(named.packet, named.version).toString('hex'), named.bytes.toString('hex'))
    })
  }

  for (const named of namedPackets) {
    test(`waits for its last byte: ${named.name}`, () => {
      const decoder = decoderOf(named)
      decoder.push(named.bytes.subarray(0, -1))
      assert.deepEqual(drain(decoder), [])
      assert.equal(decoder.bufferedBytes, named.bytes.length - 1)
    })
  }
})
