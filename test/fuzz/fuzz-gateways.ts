// The long run, started by hand:
//
//   npm run fuzz:gateways -- --count 2000000 --protocol mqttsn --seed 1

import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { fuzzDtls } from './fuzz-dtls.ts'
import { fuzzedProtocols, fuzzGateway } from './fuzz-gateway.ts'
import { fuzzStomp } from './fuzz-stomp.ts'

const bytesPerMib = 1_048_576
setFlagsFromString('--expose-gc')
/** Memory after a garbage collection. */
const collectGarbage = runInNewContext('gc') as () => void
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '2000000' },
    /** mqttsn, coap, lwm2m, stomp or dtls; default: all of them. */
    protocol: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
})

interface Run {
  readonly count: number
  readonly seed: number
  readonly report: () => void
}

/** The runs by protocol; each returns a summary. */
const fuzzers = new Map<string, (run: Run) => string>([
  ...fuzzedProtocols.map((name): [string, (run: Run) => string] => [name, (run) => datagramsOf(name, run)]),
  [
    'stomp',
    (run) => {
      const { errors, receipts } = fuzzStomp(run)
      return `${run.count} frames, ${errors} refused with ERROR, ${receipts} with RECEIPT`
    },
  ],
  [
    'dtls',
    (run) => {
      const { opened, refused, responses, amplification, maxMs, slowAt } = fuzzDtls(run)
      // A slow datagram is slow in each run; a pause of the garbage collector or of the machine delays a different one.
      const again = slowAt.length === 0 ? [] : fuzzDtls({ ...run, report: () => {} }).slowAt
      const slow = slowAt.filter((at) => again.includes(at))
      return (
        `${run.count} datagrams, ${responses} responses, to unverified addresses: ${amplification.toString()}; ` +
        `${opened} associations opened, ${refused} handshakes refused; longest ${maxMs.toFixed(1)} ms, ` +
        `${slowAt.length} above 10 ms, ${slow.length} of them again in a second run`
      )
    },
  ],
])

const wanted = [...fuzzers].filter(([name]) => values.protocol === undefined || name === values.protocol)
if (wanted.length === 0) throw new Error(`--protocol is one of ${[...fuzzers.keys()].join(', ')}`)
for (const [name, fuzz] of wanted) {
  // After the first measurement, memory must not grow with the number of datagrams.
  const looks: NodeJS.MemoryUsage[] = []
  const report = (): void => {
    collectGarbage()
    looks.push(process.memoryUsage())
  }
  const outcome = fuzz({ count: Number(values.count), seed: Number(values.seed), report })
  report()
  console.log(`${name}: ${outcome}`)
  for (const field of ['heapUsed', 'arrayBuffers', 'rss'] as const)
    console.log(`${name}: ${field} in MiB, at each twentieth: ${mibOf(looks.map((look) => look[field]))}`)
}

function mibOf(bytes: readonly number[]): string {
  // The first measurement is that of a cold process, so it is omitted.
  return bytes
    .slice(1)
    .map((value) => (value / bytesPerMib).toFixed(1))
    .join(' ')
}

function datagramsOf(name: (typeof fuzzedProtocols)[number], run: Run): string {
  const { malformed, responses, amplification, maxMs, slow } = fuzzGateway(name, run)
  return (
    `${run.count} datagrams, ${malformed} malformed, ${responses} responses, ${amplification.toString()}; ` +
    `longest ${maxMs.toFixed(1)} ms, ${slow} above 10 ms`
  )
}
