// Client IDs as one level of a topic.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseTopicName } from '../../src/protocol/index.ts'
import { toTopicLevel } from '../../src/shard/observe/topic-level.ts'
import { fc } from '../properties.ts'

const maxBytes = 200

test('exactly the characters that one level cannot have are escaped', () => {
  for (const [clientId, level] of [
    ['lamp-7', 'lamp-7'],
    ['a/b', 'a%2Fb'],
    ['+/#', '%2B%2F%23'],
    ['a\0b', 'a%00b'],
    ['100% $SYS bär', '100% $SYS bär'],
  ] as const)
    assert.equal(toTopicLevel(clientId, maxBytes), level)
})

test('an escaped client ID differs from every other client ID', () => {
  for (const [one, other] of [
    ['a/b', 'a%2Fb'],
    ['a%2Fb', 'a%252Fb'],
    ['a%', 'a%25'],
  ] as const)
    assert.notEqual(toTopicLevel(one, maxBytes), toTopicLevel(other, maxBytes))
})

test('a client ID that is too long is shortened, and stays different from others with the same start', () => {
  const long = 'ä'.repeat(30_000)
  const level = toTopicLevel(long, maxBytes)
  assert.ok(Buffer.byteLength(level) <= maxBytes)
  assert.match(level, /^ä+%-[0-9a-f]{64}$/)
  assert.notEqual(toTopicLevel(`${long}x`, maxBytes), level)
  assert.notEqual(toTopicLevel(level, maxBytes), level)
})

test('any two client IDs have two different levels', () => {
  const part = fc.constantFrom('/', '+', '#', '\0', '%', '2F', '2', '-', '25', '00', 'a', 'ä', '🐦')
  const clientId = fc.array(part, { minLength: 1, maxLength: 80 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(clientId, clientId, (one, other) => {
      const levels = [one, other].map((id) => toTopicLevel(id, 80))
      for (const level of levels) {
        assert.ok(parseTopicName(`$SYS/${level}/x`) !== undefined)
        assert.ok(!level.includes('/') && Buffer.byteLength(level) <= 80)
      }
      assert.equal(levels[0] === levels[1], one === other)
    }),
    { seed: 11, numRuns: 2_000 },
  )
})
