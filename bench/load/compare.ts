// `npm run bench`: measures this broker and another one in turn on this machine, and prints the ratios.
//
//   npm run bench -- [--only p2p0,fanout] [--seconds 3] [--runs 3] [--other 'COMMAND with PORT and FOLDER']
//
// Without --other, the other broker is an installed mosquitto; if there is none, Godwit is measured alone. Each result is the median of the runs,
// with the lowest and the highest. Absolute values depend on the machine and on its other work: compare the ratios.

import { cpus, loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { godwit, mosquitto, otherBroker, startBroker, type BrokerKind } from './brokers.ts'
import { generateIdle, generateLoad, plainLoad } from './run-generator.ts'
import { scenarios, type Scenario } from './scenarios.ts'
import { median, number, printTable } from './table.ts'

/** One figure of one scenario, of each run. */
interface Figure {
  readonly scenario: string
  readonly unit: string
  readonly digits: number
  readonly valuesByBroker: Map<string, number[]>
}

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(scenarios).join(',') },
    seconds: { type: 'string', default: '3' },
    runs: { type: 'string', default: '3' },
    other: { type: 'string' },
  },
})

const ours = godwit()
const other = options.other === undefined ? mosquitto() : otherBroker(options.other)
const brokers = other === undefined ? [ours] : [ours, other]
if (other === undefined) console.error('mosquitto is not installed (apt-get install mosquitto): measuring godwit alone')

const busyProcesses = loadavg()[0]
if (busyProcesses > 0.7)
  console.error(`other programs are at work (load average ${number(busyProcesses, 1)}): expect odd figures`)

const processors = cpus()
console.log(`${processors.length} processors (${processors[0]?.model ?? 'unknown'}), Node ${process.version}`)
const figures = new Map<string, Figure>()
for (const name of options.only.split(',')) {
  const scenario = scenarios[name]
  if (scenario === undefined)
    throw new Error(`no scenario is called ${name}; there are ${Object.keys(scenarios).join(', ')}`)
  for (let run = 0; run < Number(options.runs); run++) {
    for (const broker of brokers) await measure(scenario, broker)
  }
}
printFigures()

async function measure(scenario: Scenario, kind: BrokerKind): Promise<void> {
  const broker = await startBroker(kind)
  const where = { port: broker.port, brokerPid: broker.pid }
  try {
    if (scenario.idleConnections !== undefined) {
      const idle = await generateIdle({ ...where, version: 4, connections: scenario.idleConnections })
      note({ scenario: scenario.title, unit: 'KiB each', digits: 2 }, kind, idle.kibPerConnection)
      note({ scenario: scenario.title, unit: 'CONNECT/s', digits: 0 }, kind, idle.connectionsPerSecond)
      return
    }
    const result = await generateLoad({ ...plainLoad, ...scenario.load, seconds: Number(options.seconds), ...where })
    if (result.lost > 0) console.error(`${kind.name} lost ${result.lost} messages: ${scenario.title}`)
    if (result.latencyMs === undefined) {
      note({ scenario: scenario.title, unit: 'messages/s', digits: 0 }, kind, result.deliveredPerSecond)
    } else {
      note({ scenario: scenario.title, unit: 'ms p50', digits: 3 }, kind, result.latencyMs.p50)
      note({ scenario: scenario.title, unit: 'ms p99', digits: 3 }, kind, result.latencyMs.p99)
    }
  } finally {
    await broker.stop()
  }
}

function note(figure: Omit<Figure, 'valuesByBroker'>, kind: BrokerKind, value: number | undefined): void {
  const key = `${figure.scenario} ${figure.unit}`
  const known = figures.get(key) ?? { ...figure, valuesByBroker: new Map<string, number[]>() }
  figures.set(key, known)
  if (value !== undefined) known.valuesByBroker.set(kind.name, [...(known.valuesByBroker.get(kind.name) ?? []), value])
}

function printFigures(): void {
  const heads = ['scenario', 'unit', ...brokers.map((broker) => broker.name), ...(other === undefined ? [] : ['ratio'])]
  const rows = [...figures.values()].map((figure) => {
    const runs = brokers.map((broker) => figure.valuesByBroker.get(broker.name) ?? [])
    const [mine, theirs] = runs.map(median)
    const ratio = mine === undefined || theirs === undefined ? undefined : mine / theirs
    const cells = [figure.scenario, figure.unit, ...runs.map((values) => spread(values, figure.digits))]
    return other === undefined ? cells : [...cells, `${number(ratio, 2)}x`]
  })
  printTable(heads, rows)
}

function spread(values: readonly number[], digits: number): string {
  const middle = number(median(values), digits)
  if (values.length < 2) return middle
  return `${middle} (${number(Math.min(...values), digits)} to ${number(Math.max(...values), digits)})`
}
