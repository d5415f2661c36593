import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureVariableInteger } from '../../src/protocol/bytes/byte-sink.ts'

test('a variable byte integer takes one to four bytes', () => {
  const limits = [0, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 268_435_455]
  assert.deepEqual(limits.map(measureVariableInteger), [1, 1, 2, 2, 3, 3, 4, 4])
})

test('a value that is too large, or not a number, is an internal error', () => {
  for (const value of [268_435_456, Infinity, NaN]) {
    assert.throws(() => measureVariableInteger(value), new RegExp(`Assertion failed: ${value} is too large`))
  }
})
