// Decisions about publishing are cached for a limited number of topics, and for one epoch.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AuthorizationCache } from '../../src/core/model/authorization-cache.ts'
import { Topic, type TopicName } from '../../src/protocol/index.ts'

const plain = { qos: 1, retain: false } as const
const topicOf = (name: string): Topic => new Topic(name as TopicName, Buffer.from(name))

test('the cache has decisions for a limited number of topics per client', () => {
  const cache = new AuthorizationCache()
  for (let number = 0; number < 1_000; number++) {
    assert.equal(cache.get(topicOf(`t/${number}`), plain, 1), undefined)
    cache.set(plain, 'allow')
  }
  const topics = [...cache.walkEntries()].map(({ topic }) => topic)
  assert.ok(topics.length <= 65, `${topics.length} topics`)
  assert.ok(topics.includes('t/999'))
})

test('a cached decision applies to one QoS, with or without the retain flag, and to one epoch', () => {
  const cache = new AuthorizationCache()
  const [one, other] = [topicOf('one'), topicOf('other')]
  cache.get(one, plain, 1)
  cache.set(plain, 'deny')
  cache.get(other, plain, 1)
  cache.set(plain, 'allow')
  assert.deepEqual([cache.get(one, plain, 1), cache.get(other, plain, 1)], ['deny', 'allow'])
  for (const how of [{ ...plain, retain: true }, { ...plain, qos: 2 } as const])
    assert.equal(cache.get(one, how, 1), undefined)
  assert.equal(cache.get(one, plain, 2), undefined)
})
