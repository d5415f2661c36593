// npm run simulate:gateways -- --seeds 10000 [--from N] [--protocol mqttsn|coap|lwm2m]
// npm run simulate:gateways -- --seed N --protocol NAME     prints one scenario, line by line

import { parseArgs } from 'node:util'
import { gatewayScenarios } from './gateway-scenarios.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    protocol: { type: 'string' },
  },
})

const scenarios = Object.entries(gatewayScenarios).filter(([name]) => name === (values.protocol ?? name))
if (scenarios.length === 0) throw new Error(`--protocol is one of ${Object.keys(gatewayScenarios).join(', ')}`)
const maxFaultsPrinted = 20
const from = Number(values.seed ?? values.from)
const count = values.seed === undefined ? Number(values.seeds) : 1
for (const [name, run] of scenarios) {
  let [delivered, lost, failed] = [0, 0, 0]
  const startedMs = performance.now()
  for (let seed = from; seed < from + count; seed++) {
    const outcome = run(seed, { isRecorded: values.seed !== undefined })
    if (values.seed !== undefined) console.log(outcome.log.join('\n'))
    delivered += outcome.delivered
    lost += outcome.lost
    if (outcome.faults.length === 0) continue
    if (failed++ < maxFaultsPrinted) console.log(`${name} seed ${seed}: ${outcome.faults.join('; ')}`)
    process.exitCode = 1
  }
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(
    `${name}: ${count} scenarios from seed ${from} on, ${delivered} messages, ${lost} datagrams lost, ${failed} failed, ${seconds} s`,
  )
}
