import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ForwardSlots } from '../../src/bridges/transfer/forward-slots.ts'
import type { ForwardRule } from '../../src/bridges/rules/bridge-rules.ts'
import type { TopicFilter } from '../../src/protocol/index.ts'
import { Bridged } from './bridged-brokers.ts'

const network = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }

function forwardsTo(topics: readonly string[]): string {
  const rules = topics.map((topic) => `{local_topic = a, remote_topic = ${topic}, qos = 2}`)
  return `backoff_max = 1s, forwards = [${rules.join(', ')}]`
}

/** [rules before, rules after, target of the message of a rule that stays] */
const changes = [
  [['x'], ['y', 'x'], 'x'],
  [['x', 'y'], ['y'], 'y'],
  [['x', 'y'], ['y', 'x'], 'y'],
  [['x', 'y', 'z'], ['n', 'z'], 'z'],
] as const

describe('QoS 2 that is in flight when the connection breaks and the rules change', () => {
  for (const [before, after, stays] of changes) {
    for (const death of [undefined, 'kill'] as const) {
      const then = death === undefined ? '' : ', and the broker dies,'
      test(`from ${before.join()} to ${after.join()}${then} arrives once by the rule that stays, at every step`, () => {
        for (let step = 0; step < 20; step++) {
          const world = new Bridged({ bridge: forwardsTo(before), network })
          const subscriber = world.remote.subscriber(stays)
          world.passSeconds(2)
          world.local.publish('a', 'one', { qos: 2 })
          world.local.passMs(step * 5)
          if (death === undefined) world.stream?.destroy()
          world.change(forwardsTo(after))
          if (death !== undefined) world.restartLocal(death)
          world.passSeconds(30)
          const unreleased = world.remote.coreOf('').view.findInternalSession('godwit-here-b')?.unreleased
          assert.deepEqual(subscriber.payloads, ['one'], `broken after ${step * 5} ms`)
          assert.deepEqual(unreleased, [], 'the message of the remote broker is complete')
        }
      })
    }
  }
})

function ruleTo(remoteTopic: string): ForwardRule {
  return { localFilter: 'a', remoteTopic, prefix: '', suffix: '', qos: undefined, retain: undefined }
}

function taken(places: ForwardSlots, topics: readonly string[], kept: readonly TopicFilter[] = []): readonly number[] {
  const rules = topics.map(ruleTo)
  places.assign(rules, kept)
  return places.findSlots(rules)
}

test('slots have the order of the rules until those change, and are stored then', () => {
  const places = new ForwardSlots()
  assert.deepEqual(taken(places, ['x', 'y', 'x']), [0, 1, 2])
  assert.deepEqual([places.mark, places.count], [undefined, 3])
  assert.deepEqual(taken(places, ['z', 'x']), [3, 0])
  const { mark } = places
  assert.ok(mark !== undefined)
  const later = new ForwardSlots()
  assert.deepEqual(taken(later, ['z', 'x'], ['a/#' as TopicFilter, mark]), [3, 0])
  assert.deepEqual([later.mark, later.count], [mark, 4])
})

test('there are at most as many slots as packet identifiers, and slots of removed rules are reused', () => {
  const places = new ForwardSlots()
  const many = Array.from({ length: 32 }, (_, index) => `t${index}`)
  taken(places, many)
  const others = ['new', ...many.slice(1)]
  assert.deepEqual(taken(places, others), [...many.keys()])
  assert.equal(places.count, 32)
})

test('an invalid mark is ignored', () => {
  for (const mark of ['$bridge/places/', `$bridge/places/${'-'.repeat(100)}`] as TopicFilter[]) {
    const places = new ForwardSlots()
    const found = taken(places, ['x', 'y'], [mark])
    assert.ok(places.count <= 32)
    assert.equal(new Set(found).size, 2)
    assert.ok(found.every((place) => place < 32))
  }
})
