import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fuzzDecoder } from './fuzz-decoder.ts'

test('200,000 damaged packets cause only packets and protocol errors, and memory follows the received bytes', () => {
  const tally = fuzzDecoder(200_000, 20_261_121)
  assert.equal(tally.inputs, 200_000)
  // A fuzzer whose inputs all fail the same way, or not at all, tests nothing.
  assert.ok(tally.refused > 60_000, `${tally.refused} were refused`)
  assert.ok(tally.packets > 25_000, `${tally.packets} packets were read`)
})
