// Scenarios from seeds: see bridge-scenario.ts and ring-scenario.ts. A failed one is run again with its seed.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runBridgeScenario } from './bridge-scenario.ts'
import { runRingScenario } from './ring-scenario.ts'
import { runAll } from './scenario.ts'
import { testLength } from '../test-length.ts'

const scenarios = testLength({ daily: 24, long: 200 })

test(`in ${scenarios} scenarios, whatever fails or stops responding, no message is lost and QoS 2 arrives once`, () => {
  const { carried, reconnects } = runAll(scenarios, runBridgeScenario)
  assert.ok(carried > scenarios * 50 && reconnects > scenarios, `${carried} messages, ${reconnects} connections`)
})

const ringScenarios = testLength({ daily: 16, long: 100 })

test(`in ${ringScenarios} scenarios of brokers in a ring, each message arrives everywhere, and none loops endlessly`, () => {
  const { carried, loops } = runAll(ringScenarios, runRingScenario)
  assert.ok(carried > ringScenarios * 50 && loops > ringScenarios, `${carried} messages, ${loops} cut`)
})
