// The long run, by hand:
//
//   npm run fuzz:gateways -- --count 2000000 --protocol mqttsn --seed 1

import { parseArgs } from 'node:util'
import { fuzzedProtocols, fuzzGateway } from './fuzz-gateway.ts'

const bytesPerMib = 1_048_576
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '2000000' },
    /** mqttsn, coap or lwm2m; all of them where it is left out. */
    protocol: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
})

const wanted = fuzzedProtocols.filter((name) => values.protocol === undefined || name === values.protocol)
if (wanted.length === 0) throw new Error(`--protocol is one of ${fuzzedProtocols.join(', ')}`)
for (const name of wanted) {
  const count = Number(values.count)
  // From the first look on memory is warm: it may not grow with the number of datagrams.
  const heapMib: number[] = []
  const tell = (): void => void heapMib.push(process.memoryUsage().heapUsed / bytesPerMib)
  const { malformed, answered, longestMs, slow } = fuzzGateway(name, { count, seed: Number(values.seed), tell })
  const half = heapMib.slice(Math.floor(heapMib.length / 2))
  console.log(
    `${name}: ${count} datagrams, ${malformed} malformed, ${answered} answered, none by more than three times its length; ` +
      `longest ${longestMs.toFixed(1)} ms, ${slow} above 10 ms; heap ${Math.min(...heapMib).toFixed(1)} to ${Math.max(...heapMib).toFixed(1)} MiB, ` +
      `at most ${Math.max(...half).toFixed(1)} MiB in the second half`,
  )
}
