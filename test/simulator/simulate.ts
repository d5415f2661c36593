// npm run simulate -- --seeds 10000 [--from N] [--store memory|level] [--profile NAME] [--shards COUNT]
// npm run simulate -- --seed N [--profile NAME] [--shards COUNT]     prints one scenario, line by line
//   --locals COUNT       local shards that come and go beside the others
//   --reads slowly       queues are read in steps, by the readers of real shards
//   --scenario readers   scenarios about reconnects during such reads
//   --scenario damage    the same with damaged records
//   --scenario actions   scenarios about actions of rules and delayed messages

import { parseArgs } from 'node:util'
import { profileNamed, profiles } from './profiles.ts'
import { runScenario, type ScenarioEnd } from './run-scenario.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    store: { type: 'string', default: 'memory' },
    profile: { type: 'string' },
    shards: { type: 'string' },
    locals: { type: 'string', default: '0' },
    reads: { type: 'string', default: 'at-once' },
    scenario: { type: 'string', default: 'random' },
    help: { type: 'boolean', default: false },
  },
})

const profile = values.profile === undefined ? undefined : profileNamed(values.profile)
const shards = values.shards === undefined ? undefined : Number(values.shards)
const maxFaultsPrinted = 20

if (values.help) {
  console.log(
    'npm run simulate -- --seeds COUNT [--from SEED] [--store memory|level] [--profile NAME] [--shards COUNT]',
  )
  console.log(
    '  --locals COUNT: local shards that come and go; --reads slowly: queues are read in steps; --scenario readers: reconnections during such reads; --scenario damage: the same with damaged records; --scenario actions: actions of rules and delayed messages',
  )
  console.log('npm run simulate -- --seed SEED [--store memory|level] [--profile NAME] [--shards COUNT]')
  console.log(`profiles: ${profiles.map(({ name }) => name).join(', ')}`)
} else if (values.seed === undefined) await runMany(Number(values.from), Number(values.seeds))
else await runOne(Number(values.seed))

async function run(seed: number, isRecorded: boolean): Promise<ScenarioEnd> {
  const onLevel = values.store === 'level'
  const ofShards = shards === undefined ? {} : { shards }
  if (['readers', 'damage'].includes(values.scenario) || values.reads === 'slowly') {
    const { runReaderScenario, runRandomScenarioWithSlowReads } = await import('./run-reader-scenario.ts')
    const options = { isRecorded, onLevel, ...ofShards }
    return values.scenario !== 'random'
      ? await runReaderScenario(seed, { ...options, damages: values.scenario === 'damage' })
      : await runRandomScenarioWithSlowReads(seed, { ...options, profile })
  }
  if (values.scenario === 'actions') {
    const { runActionScenario } = await import('./action-scenario.ts')
    const { fault, log, arrived, delayed } = runActionScenario(seed, {
      shards: shards ?? (seed % 2) * 2 + 1,
      isRecorded,
    })
    return { seed, profile: 'actions', fault, log, delivered: arrived + delayed }
  }
  if (!onLevel) return runScenario(seed, { profile, isRecorded, locals: Number(values.locals), ...ofShards })
  const { runScenarioOnLevel } = await import('./run-scenario-on-level.ts')
  return runScenarioOnLevel(seed, { profile, isRecorded, ...ofShards })
}

async function runOne(seed: number): Promise<void> {
  const end = await run(seed, true)
  console.log(end.log.join('\n'))
  console.log(
    end.fault === undefined
      ? `\nseed ${seed} (${end.profile}): no rule was violated`
      : `\nseed ${seed} (${end.profile}): ${end.fault}`,
  )
  process.exitCode = end.fault === undefined ? 0 : 1
}

async function runMany(from: number, count: number): Promise<void> {
  const startedAt = process.hrtime.bigint()
  const failed: number[] = []
  let delivered = 0
  for (let seed = from; seed < from + count; seed++) {
    const end = await run(seed, false)
    delivered += end.delivered
    if (end.fault === undefined) continue
    failed.push(seed)
    if (failed.length <= maxFaultsPrinted) console.log(`seed ${seed} (${end.profile}): ${end.fault}`)
  }
  const seconds = Number(process.hrtime.bigint() - startedAt) / 1e9
  console.log(
    `${count} scenarios from seed ${from} on, ${delivered} messages delivered, ${failed.length} failed, ${seconds.toFixed(1)} s`,
  )
  if (failed.length > 0)
    console.log(`failed seeds: ${failed.slice(0, 100).join(' ')}${failed.length > 100 ? ' ...' : ''}`)
  process.exitCode = failed.length === 0 ? 0 : 1
}
