// The long run, started by hand:
//
//   npm run fuzz:rules -- --minutes 60 --seed 1

import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fuzzRules } from './fuzz-rules.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
  },
})

const slice = 20_000
const startedAt = performance.now()
const endsAt = startedAt + Number(values.minutes) * 60_000
let rules = 0
let slowestMs = 0
for (let seed = Number(values.seed); performance.now() < endsAt; seed++) {
  const tally = fuzzRules(slice, seed)
  // Node frees the memory of failed decompressions between turns only.
  await nextTurn()
  rules += tally.rules
  if (tally.slowest.ms > slowestMs) {
    slowestMs = tally.slowest.ms
    console.log(`slowest: ${slowestMs.toFixed(0)} ms: ${tally.slowest.sql}`)
  }
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0)
  const nanoseconds = ((tally.compileMs * 1e6) / tally.characters).toFixed(0)
  console.log(
    `${rules} rules, last seed ${seed}: ${tally.refused} refused, ${tally.passed} passed, ${tally.noResult} without result, ${tally.failed} failed, ${nanoseconds} ns to compile a character, ${seconds} s`,
  )
}
console.log('Nothing but results, compile errors and rule errors came out.')
