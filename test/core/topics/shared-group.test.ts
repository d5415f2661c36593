import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SharedGroup } from '../../../src/core/topics/index.ts'
import { optionsOf, topicFilter } from './generators.ts'
import { fc } from '../../properties.ts'

interface Worker {
  readonly id: number
}

const workers: readonly Worker[] = [0, 1, 2, 3, 4].map((id) => ({ id }))

function groupOf(...members: number[]): SharedGroup<Worker> {
  const group = new SharedGroup<Worker>('workers', topicFilter('jobs/#'))
  for (const id of members) group.add(workers[id], optionsOf({}))
  return group
}

function picks(
  group: SharedGroup<Worker>,
  count: number,
  isEligible: (worker: Worker) => boolean = () => true,
): (number | undefined)[] {
  return Array.from({ length: count }, () => group.pick(isEligible)?.subscriber.id)
}

test('members take turns in the order in which they joined', () => {
  assert.deepEqual(picks(groupOf(0, 1, 2), 7), [0, 1, 2, 0, 1, 2, 0])
})

test('a member that is not eligible is skipped and keeps its place', () => {
  const group = groupOf(0, 1, 2)
  assert.deepEqual(
    picks(group, 4, ({ id }) => id !== 1),
    [0, 2, 0, 2],
  )
  assert.deepEqual(picks(group, 3), [0, 1, 2])
})

test('no member is chosen if none is eligible or the group is empty', () => {
  assert.deepEqual(
    picks(groupOf(0, 1), 2, () => false),
    [undefined, undefined],
  )
  assert.deepEqual(picks(groupOf(), 1), [undefined])
})

test('a new member is the last of the round, and a member that leaves takes no turn from another', () => {
  const group = groupOf(0, 1, 2)
  assert.deepEqual(picks(group, 1), [0])
  group.add(workers[3], optionsOf({}))
  assert.deepEqual(picks(group, 4), [1, 2, 0, 3])
  group.remove(workers[1])
  assert.deepEqual(picks(group, 4), [2, 0, 3, 2])
})

test('a member that subscribes again keeps its place and has the new options', () => {
  const group = groupOf(0, 1)
  assert.equal(group.add(workers[0], optionsOf({ qos: 2 })), false)
  assert.equal(group.pick(() => true)?.options.qos, 2)
  assert.deepEqual(picks(group, 2), [1, 0])
})

test('between two turns of one member, each other member that is present throughout has one', () => {
  const change = fc.record({
    adds: fc.boolean(),
    id: fc.integer({ min: 0, max: 4 }),
    picks: fc.integer({ min: 0, max: 6 }),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
      const group = groupOf()
      const present = new Set<number>()
      const servedSince = new Map<number, Set<number>>()
      for (const { adds, id, picks: count } of changes) {
        assert.equal(adds ? group.add(workers[id], optionsOf({})) : group.remove(workers[id]), adds !== present.has(id))
        if (adds) present.add(id)
        else present.delete(id)
        // The order need not hold for a member that joins or leaves until each has had a turn again.
        for (const [member, others] of servedSince) {
          if (member === id) servedSince.delete(member)
          else others.add(id)
        }
        assert.equal(group.size, present.size)
        for (const picked of picks(group, count)) {
          assert.equal(picked === undefined, present.size === 0)
          if (picked === undefined) continue
          const others = servedSince.get(picked)
          if (others)
            for (const member of present) assert.ok(member === picked || others.has(member), `${member} waits`)
          for (const served of servedSince.values()) served.add(picked)
          servedSince.set(picked, new Set())
        }
      }
      assert.deepEqual(new Set([...group.iterateMembers()].map((member) => member.subscriber.id)), present)
    }),
    { numRuns: 500, seed: 1_883 },
  )
})
