// A rule delays a message: `$delayed/...` as the topic of the action. It has no client whose shard could own the record.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RuleHook } from '../../../src/core/index.ts'
import type { TopicFilter } from '../../../src/protocol/index.ts'
import { SeveralCores } from './several-cores.ts'

const hook: RuleHook = {
  run: (_, message, actions) => {
    const topic = `$delayed/1/out/${message.readPayload().toString()}`
    const publication = { topic, payload: Buffer.from('x'), qos: 1, retain: false, properties: undefined } as const
    assert.equal(actions.publish(publication), undefined)
    return 0
  },
  runTriggers: () => assert.fail('no events are recorded'),
  recordLost: () => assert.fail('no events are recorded'),
}

test('a rule delays messages on every shard, and they survive a kill and another number of shards', () => {
  const rules = { hook, rule: { id: 'delay', actionQueues: [] }, filters: ['in' as TopicFilter] }
  for (const [before, after] of [
    [3, 3],
    [3, 1],
    [1, 3],
    [2, 3],
  ] as const) {
    const cores = new SeveralCores({ shards: before, rules })
    const reader = cores.client(0, 'reader', { expirySeconds: 36_000 })
    const authors = Array.from({ length: before }, (_, shard) => cores.client(shard, `author-${shard}`))
    cores.settle()
    reader.subscribe('out/#')
    cores.settle()
    for (const [shard, author] of authors.entries()) author.publish('in', `${shard}`, { qos: 1 })
    cores.settle()
    cores.restartWith(after)
    cores.settle()
    cores.connect(reader)
    cores.passMs(1_000)
    const expected = authors.map((_, shard) => `out/${shard}`)
    assert.deepEqual(reader.received.map(({ topic }) => topic).toSorted(), expected, `${before} to ${after} shards`)
  }
})
