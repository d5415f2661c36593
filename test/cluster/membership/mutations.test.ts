// Each mechanism of the membership is taken out once, and the simulator finds it at the seed of the list.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runMembershipScenario } from './membership-scenario.ts'
import { importMutant, mutations } from './mutations.ts'

for (const mutation of mutations) {
  void test(`the simulator finds that ${mutation.title}`, async () => {
    const machine = await importMutant(mutation)
    const options = { ...(machine === undefined ? {} : { machine }), omits: mutation.omits }
    const { violation } = runMembershipScenario(mutation.seed, options)
    assert.equal(violation?.oracle, mutation.oracle, violation?.text)
    assert.equal(runMembershipScenario(mutation.seed).violation, undefined, 'without the mutation')
  })
}
