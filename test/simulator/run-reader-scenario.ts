// Runs scenarios in which queues are read by `QueueReaders` of src/storage. Each read takes simulated time. A scenario is a
// `ReaderScenario` or a `RandomScenario`. The store is in memory or LevelDB. Only one scenario runs at a time, because the timers of the readers are those of the process.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { profileOf, type ScenarioProfile } from './profiles.ts'
import { Random } from './random.ts'
import { RandomScenario } from './random-scenario.ts'
import { ReaderScenario } from './reader-scenario.ts'
import { RecordDamage } from './record-damage.ts'
import { endOf, type ScenarioEnd } from './run-scenario.ts'
import { realLevelStore, realMemoryStore, type RealRecordStore } from './real-record-store.ts'
import { faultOf } from './stage.ts'

/** Beyond all seeds that scenarios use, see `scenario-features.ts`. */
const damageSeeds = 13 * 2 ** 32

interface Options {
  readonly isRecorded?: boolean
  readonly shards?: number
  readonly onLevel?: boolean
  /** Records of the store are damaged. */
  readonly damages?: boolean
}

export interface ReaderScenarioEnd extends ScenarioEnd {
  /** Number of requested parts of queues. */
  readonly parts: number
  /** Number of damaged records. */
  readonly damaged: number
}

export async function runReaderScenario(
  seed: number,
  { onLevel, damages, ...options }: Options = {},
): Promise<ReaderScenarioEnd> {
  const damage = damages === true ? new RecordDamage(new Random(seed + damageSeeds)) : undefined
  return await withRecordStore({ onLevel, damage }, async (recordStore) => {
    const scenario = new ReaderScenario({
      seed,
      recordStore,
      damage,
      reopen: onLevel === true ? () => recordStore.store.reopen() : undefined,
      ...options,
    })
    const { world, reads } = scenario
    const fault = await faultIn(seed, async () => {
      for (const ms of scenario.run()) await world.passMsAsync(ms)
    })
    reads.end()
    return {
      seed,
      profile: damages === true ? 'damage' : 'readers',
      fault: reads.fault ?? fault,
      log: world.log,
      delivered: scenario.delivered,
      parts: reads.parts,
      damaged: damage?.damaged ?? 0,
    }
  })
}

/** Runs a random scenario whose queues are read slowly. */
export async function runRandomScenarioWithSlowReads(
  seed: number,
  { onLevel, ...options }: Omit<Options, 'damages'> & { readonly profile?: ScenarioProfile | undefined } = {},
): Promise<ScenarioEnd> {
  return await withRecordStore({ onLevel }, async (recordStore) => {
    const scenario = new RandomScenario({ seed, recordStore, readsSlowly: true, ...options })
    const { world } = scenario
    const fault = await faultIn(seed, async () => {
      for (const ms of scenario.run()) await world.passMsAsync(ms)
      await scenario.checkRecords()
    })
    world.reads?.end()
    const profile = (options.profile ?? profileOf(seed)).name
    return endOf(scenario, { seed, profile, fault: world.reads?.fault ?? fault })
  })
}

async function faultIn(seed: number, run: () => Promise<void>): Promise<string | undefined> {
  try {
    await run()
    return undefined
  } catch (error) {
    return faultOf(error, seed)
  }
}

async function withRecordStore<End>(
  { onLevel = false, damage }: { readonly onLevel?: boolean | undefined; readonly damage?: RecordDamage | undefined },
  run: (recordStore: RealRecordStore) => Promise<End>,
): Promise<End> {
  if (!onLevel) return await run(realMemoryStore(damage))
  const directory = await mkdtemp(join(tmpdir(), 'godwit-scenario-'))
  const recordStore = realLevelStore(directory, damage)
  const end = await run(recordStore)
  await recordStore.close()
  await rm(directory, { recursive: true, force: true })
  return end
}
