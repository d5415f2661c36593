// Stories of actions and delayed messages, from seeds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellActionStory, type ActionStoryOptions } from './action-story.ts'

function tellMany(count: number, options: ActionStoryOptions) {
  const stories = Array.from({ length: count }, (_, seed) => tellActionStory(seed + 1, options))
  const sum = (of: 'arrived' | 'delayed' | 'deaths' | 'failures') => stories.reduce((all, story) => all + story[of], 0)
  return {
    faults: stories.flatMap(({ fault }) => fault ?? []),
    arrived: sum('arrived'),
    delayed: sum('delayed'),
    deaths: sum('deaths'),
    failures: sum('failures'),
  }
}

for (const shards of [1, 3]) {
  test(`each acknowledged message comes to the service in order, and delayed ones in time (${shards} shards)`, () => {
    const { faults, arrived, delayed, deaths, failures } = tellMany(60, { shards })
    assert.deepEqual(faults, [])
    assert.ok(arrived > 6_000 && delayed > 300 && deaths > 60 && failures > 60, 'these scenarios prove little')
  })
}

test('a broker that acknowledges before its disk has it is found out', () => {
  const { faults } = tellMany(40, { shards: 1, promisesEarly: true })
  assert.ok(
    faults.some((fault) => fault.includes('never came')),
    'in no scenario was a failure missed',
  )
})
