// node test/cluster/membership/find-mutation-seeds.ts [SEEDS]
//   after a change of the state machine or the simulator: writes the first seed that finds each mutation to mutations.ts

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runMembershipScenario } from './membership-scenario.ts'
import { importMutant, mutations } from './mutations.ts'

const list = fileURLToPath(new URL('mutations.ts', import.meta.url))

for (const mutation of mutations) {
  const machine = await importMutant(mutation)
  const options = { ...(machine === undefined ? {} : { machine }), omits: mutation.omits }
  const seeds = Array.from({ length: Number(process.argv[2] ?? 300) }, (_, index) => index + 1)
  const found = seeds.find((seed) => runMembershipScenario(seed, options).violation?.oracle === mutation.oracle)
  console.log(`${found ?? 'no seed'}: ${mutation.title}`)
  if (found === undefined) process.exitCode = 1
  else writeSeed(mutation.title, found)
}

function writeSeed(title: string, seed: number): void {
  const text = readFileSync(list, 'utf8')
  const at = text.indexOf(`'${title}'`)
  writeFileSync(list, text.slice(0, at) + text.slice(at).replace(/seed: \d+/, `seed: ${seed}`))
}
