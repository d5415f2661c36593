// Scenarios of actions and delayed messages, from seeds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runActionScenario, type ActionScenarioOptions } from './action-scenario.ts'
import { testLength } from '../test-length.ts'

const scenarios = testLength({ daily: 16, long: 100 })

function runMany(count: number, options: ActionScenarioOptions) {
  const ends = Array.from({ length: count }, (_, seed) => runActionScenario(seed + 1, options))
  const sum = (of: 'arrived' | 'delayed' | 'deaths' | 'failures') =>
    ends.reduce((all, scenario) => all + scenario[of], 0)
  return {
    faults: ends.flatMap(({ fault }) => fault ?? []),
    arrived: sum('arrived'),
    delayed: sum('delayed'),
    deaths: sum('deaths'),
    failures: sum('failures'),
  }
}

for (const shards of [1, 3]) {
  test(`each acknowledged message reaches the service in order, and delayed ones at their time (${shards} shards)`, () => {
    const { faults, arrived, delayed, deaths, failures } = runMany(scenarios, { shards })
    assert.deepEqual(faults, [])
    const isEnough = arrived > scenarios * 100 && delayed > scenarios * 5 && deaths > scenarios && failures > scenarios
    assert.ok(isEnough, 'these scenarios prove little')
  })
}

function isFoundOut(seed: number): boolean {
  return runActionScenario(seed, { shards: 1, promisesEarly: true }).fault?.includes('never came') === true
}

test('the oracles detect a broker that acknowledges before the commit', () => {
  const seeds = Array.from({ length: 40 }, (_, at) => at + 1)
  assert.ok(seeds.some(isFoundOut), 'in no scenario was a failure missed')
})
