// npm run test:long [-- --only NAME]
// The tests that take hours in all, one after the other: random scenarios, kills, power cuts, damaged stores, fuzzing.
// They are not part of `npm test`, because short runs of each are. `long-tests` runs files of `npm test` and `.ci/run` with the long
// length of test/test-length.ts. Ends with one line per run and fails if one failed.

import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

/** Each run is an npm script with its arguments. The seed changes each day, so that nights test different scenarios. */
function runsOf(seed: string): Record<string, readonly string[]> {
  return {
    'long-tests': ['long-tests'],
    'one-shard': ['test:one-shard'],
    'three-shards': ['test:three-shards'],
    // The browser with windows: `.ci/run` has its engine without.
    'dashboard-chromium': ['test:dashboard:chromium'],
    simulate: ['simulate', '--seeds', '10000', '--from', seed],
    'simulate-shards': ['simulate', '--seeds', '5000', '--from', seed, '--shards', '3'],
    'simulate-readers': ['simulate', '--seeds', '2000', '--from', seed, '--scenario', 'readers'],
    'simulate-damage': ['simulate', '--seeds', '2000', '--from', seed, '--scenario', 'damage'],
    'simulate-actions': ['simulate', '--seeds', '1000', '--from', seed, '--scenario', 'actions'],
    'simulate-gateways': ['simulate:gateways', '--seeds', '2000', '--from', seed],
    'simulate-level': ['simulate', '--seeds', '200', '--from', seed, '--store', 'level'],
    crash: ['crash', '--rounds', '200', '--seed', seed],
    'crash-shards': ['crash', '--rounds', '100', '--seed', seed, '--shards', '2'],
    'crash-changing-shards': ['crash', '--rounds', '100', '--seed', seed, '--shards', '3,1,2,3,2,1'],
    'power-loss': ['crash', '--rounds', '100', '--seed', seed, '--power-loss'],
    reconnect: ['reconnect', '--rounds', '200'],
    'fuzz-damage': ['fuzz:damage', '--stores', '20', '--seed', seed],
    'fuzz-api': ['fuzz:api', '--requests', '20000', '--seed', seed],
    'fuzz-protocol': ['fuzz:protocol', '--seed', seed],
    'fuzz-broker': ['fuzz:broker', '--minutes', '30', '--seed', seed],
    'fuzz-broker-shards': ['fuzz:broker', '--minutes', '30', '--seed', seed, '--shards', '3'],
    'fuzz-gateways': ['fuzz:gateways', '--count', '500000', '--seed', seed],
    'black-hole-http': ['black-hole', '--minutes', '10', '--sink', 'http'],
    'black-hole-postgresql': ['black-hole', '--minutes', '10', '--sink', 'postgresql'],
    'black-hole-kafka': ['black-hole', '--minutes', '10', '--sink', 'kafka'],
    'fuzz-rules': ['fuzz:rules', '--minutes', '10', '--seed', seed],
  }
}

const dayMs = 86_400_000

const { values } = parseArgs({
  options: { only: { type: 'string' }, seed: { type: 'string', default: String(Math.floor(Date.now() / dayMs)) } },
})
const runs = Object.entries(runsOf(values.seed)).filter(([name]) => values.only === undefined || name === values.only)
if (runs.length === 0) throw new Error(`no run is named ${values.only}: ${Object.keys(runsOf('1')).join(', ')}`)
const failed: string[] = []
for (const [name, [script, ...options]] of runs) {
  const startedAtMs = Date.now()
  const { status } = spawnSync('npm', ['run', '--silent', script, '--', ...options], { stdio: 'inherit' })
  if (status !== 0) failed.push(name)
  const minutes = ((Date.now() - startedAtMs) / 60_000).toFixed(1)
  console.log(`== ${name}: ${status === 0 ? 'passed' : 'FAILED'} after ${minutes} min (seed ${values.seed})`)
}
console.log(
  `${runs.length - failed.length} passed, ${failed.length} failed${failed.map((name) => ` ${name}`).join('')}`,
)
process.exitCode = failed.length === 0 ? 0 : 1
