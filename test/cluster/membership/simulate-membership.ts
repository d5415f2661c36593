// node test/cluster/membership/simulate-membership.ts --seeds 10000 [--from N]
// node test/cluster/membership/simulate-membership.ts --seed N      prints one scenario, line by line

import { parseArgs } from 'node:util'
import { runMembershipScenario } from './membership-scenario.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
  },
})

if (values.seed !== undefined) {
  const { lines, violation } = runMembershipScenario(Number(values.seed), { isRecorded: true })
  console.log(lines.join('\n'))
  console.log(violation?.text ?? 'no rule was violated')
  process.exitCode = violation === undefined ? 0 : 1
} else {
  const from = Number(values.from)
  const failed: number[] = []
  for (let seed = from; seed < from + Number(values.seeds); seed++) {
    const { violation } = runMembershipScenario(seed)
    if (violation === undefined) continue
    failed.push(seed)
    if (failed.length <= 20) console.log(`seed ${seed}: ${violation.text.slice(0, 300)}`)
  }
  console.log(`${values.seeds} scenarios from seed ${from}; ${failed.length} failed`)
  process.exitCode = failed.length === 0 ? 0 : 1
}
