// The scenarios from seeds with the real LevelDB store.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runScenarioOnLevel } from './run-scenario-on-level.ts'
import { profileNamed } from './profiles.ts'
import { runScenario } from './run-scenario.ts'
import { testLength } from '../test-length.ts'

const scenariosAtOnce = 4
const seedsPerTest = testLength({ daily: 6, long: 60 })
const comparedSeeds = testLength({ daily: 2, long: 12 })

describe('on the real LevelDB store', () => {
  for (const from of [10_008, 10_101]) {
    test(`scenarios violate no rule: seeds ${from} to ${from + seedsPerTest - 1}`, async () => {
      const faults: string[] = []
      const seeds = Array.from({ length: seedsPerTest }, (_, index) => from + index).values()
      // A scenario waits for its files most of the time.
      const runSome = async (): Promise<void> => {
        for (const seed of seeds) {
          const { fault, profile } = await runScenarioOnLevel(seed)
          if (fault !== undefined) faults.push(`${profile}: ${fault}`)
        }
      }
      await Promise.all(Array.from({ length: scenariosAtOnce }, runSome))
      assert.deepEqual(faults, [])
    })
  }

  for (const shards of [1, 3]) {
    test(`a scenario is the same as in memory, line by line (shards: ${shards})`, async () => {
      for (let seed = 1; seed <= comparedSeeds; seed++) {
        const options = { isRecorded: true, profile: profileNamed('crash'), shards }
        const onLevel = await runScenarioOnLevel(seed, options)
        assert.deepEqual(onLevel.log, runScenario(seed, options).log, `seed ${seed}`)
      }
    })
  }
})
