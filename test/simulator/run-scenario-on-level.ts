// The same scenarios on the real LevelDB store, each in its own directory. The simulated disk still decides when a batch is
// written and what remains after a crash. The store must keep that and return it after each start.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { profileOf, type ScenarioProfile } from './profiles.ts'
import { RandomScenario } from './random-scenario.ts'
import { endOf, type ScenarioEnd } from './run-scenario.ts'
import { realLevelStore } from './real-record-store.ts'
import { faultOf } from './stage.ts'

export async function runScenarioOnLevel(
  seed: number,
  options: { profile?: ScenarioProfile | undefined; isRecorded?: boolean; shards?: number } = {},
): Promise<ScenarioEnd> {
  const directory = await mkdtemp(join(tmpdir(), 'godwit-scenario-'))
  const recordStore = realLevelStore(directory)
  const scenario = new RandomScenario({ seed, ...options, recordStore })
  const profile = (options.profile ?? profileOf(seed)).name
  let fault: string | undefined
  try {
    for (const ms of scenario.run()) await scenario.world.passMsAsync(ms)
    await scenario.checkRecords()
  } catch (error) {
    fault = faultOf(error, seed)
  }
  await recordStore.close()
  await rm(directory, { recursive: true, force: true })
  return endOf(scenario, { seed, profile, fault })
}
