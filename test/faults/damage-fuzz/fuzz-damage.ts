// Damages each file of many stores in each way, and checks the result. Started by hand.
//
//   npm run fuzz:damage -- --stores 20 --seed 1

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { filesOf, createStore, checkDamage } from './damage-round.ts'
import { damages } from './damages.ts'

const { values } = parseArgs({
  options: { stores: { type: 'string', default: '20' }, seed: { type: 'string', default: '1' } },
})

const folder = mkdtempSync(join(tmpdir(), 'godwit-damage-fuzz-'))
const counts = { damages: 0, 'without a loss': 0, 'with a loss and an alarm': 0, faults: 0, 'alarms without a loss': 0 }
const records = { lost: 0, 'older than they were': 0, exported: 0 }
try {
  const firstSeed = Number(values.seed)
  for (let seed = firstSeed; seed < firstSeed + Number(values.stores); seed++) {
    const left = await createStore(folder, seed)
    for (const file of filesOf(left)) {
      for (const damage of Object.keys(damages)) {
        const { faults, lost, restored, exported, alarms } = await checkDamage(left, file, damage, seed)
        counts.damages += 1
        if (lost + restored === 0) counts['without a loss'] += 1
        else if (alarms.length > 0) counts['with a loss and an alarm'] += 1
        if (lost + restored + exported === 0 && alarms.length > 0) counts['alarms without a loss'] += 1
        records.lost += lost
        records['older than they were'] += restored
        records.exported += exported
        if (faults.length === 0) continue
        counts.faults += 1
        console.log(
          `store ${seed}, ${basename(file)}, ${damage}: ${faults.join('; ')}\n  alarms: ${alarms.join(' | ')}`,
        )
      }
    }
    console.log(`seed ${seed}: ${JSON.stringify(counts)} records: ${JSON.stringify(records)}`)
    rmSync(join(folder, String(seed)), { recursive: true, force: true })
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exitCode = counts.faults === 0 ? 0 : 1
