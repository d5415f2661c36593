// Scenarios of actions and delayed messages, from seeds.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runActionScenario, type ActionScenarioOptions } from './action-scenario.ts'

function runMany(count: number, options: ActionScenarioOptions) {
  const scenarios = Array.from({ length: count }, (_, seed) => runActionScenario(seed + 1, options))
  const sum = (of: 'arrived' | 'delayed' | 'deaths' | 'failures') =>
    scenarios.reduce((all, scenario) => all + scenario[of], 0)
  return {
    faults: scenarios.flatMap(({ fault }) => fault ?? []),
    arrived: sum('arrived'),
    delayed: sum('delayed'),
    deaths: sum('deaths'),
    failures: sum('failures'),
  }
}

for (const shards of [1, 3]) {
  test(`each acknowledged message comes to the service in order, and delayed ones in time (${shards} shards)`, () => {
    const { faults, arrived, delayed, deaths, failures } = runMany(60, { shards })
    assert.deepEqual(faults, [])
    assert.ok(arrived > 6_000 && delayed > 300 && deaths > 60 && failures > 60, 'these scenarios prove little')
  })
}

test('a broker that acknowledges before its disk has it is found out', () => {
  const { faults } = runMany(40, { shards: 1, promisesEarly: true })
  assert.ok(
    faults.some((fault) => fault.includes('never came')),
    'in no scenario was a failure missed',
  )
})
