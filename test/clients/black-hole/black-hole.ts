// The scenario of black-hole.test.ts at any length: node test/clients/black-hole/black-hole.ts [--minutes 10] [--sink postgresql] [--rate 200]

import { parseArgs } from 'node:util'
import { runBlackHole } from './run-black-hole.ts'

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    sink: { type: 'string', default: 'postgresql' },
    rate: { type: 'string', default: '200' },
  },
})

const ends: (() => unknown)[] = []
try {
  const end = await runBlackHole(
    { after: (work) => ends.push(work) },
    {
      sink: options.sink,
      durationMs: Number(options.minutes) * 60_000,
      perSecond: Number(options.rate),
      log: console.log,
    },
  )
  const { faults, acknowledged, arrived, repeated, samples, maxStored, drainMs } = end
  console.log(
    `${options.sink}, ${options.minutes} minutes: ${acknowledged} acknowledged, ${arrived} arrived, ${repeated} of them twice; ${samples} samples, at most ${maxStored} stored; drained ${(drainMs / 1_000).toFixed(1)} s after the service was back`,
  )
  for (const fault of faults) console.log(`- ${fault}`)
  process.exitCode = faults.length === 0 ? 0 : 1
} finally {
  for (const work of ends.toReversed()) await work()
}
