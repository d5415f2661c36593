import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testLength } from '../../test-length.ts'
import { fuzzDecoder } from './fuzz-decoder.ts'

const inputs = testLength({ daily: 100_000, long: 1_000_000 })

test('damaged packets give packets or protocol errors, and the memory is in proportion to the received bytes', () => {
  const tally = fuzzDecoder(inputs, 20_261_121)
  assert.equal(tally.inputs, inputs)
  // A fuzzer whose inputs all fail in the same way, or never, tests nothing.
  assert.ok(tally.refused > inputs * 0.3, `${tally.refused} were refused`)
  assert.ok(tally.packets > inputs / 8, `${tally.packets} packets were read`)
})
