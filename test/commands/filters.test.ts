import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from '../../src/cli/ctl/parse-query.ts'

test('a filter is a key of the contract, an operator, and any text after the first operator', () => {
  assert.deepEqual(parseQuery('list_retained', ['topic=a=b\nc', 'limit=3']), {
    query: { topic: 'a=b\nc', limit: '3' },
  })
  assert.deepEqual(parseQuery('list_retained', []), { query: {} })
})

test('a word that is not a filter, and an unknown key, are wrong usage', () => {
  for (const word of ['topic', '=a', 'tpoic=a', '__proto__=a']) {
    const read = parseQuery('list_retained', [word])
    assert.ok('usage' in read, word)
    assert.ok(read.usage.includes(word.replace(/=.*/, '') || '=a'), read.usage)
  }
})
