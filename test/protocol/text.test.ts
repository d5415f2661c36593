import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { isUtf8, ProtocolError, TopicTable } from '../../src/protocol/index.ts'
import { fc } from '../properties.ts'

/** Uses the topic parser, because a topic name is text. */
const read = (bytes: Buffer): string => new TopicTable(2).intern(bytes, 0, bytes.length).name
const isText = (bytes: Buffer): boolean => {
  try {
    read(bytes)
    return true
  } catch (fault) {
    if (fault instanceof ProtocolError) return false
    throw fault
  }
}

/** The text is between other bytes that do not belong to it. */
const isPayload = (hex: string): boolean => isUtf8(Buffer.from(`ff${hex}ff`, 'hex'), 1, 1 + hex.length / 2)

describe('UTF-8', () => {
  test('[MQTT-1.5.3-1] [MQTT5-1.5.4-1] is accepted if and only if Node accepts it', () => {
    const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    const byStandard = (bytes: Buffer): string | undefined => {
      try {
        return strict.decode(bytes)
      } catch {
        return undefined // Not UTF-8: the expected result.
      }
    }
    const interesting = fc.constantFrom(
      0x41,
      0x7f,
      0x80,
      0x8f,
      0x90,
      0x9f,
      0xa0,
      0xbf,
      0xc0,
      0xc1,
      0xc2,
      0xdf,
      0xe0,
      0xe1,
      0xed,
      0xee,
      0xef,
      0xf0,
      0xf1,
      0xf4,
      0xf5,
      0xff,
    )
    fc.assert(
      fc.property(fc.array(interesting, { minLength: 1, maxLength: 8 }), (any) => {
        const bytes = Buffer.from(any)
        const expected = byStandard(bytes)
        assert.equal(isText(bytes), expected !== undefined)
        if (expected !== undefined) assert.equal(read(bytes), expected)
      }),
      { numRuns: 20_000, seed: 5 },
    )
  })

  test('can have all characters from U+0001 to U+10FFFF except surrogates', () => {
    for (const point of [1, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfeff, 0xfffd, 0xffff, 0x10000, 0x10ffff]) {
      const text = String.fromCodePoint(point)
      assert.equal(read(Buffer.from(text)), text)
    }
  })

  const wrong = {
    'U+0000 [MQTT-1.5.3-2] [MQTT5-1.5.4-2]': '00',
    'U+0000 behind text': '6100',
    'U+0000 in two bytes': 'c080',
    'a slash in two bytes': 'c0af',
    'a slash in three bytes': 'e080af',
    'a slash in four bytes': 'f08080af',
    'the first surrogate': 'eda080',
    'the last surrogate': 'edbfbf',
    'U+110000': 'f4908080',
    'five bytes': 'f888808080',
    'a continuation alone': '80',
    'a character cut short': 'e282',
    'a character interrupted': 'e28261',
    '0xFF': 'ff',
  }
  for (const [name, hex] of Object.entries(wrong)) {
    test(`is not ${name}`, () => assert.equal(isText(Buffer.from(hex, 'hex')), false))
  }

  test('[MQTT5-3.3.2-4] of a payload follows the same rules, except that U+0000 is allowed', () => {
    for (const [name, hex] of Object.entries(wrong)) assert.equal(isPayload(hex), hex === '00' || hex === '6100', name)
    for (const hex of ['', '00', '61006200', 'c3a4', 'f48fbfbf']) assert.equal(isPayload(hex), true, hex)
  })
})
