import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testLength } from '../../test-length.ts'
import { runMembershipScenario } from './membership-scenario.ts'

void test('random faults of nodes, networks, databases and clocks violate no rule', () => {
  const seeds = testLength({ daily: 60, long: 3_000 })
  const violations = Array.from({ length: seeds }, (_, index) => runMembershipScenario(index + 1))
    .filter(({ violation }) => violation !== undefined)
    .map(({ seed, violation }) => `seed ${seed}: ${violation?.text.slice(0, 300) ?? ''}`)
  assert.deepEqual(violations, [])
})
