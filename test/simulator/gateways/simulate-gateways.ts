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
const maxFaultsTold = 20
const from = Number(values.seed ?? values.from)
const count = values.seed === undefined ? Number(values.seeds) : 1
for (const [name, run] of scenarios) {
  let [delivered, lost, failed] = [0, 0, 0]
  const startedMs = performance.now()
  for (let seed = from; seed < from + count; seed++) {
    const told = run(seed, { isRecorded: values.seed !== undefined })
    if (values.seed !== undefined) console.log(told.log.join('\n'))
    delivered += told.delivered
    lost += told.lost
    if (told.faults.length === 0) continue
    if (failed++ < maxFaultsTold) console.log(`${name} seed ${seed}: ${told.faults.join('; ')}`)
    process.exitCode = 1
  }
  const seconds = ((performance.now() - startedMs) / 1_000).toFixed(1)
  console.log(
    `${name}: ${count} scenarios from seed ${from} on, ${delivered} messages, ${lost} datagrams lost, ${failed} failed, ${seconds} s`,
  )
}
