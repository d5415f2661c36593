// A rule that delays the message that it receives does not repeat forever.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RuleHook } from '../../src/core/index.ts'
import { parseTopicFilter } from '../../src/protocol/index.ts'
import { World } from '../simulator/world.ts'

/** A rule publishes each message of `loop` to `topics`. */
function worldWithLoop(
  shards: number,
  topics: readonly string[],
  settings = {},
): { world: World; failures: string[]; start: () => void } {
  const failures: string[] = []
  let depth = 0
  const ruleHook: RuleHook = {
    run: (_, message, actions) => {
      if (depth > 8) return 0
      depth++
      for (const topic of topics) {
        const { qos, retain, properties } = message
        const publication = { topic, payload: Buffer.from(message.readPayload()), qos, retain, properties }
        const failure = actions.publish(publication)
        if (failure !== undefined) failures.push(failure)
      }
      depth--
      return 0
    },
    runTriggers: (triggers) => triggers.length,
    recordLost: () => undefined,
  }
  const world = new World({ shards, settings, host: { ruleHook: () => ruleHook } })
  const filter = parseTopicFilter('loop') ?? assert.fail()
  const start = (): void => {
    for (const shard of world.host.shards) {
      shard.handle({ kind: 'rules', rules: [[filter, { id: 'r', actionQueues: [] }]], triggers: new Set() })
    }
  }
  start()
  return { world, failures, start }
}

const delayedIn = (world: World): number => world.records().filter(({ kind }) => kind === 'will').length

for (const shards of [1, 3]) {
  for (const settings of [{}, { maxWillBytesInMemory: 1 }]) {
    test(`a loop of delayed messages ends after 16 times, with a counter and an event (${shards} shards, ${JSON.stringify(settings)})`, () => {
      const { world, failures } = worldWithLoop(shards, ['$delayed/1/loop'], settings)
      const reader = world.subscriber('loop', { qos: 1 })
      world.connect('author').publish('loop', 'x', { qos: 1 })
      world.passSeconds(60)
      assert.equal(reader.payloads.length, 16)
      assert.equal(delayedIn(world), 0)
      assert.deepEqual(failures, ['too-deep'])
      assert.equal(world.view.counts.refused['limit-reached'], 1)
      assert.equal(world.events('packet-refused').length, 1)
    })
  }

  test(`the number survives restarts (${shards} shards)`, () => {
    const { world, failures, start } = worldWithLoop(shards, ['$delayed/5/loop'])
    world.connect('author').publish('loop', 'x', { qos: 1 })
    for (let round = 0; round < 20; round++) {
      world.passSeconds(6)
      world.restart()
      start()
    }
    assert.deepEqual(failures, ['too-deep'])
    assert.equal(delayedIn(world), 0)
  })

  test(`a loop that a will, a retained or a delayed message starts ends as well, and a later one starts again (${shards} shards)`, () => {
    for (const begin of [
      (world: World) => world.connect('author', { will: { topic: 'loop', payload: 'x' } }).drop(),
      (world: World) => world.connect('author', { will: { topic: '$delayed/1/loop', payload: 'x' } }).drop(),
      (world: World) => world.connect('author').publish('loop', 'x', { qos: 1, retain: true }),
      (world: World) => world.connect('author').publish('$delayed/1/loop', 'x', { qos: 2 }),
    ]) {
      const { world, failures } = worldWithLoop(shards, ['$delayed/1/loop'])
      for (const times of [1, 2]) {
        begin(world)
        world.passSeconds(60)
        assert.equal(failures.length, times)
        assert.equal(delayedIn(world), 0)
      }
    }
  })
}

test('with several shards, rules and the API delay messages on each shard, which publishes them after a restart', () => {
  const { world, start } = worldWithLoop(3, ['$delayed/5/later'])
  for (const clientId of ['a', 'b', 'c', 'd', 'e', 'f']) {
    world.connect(clientId).publish('loop', clientId, { qos: 1 })
    world.host.shards.forEach((shard, own) => {
      const content = {
        topic: '$delayed/5/later',
        payload: Buffer.from(`${own}${clientId}`),
        qos: 1,
        retain: false,
      } as const
      const command = { name: 'publish', ...content, clientId, properties: undefined } as const
      shard.handle({ kind: 'command', requestId: own + 1, command })
    })
    world.settle()
  }
  assert.equal(delayedIn(world), 24)
  world.restart()
  start()
  const reader = world.subscriber('later', { qos: 1 })
  world.passSeconds(10)
  assert.equal(delayedIn(world), 0)
  assert.equal(new Set(reader.payloads).size, 24)
})

test('a rule on a delivery that delays a message of its topic does not repeat: deliveries of its messages are no events', () => {
  let runs = 0
  const ruleHook: RuleHook = {
    run: () => 0,
    runTriggers: (triggers, actions) => {
      for (const { kind } of triggers) {
        assert.equal(kind, 'message-delivered')
        runs++
        const publication = { topic: '$delayed/1/loop', payload: Buffer.from('x'), qos: 1, retain: false } as const
        assert.equal(actions.publish({ ...publication, properties: undefined }), undefined)
      }
      return triggers.length
    },
    recordLost: () => undefined,
  }
  const world = new World({ shards: 3, host: { ruleHook: () => ruleHook } })
  for (const shard of world.host.shards)
    shard.handle({ kind: 'rules', rules: [], triggers: new Set(['message-delivered']) })
  const reader = world.subscriber('loop', { qos: 1 })
  world.connect('author').publish('loop', 'x', { qos: 1 })
  world.passSeconds(60)
  assert.deepEqual([runs, reader.payloads.length, delayedIn(world)], [1, 2, 0])
})
