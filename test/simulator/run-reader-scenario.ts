// Runs scenarios in which queues are read by the real readers, in steps that take simulated time: those about readers, and the ordinary
// ones. The store is in memory or LevelDB. One scenario at a time: the timers of the readers are those of the process.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { profileOf, type ScenarioProfile } from './profiles.ts'
import { RandomScenario } from './random-scenario.ts'
import { ReaderScenario } from './reader-scenario.ts'
import { endOf, faultOf, type ScenarioEnd } from './run-scenario.ts'
import { realLevelStore, realMemoryStore, type RealRecordStore } from './real-record-store.ts'

interface Options {
  readonly isRecorded?: boolean
  readonly shards?: number
  readonly onLevel?: boolean
}

export interface ReaderScenarioEnd extends ScenarioEnd {
  /** Parts of queues that were asked for. */
  readonly parts: number
}

export async function runReaderScenario(
  seed: number,
  { onLevel, ...options }: Options = {},
): Promise<ReaderScenarioEnd> {
  return await withRecordStore(onLevel, async (recordStore) => {
    const scenario = new ReaderScenario({
      seed,
      recordStore,
      reopen: onLevel === true ? () => recordStore.store.reopen() : undefined,
      ...options,
    })
    const { world, reads } = scenario
    const fault = await faultIn(seed, async () => {
      for (const ms of scenario.tell()) await world.passMsAsync(ms)
    })
    reads.end()
    return {
      seed,
      profile: 'readers',
      fault: reads.fault ?? fault,
      log: world.log,
      delivered: scenario.delivered,
      parts: reads.parts,
    }
  })
}

/** An ordinary scenario whose queues are read slowly. */
export async function runScenarioReadingSlowly(
  seed: number,
  { onLevel, ...options }: Options & { readonly profile?: ScenarioProfile | undefined } = {},
): Promise<ScenarioEnd> {
  return await withRecordStore(onLevel, async (recordStore) => {
    const scenario = new RandomScenario({ seed, recordStore, readsSlowly: true, ...options })
    const { world } = scenario
    const fault = await faultIn(seed, async () => {
      for (const ms of scenario.tell()) await world.passMsAsync(ms)
      await scenario.judge()
    })
    world.reads?.end()
    const profile = (options.profile ?? profileOf(seed)).name
    return endOf(scenario, { seed, profile, fault: world.reads?.fault ?? fault })
  })
}

async function faultIn(seed: number, tell: () => Promise<void>): Promise<string | undefined> {
  try {
    await tell()
    return undefined
  } catch (error) {
    return faultOf(error, seed)
  }
}

async function withRecordStore<End>(
  onLevel = false,
  tell: (recordStore: RealRecordStore) => Promise<End>,
): Promise<End> {
  if (!onLevel) return await tell(realMemoryStore())
  const directory = await mkdtemp(join(tmpdir(), 'godwit-scenario-'))
  const recordStore = realLevelStore(directory)
  const end = await tell(recordStore)
  await recordStore.close()
  await rm(directory, { recursive: true, force: true })
  return end
}
