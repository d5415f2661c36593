// The long run, started by hand:
//
//   npm run fuzz:protocol -- --inputs 5000000 --seed 1

import { parseArgs } from 'node:util'
import { fuzzDecoder } from './fuzz-decoder.ts'

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '5000000' },
    seed: { type: 'string', default: '1' },
  },
})

const slice = 250_000
const inputs = Number(values.inputs)
const startedAt = performance.now()
let done = 0
let refused = 0
let packets = 0
for (let seed = Number(values.seed); done < inputs; seed++) {
  const tally = fuzzDecoder(Math.min(slice, inputs - done), seed)
  done += tally.inputs
  refused += tally.refused
  packets += tally.packets
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0)
  console.log(`${done} inputs, ${refused} refused, ${packets} packets read, last seed ${seed}, ${seconds} s`)
}
console.log('Nothing but packets and protocol errors came out.')
