// The long run, started by hand:
//
//   npm run fuzz:broker -- --minutes 30 --seed 1 --clients 40

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fuzzBroker } from './fuzz-broker.ts'
import { startFuzzedBroker } from './fuzzed-broker.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    seed: { type: 'string', default: '1' },
    shards: { type: 'string', default: '1' },
    /** Number of clients at a time. */
    clients: { type: 'string', default: '40' },
  },
})

const folder = mkdtempSync(join(tmpdir(), 'godwit-fuzz-'))
const { broker, ports } = await startFuzzedBroker(folder, Number(values.shards))
try {
  const { sessions, roundTrips, maxRoundTripMs, residentMib } = await fuzzBroker({
    broker,
    ports,
    seed: Number(values.seed),
    length: { seconds: Number(values.minutes) * 60 },
    clientsAtOnce: Number(values.clients),
    report: (line) => console.log(line),
  })
  const memory = Object.entries(residentMib ?? {}).map(([when, mib]) => `${mib.toFixed(1)} MiB ${when}`)
  console.log(
    `${sessions} sessions; the healthy client was served ${roundTrips} times, after ${maxRoundTripMs.toFixed(0)} ms at the latest; ${memory.join(', ')}`,
  )
} finally {
  await broker.stop()
  rmSync(folder, { recursive: true, force: true })
}
