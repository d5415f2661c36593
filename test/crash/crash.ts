// The scenario of kill.test.ts at any length: node test/crash/crash.ts [--rounds 200] [--seed 1] [--shards 1,2,3] [--power-loss] [--set KEY=VALUE]...

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { PowerLoss } from '../power/power-loss.ts'
import { runCrashScenario } from './crash-scenario.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    shards: { type: 'string', default: '1' },
    'power-loss': { type: 'boolean', default: false },
    set: { type: 'string', multiple: true, default: [] },
  },
})

const folder = mkdtempSync(join(tmpdir(), 'godwit-crash-'))
const dataDirectory = join(folder, 'data')
const power = options['power-loss'] ? new PowerLoss(folder, dataDirectory) : undefined
const end = await runCrashScenario({
  seed: Number(options.seed),
  rounds: Number(options.rounds),
  dataDirectory,
  shards: options.shards.split(',').map(Number),
  set: options.set,
  ...(power === undefined ? {} : { environment: power.environment, afterKill: () => power.fail() }),
})
console.log(
  `${options.rounds} crashes, ${options.shards} shards, seed ${options.seed}: ${end.acknowledged} acknowledged, ${end.delivered} delivered to 8 subscribers`,
)
for (const fault of end.faults) console.log(`- ${fault}`)
if (end.faults.length === 0) rmSync(folder, { recursive: true })
else console.log(`the data directory is left in ${folder}`)
process.exitCode = end.faults.length === 0 ? 0 : 1
