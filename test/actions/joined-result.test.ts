// The result of a rule that is stored after the payload of an entry, for fallback actions.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasResult, joinResult, splitResult } from '../../src/actions/delivery/joined-result.ts'

test('payload, attributes and result are read as they were stored, also if they are empty', () => {
  for (const [payload, result] of [
    ['payload', '{"a":1}'],
    ['', '{}'],
    ['payload', ''],
  ] as const) {
    const entry = { payload: Buffer.from(payload), attributes: [['path', '/a']] as const, result: Buffer.from(result) }
    const stored = joinResult(entry)
    assert.ok(hasResult(stored.attributes))
    assert.deepEqual(splitResult(stored), entry)
  }
})

test('an entry without a result is stored unchanged', () => {
  const entry = { payload: Buffer.from('payload'), attributes: [['path', '/a']] as const }
  assert.deepEqual(joinResult(entry), entry)
  assert.equal(hasResult(entry.attributes), false)
  assert.equal(hasResult([]), false)
})
