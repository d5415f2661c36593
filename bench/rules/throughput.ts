// Measures what rules cost the message path of one shard: 20 publishers to 20 subscribers at QoS 0, without rules, with twenty rules that do not
// match, and with twenty that do.
//
//   node bench/rules/throughput.ts [--runs 3] [--seconds 3]

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { godwit, startBroker, type BrokerKind } from '../load/brokers.ts'
import { generateLoad, plainLoad } from '../load/run-generator.ts'
import { scenarios } from '../load/scenarios.ts'
import { median, number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: { runs: { type: 'string', default: '3' }, seconds: { type: 'string', default: '3' } },
})

const rules = 20
const kinds = [
  { name: 'no rules', matching: 0, kind: godwit() },
  { name: `${rules} rules that do not match`, matching: 0, kind: withRules('other/#') },
  { name: `${rules} rules that match`, matching: rules, kind: withRules('load/#') },
] as const

const rates = new Map<string, number[]>()
// In turn, as the speed of the machine changes.
for (let run = 0; run < Number(options.runs); run++) {
  for (const { name, kind } of kinds) rates.set(name, [...(rates.get(name) ?? []), await messagesPerSecond(kind)])
}
const base = median(rates.get(kinds[0].name) ?? []) ?? NaN
printTable(
  ['', 'messages/s', 'of it without rules', 'rule runs/s'],
  kinds.map(({ name, matching }) => {
    const rate = median(rates.get(name) ?? []) ?? NaN
    return [name, number(rate), number(rate / base, 2), matching === 0 ? '' : number(rate * matching)]
  }),
)

function withRules(filter: string): BrokerKind {
  const plain = godwit()
  const sql = `SELECT payload.t FROM \\"${filter}\\" WHERE payload.t > 20`
  const lines = Array.from({ length: rules }, (_, at) => `rule_engine.rules.r${at} { sql = "${sql}", actions = [] }`)
  return {
    name: plain.name,
    command: (port, folder) => {
      const file = join(folder, 'rules.conf')
      writeFileSync(file, lines.join('\n'))
      return `${plain.command(port, folder)} --config "${file}"`
    },
  }
}

async function messagesPerSecond(kind: BrokerKind): Promise<number> {
  const broker = await startBroker(kind)
  try {
    const { deliveredPerSecond } = await generateLoad({
      ...plainLoad,
      ...scenarios['p2p0'].load,
      payloadText: JSON.stringify({ t: 21.5, sensor: 'hall', unit: 'C' }),
      seconds: Number(options.seconds),
      port: broker.port,
      brokerPid: broker.pid,
    })
    return deliveredPerSecond
  } finally {
    await broker.stop()
  }
}
