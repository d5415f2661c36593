// The cache of responses of a service: its time to live and its limit.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResponseCache } from '../../src/access/http/response-cache.ts'

test('a response is cached until the end of its time to live', () => {
  const cache = new ResponseCache<string>(10, 100)
  cache.put('a', 'yes', 0)
  assert.equal(cache.find('a', 99), 'yes')
  assert.equal(cache.find('a', 100), undefined)
})

test('above the maximum the oldest entry is deleted; an entry that is set again counts as new', () => {
  const cache = new ResponseCache<string>(2, 100)
  cache.put('a', 'yes', 0)
  cache.put('b', 'yes', 1)
  cache.put('a', 'no', 2)
  cache.put('c', 'yes', 3)
  assert.deepEqual([cache.find('a', 4), cache.find('b', 4), cache.find('c', 4)], ['no', undefined, 'yes'])
})
