import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { decoderFor, faultOf, freshDecoder } from './decoding.ts'
import { malformedPackets, type MalformedPacket } from './malformed-packets.ts'

const decoderOf = ({ isFirst, version, role }: MalformedPacket) =>
  isFirst ? freshDecoder() : decoderFor(version, role)

describe('the decoder refuses a malformed packet with the reason code of the standard', () => {
  for (const malformed of malformedPackets) {
    test(`MQTT ${malformed.isFirst ? 'any' : malformed.version}: ${malformed.name}`, () => {
      const fault = faultOf(decoderOf(malformed), malformed.bytes)
      assert.equal(fault.reason, reasonCodes[malformed.reason], fault.message)
    })
  }

  test('and refuses each one with the same reason if it arrives in pieces', () => {
    for (const malformed of malformedPackets) {
      if (malformed.bytes.length > 1_000) continue
      const decoder = decoderOf(malformed)
      const pieces = Array.from(malformed.bytes, (byte) => Buffer.from([byte]))
      for (const piece of pieces.slice(0, -1)) decoder.push(piece)
      const fault = faultOf(decoder, pieces.at(-1)!)
      assert.equal(fault.reason, reasonCodes[malformed.reason], malformed.name)
    }
  })
})
