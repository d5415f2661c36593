// Scenarios of actions and delayed messages, from seeds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runActionScenario, type ActionScenarioOptions } from './action-scenario.ts'
import { testLength } from '../test-length.ts'

const scenarios = testLength({ daily: 16, long: 100 })

function runMany(count: number, options: ActionScenarioOptions) {
  const ends = Array.from({ length: count }, (_, seed) => runActionScenario(seed + 1, options))
  const sum = (of: 'arrived' | 'delayed' | 'crashes' | 'failures') =>
    ends.reduce((all, scenario) => all + scenario[of], 0)
  return {
    faults: ends.flatMap(({ fault }) => fault ?? []),
    arrived: sum('arrived'),
    delayed: sum('delayed'),
    crashes: sum('crashes'),
    failures: sum('failures'),
  }
}

for (const shards of [1, 3]) {
  test(`each acknowledged message reaches the service in order, and delayed ones at their time (${shards} shards)`, () => {
    const { faults, arrived, delayed, crashes, failures } = runMany(scenarios, { shards })
    assert.deepEqual(faults, [])
    const isEnough = arrived > scenarios * 100 && delayed > scenarios * 5 && crashes > scenarios && failures > scenarios
    assert.ok(isEnough, 'too little was delivered')
  })
}

function isDetected(seed: number): boolean {
  return (
    runActionScenario(seed, { shards: 1, acknowledgesEarly: true }).fault?.includes('never reached the service') ===
    true
  )
}

test('the oracles detect a broker that acknowledges before the commit', () => {
  const seeds = Array.from({ length: 40 }, (_, at) => at + 1)
  assert.ok(seeds.some(isDetected), 'no scenario detects the defect')
})
