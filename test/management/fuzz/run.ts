// The long run, started manually:
//
//   npm run fuzz:api -- --requests 100000 --seed 1

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { godwitProgram, WatchedProcess } from '../../e2e/godwit-process.ts'
import { fuzzApi, fuzzedSettings } from './fuzz-api.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    shards: { type: 'string', default: '2' },
  },
})

const password = 'a-password-for-fuzzing'
/** An idle broker returns memory in two steps of 15 s each. */
const restSeconds = 45
const dataDirectory = mkdtempSync(join(tmpdir(), 'godwit-fuzz-api-'))
const own = ['listeners.tcp.bind="127.0.0.1:0"', 'http_server.port=0', `http_server.password="${password}"`]
const set = [...own, ...fuzzedSettings, `node.shards=${values.shards}`].flatMap((setting) => ['--set', setting])
const godwit = new WatchedProcess(process.execPath, [godwitProgram, 'start', '--data', dataDirectory, ...set])
try {
  const [, port] = await godwit.until(/listening +mqtt:\/\/127\.0\.0\.1:(\d+)/)
  const [, url = ''] = await godwit.until(/management API +(http:\/\/127\.0\.0\.1:\d+)\/api\/v4/)
  const outcome = await fuzzApi({
    broker: { port: Number(port), dataDirectory, process: godwit, url },
    administrator: `admin:${password}`,
    seed: Number(values.seed),
    requests: Number(values.requests),
    restSeconds,
    report: (line) => console.log(line),
  })
  const { requests, statuses, faults, roundTrips, maxRoundTripMs, residentMib } = outcome
  const counts = [...statuses].toSorted(([one], [other]) => one - other).map(([status, count]) => `${status}: ${count}`)
  console.log(`${requests} requests (${counts.join(', ')}), ${faults.length} faults`)
  console.log(`the healthy client was served ${roundTrips} times, after ${maxRoundTripMs.toFixed(0)} ms at the latest`)
  const { before, warm, after } = residentMib
  console.log(`${before.toFixed(1)} MiB before, ${warm.toFixed(1)} MiB when warm, ${after.toFixed(1)} MiB after`)
  if (faults.length > 0) process.exitCode = 1
} finally {
  await godwit.stop()
  rmSync(dataDirectory, { recursive: true, force: true })
}
