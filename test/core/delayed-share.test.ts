// delayed.max_delayed_messages_per_client: one client does not use all delayed messages of the node.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonCodes } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'

for (const shards of [1, 3]) {
  test(`a client at its limit of delayed messages is refused with 0x97, and others are not, ${shards} shards`, () => {
    const world = new World({ shards, settings: { maxDelayedMessages: 1_000, maxDelayedMessagesPerClient: 3 } })
    const greedy = world.connect('greedy')
    const sent = Array.from({ length: 5 }, () => greedy.publish('$delayed/10/a', 'x', { qos: 1 }))
    world.settle()
    const codes = sent.map(({ reasonCode }) => reasonCode)
    const { quotaExceeded } = reasonCodes
    assert.deepEqual(codes, [0, 0, 0, quotaExceeded, quotaExceeded])
    assert.match(sent[3]?.reasonString ?? '', /see delayed\.max_delayed_messages_per_client$/)
    assert.equal(world.view.counts.refused['limit-reached'], 2)
    assert.equal(world.connect('other').publish('$delayed/10/a', 'y', { qos: 1 }).reasonCode, 0)
    // A will counts as well, and so do messages that are restored.
    world.connect('greedy', { will: { topic: '$delayed/1/a', payload: 'will' } }).drop()
    assert.equal(world.view.counts.refused['limit-reached'], 3)
    world.restart()
    assert.equal(world.connect('greedy').publish('$delayed/10/a', 'x', { qos: 1 }).reasonCode, quotaExceeded)
    world.passSeconds(11)
    assert.equal(
      world.connect('greedy').publish('$delayed/10/a', 'x', { qos: 1 }).reasonCode,
      0,
      'the others are published',
    )
  })
}
