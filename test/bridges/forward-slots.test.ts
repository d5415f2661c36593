import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ForwardSlots } from '../../src/bridges/forward-slots.ts'
import type { ForwardRule } from '../../src/bridges/rules.ts'
import type { TopicFilter } from '../../src/protocol/index.ts'
import { Bridged } from './bridged-brokers.ts'

const network = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }

function forwardsTo(topics: readonly string[]): string {
  const rules = topics.map((topic) => `{local_topic = a, remote_topic = ${topic}, qos = 2}`)
  return `backoff_max = 1s, forwards = [${rules.join(', ')}]`
}

/** [rules before, rules after, where the message of a rule that stays goes] */
const changes = [
  [['x'], ['y', 'x'], 'x'],
  [['x', 'y'], ['y'], 'y'],
  [['x', 'y'], ['y', 'x'], 'y'],
  [['x', 'y', 'z'], ['n', 'z'], 'z'],
] as const

describe('QoS 2 that is under way when the connection breaks and the rules become others', () => {
  for (const [before, after, stays] of changes) {
    for (const death of [undefined, 'kill'] as const) {
      const then = death === undefined ? '' : ', and the broker dies,'
      test(`from ${before.join()} to ${after.join()}${then} comes over once by the rule that stays, at every step`, () => {
        for (let step = 0; step < 20; step++) {
          const world = new Bridged({ bridge: forwardsTo(before), network })
          const listener = world.there.subscriber(stays)
          world.passSeconds(2)
          world.here.publish('a', 'one', { qos: 2 })
          world.here.passMs(step * 5)
          if (death === undefined) world.stream?.destroy()
          world.change(forwardsTo(after))
          if (death !== undefined) world.restartHere(death)
          world.passSeconds(30)
          const unreleased = world.there.coreOf('').view.bridgeSession('godwit-here-b')?.unreleased
          assert.deepEqual(listener.payloads, ['one'], `broken after ${step * 5} ms`)
          assert.deepEqual(unreleased, [], 'what the remote broker began is over')
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
  return places.of(rules)
}

test('places are the order of the rules until those change, and are kept where they are not', () => {
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

test('there are no more places than packet ids, and those of rules that are gone are given to others', () => {
  const places = new ForwardSlots()
  const many = Array.from({ length: 32 }, (_, index) => `t${index}`)
  taken(places, many)
  const others = ['new', ...many.slice(1)]
  assert.deepEqual(taken(places, others), [...many.keys()])
  assert.equal(places.count, 32)
})

test('a mark that was not written by a bridge says nothing', () => {
  for (const mark of ['$bridge/places/', `$bridge/places/${'-'.repeat(100)}`] as TopicFilter[]) {
    const places = new ForwardSlots()
    const found = taken(places, ['x', 'y'], [mark])
    assert.ok(places.count <= 32)
    assert.equal(new Set(found).size, 2)
    assert.ok(found.every((place) => place < 32))
  }
})
