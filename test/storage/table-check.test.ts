// The parts of the check of tables that have published test values.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { computeCrc32c } from '../../src/storage/damage/crc32c.ts'
import { decompressSnappy } from '../../src/storage/damage/decompress-snappy.ts'

test('CRC-32C has the values of RFC 3720, appendix B.4', () => {
  const ascending = Buffer.from(Array.from({ length: 32 }, (_, index) => index))
  const vectors: [Buffer, number][] = [
    [Buffer.alloc(32), 0x8a9136aa],
    [Buffer.alloc(32, 0xff), 0x62a8ab43],
    [ascending, 0x46dd794e],
    [Buffer.from(ascending).reverse(), 0x113fdb5c],
    [Buffer.from('123456789'), 0xe3069283],
  ]
  for (const [bytes, expected] of vectors) assert.equal(computeCrc32c(bytes, 0, bytes.length), expected)
})

test('Snappy is decompressed: literals, copies with each length of offset, and copies that overlap themselves', () => {
  const literal = [2 << 2, 0x61, 0x62, 0x63]
  const oneByteOffset = [0x01 | (2 << 2), 3]
  const twoByteOffset = [0x02 | (2 << 2), 9, 0]
  const fourByteOffset = [0x03 | (0 << 2), 12, 0, 0, 0]
  const bytes = Buffer.from([13, ...literal, ...oneByteOffset, ...twoByteOffset, ...fourByteOffset])
  assert.equal(decompressSnappy(bytes, 100)?.toString(), 'abcabcabcabca')
  const longLiteral = Buffer.concat([Buffer.from([70, 60 << 2, 69]), Buffer.alloc(70, 'x')])
  assert.equal(decompressSnappy(longLiteral, 100)?.toString(), 'x'.repeat(70))
})

test('input that is not Snappy is refused and never allocates more memory than the limit', () => {
  const wrong = [
    [],
    [0xff, 0xff, 0xff, 0xff, 0x0f],
    [3, 2 << 2, 0x61],
    [3, 0x01, 1],
    [9, 2 << 2, 0x61, 0x62, 0x63, 0x01 | (2 << 2), 4],
    [2, 2 << 2, 0x61, 0x62, 0x63],
    [5, 2 << 2, 0x61, 0x62, 0x63],
  ]
  for (const bytes of wrong) assert.equal(decompressSnappy(Buffer.from(bytes), 1_000), undefined)
})
