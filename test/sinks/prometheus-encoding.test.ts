// Snappy and the protocol buffers of remote write, read by independent decoders.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { compressSnappy } from '../../src/sinks/prometheus/compress-snappy.ts'
import { encodeWriteRequest } from '../../src/sinks/prometheus/write-request.ts'
import { decompress } from '../clients/matrix/snappy.ts'
import { fc } from '../properties.ts'

test('compressed data is decompressed to the same bytes', () => {
  const repeating = fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.nat(3_000))
    .map(([piece, count]) => Buffer.concat(Array.from({ length: count }, () => Buffer.from(piece))))
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 500 }), repeating), (bytes) => {
      assert.deepEqual(decompress(compressSnappy(Buffer.from(bytes))), Buffer.from(bytes))
    }),
    { numRuns: 200 },
  )
  for (const bytes of [Buffer.alloc(200_000, 'ab'), randomBytes(200_000), Buffer.alloc(65_536), Buffer.alloc(0)])
    assert.ok(decompress(compressSnappy(bytes)).equals(bytes))
})

test('repeated text becomes shorter', () => {
  const text = Buffer.from('temperature_celsius{client="kiln-7"} 21.5\n'.repeat(1_000))
  assert.ok(compressSnappy(text).length < text.length / 10)
})

function label(name: string): string {
  return `0a0d0a085f5f6e616d655f5f1201${Buffer.from(name).toString('hex')}`
}

function sample(double: string, time: string): string {
  return `120c09${double}10${time}`
}

function wrapped(hex: string): string {
  return `0a${(hex.length / 2).toString(16).padStart(2, '0')}${hex}`
}

test('samples of one series are together and in the order of their times', () => {
  const labels = [['__name__', 'm']] as const
  const request = encodeWriteRequest([
    { labels, value: 2, timestamp: 300 },
    { labels: [['__name__', 'n']], value: 5, timestamp: 1 },
    { labels, value: 1, timestamp: 200 },
  ])
  const seriesM = label('m') + sample('000000000000f03f', 'c801') + sample('0000000000000040', 'ac02')
  const seriesN = label('n') + '120b0900000000000014401001'
  assert.equal(request.toString('hex'), wrapped(seriesM) + wrapped(seriesN))
})
