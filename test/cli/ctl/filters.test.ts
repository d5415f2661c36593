import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryFrom } from '../../../src/cli/ctl/filters.ts'

test('filters are words with a key of the contract, and whatever stands behind the first sign', () => {
  assert.deepEqual(queryFrom('list_retained', ['topic=a=b\nc', 'limit=3']), {
    query: { topic: 'a=b\nc', limit: '3' },
  })
  assert.deepEqual(queryFrom('list_retained', []), { query: {} })
})

test('a word that is not a filter, and a key that there is not, are wrong usage', () => {
  for (const word of ['topic', '=a', 'tpoic=a', '__proto__=a']) {
    const read = queryFrom('list_retained', [word])
    assert.ok('usage' in read, word)
    assert.ok(read.usage.includes(word.replace(/=.*/, '') || '=a'), read.usage)
  }
})
