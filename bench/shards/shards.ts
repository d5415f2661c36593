// Measures the cost and the gain of several shards.
//
//   node bench/shards/shards.ts [--shards 1,2,4] [--only p2p0,p2p1] [--processors 0] [--seconds 5] [--runs 3] [--window 1000]
//
// `--window`: number of messages that a publisher may be ahead of its subscribers, instead of that of the scenario. Processor time is that of the
// whole broker per delivered message.

import { parseArgs } from 'node:util'
import { godwit, startBroker } from '../load/brokers.ts'
import { generateLoad, plainLoad } from '../load/run-generator.ts'
import { scenarios } from '../load/scenarios.ts'
import { median, number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    shards: { type: 'string', default: '1,2,4' },
    only: { type: 'string', default: 'p2p0,p2p1,p2p2,fanout,fanin' },
    processors: { type: 'string', default: '0' },
    seconds: { type: 'string', default: '5' },
    runs: { type: 'string', default: '3' },
    window: { type: 'string' },
  },
})

/** Every thread compiles its own code, and on one core they wait for each other. */
const warmSeconds = 6
const microsecondsPerSecond = 1_000_000
const windowed = options.window === undefined ? {} : { window: Number(options.window) }
const rows: string[][] = []

for (const name of options.only.split(',')) {
  const scenario = scenarios[name]
  if (scenario?.load === undefined) throw new Error(`no load is called ${name}`)
  let ofOneShard: Figures | undefined
  for (const shards of options.shards.split(',').map(Number)) {
    const figures = await measure(scenario.load, shards)
    ofOneShard ??= figures
    rows.push([
      scenario.title,
      String(shards),
      number(figures.messagesPerSecond),
      `${number(figures.messagesPerSecond / ofOneShard.messagesPerSecond, 2)}x`,
      number(figures.cpuMicroseconds, 3),
      `${number(figures.cpuMicroseconds / ofOneShard.cpuMicroseconds, 2)}x`,
    ])
  }
}
printTable(['scenario', 'shards', 'messages/s', '', 'cpu µs/message', ''], rows)

interface Figures {
  readonly messagesPerSecond: number
  readonly cpuMicroseconds: number
}

type Load = NonNullable<(typeof scenarios)[string]['load']>

async function measure(load: Load, shards: number): Promise<Figures> {
  const rates: number[] = []
  const costs: number[] = []
  for (let run = 0; run < Number(options.runs); run++) {
    const broker = await startBroker(godwit([`node.shards=${shards}`, 'log.level=error']), options.processors)
    try {
      const where = { port: broker.port, brokerPid: broker.pid }
      const result = await generateLoad({
        ...plainLoad,
        ...load,
        ...windowed,
        warmSeconds,
        seconds: Number(options.seconds),
        ...where,
      })
      if (result.lost > 0) console.error(`${result.lost} messages were lost with ${shards} shards`)
      rates.push(result.deliveredPerSecond)
      const share = result.brokerCpuShare ?? Number.NaN
      costs.push((share / result.deliveredPerSecond) * microsecondsPerSecond)
    } finally {
      await broker.stop()
    }
  }
  return { messagesPerSecond: median(rates) ?? Number.NaN, cpuMicroseconds: median(costs) ?? Number.NaN }
}
