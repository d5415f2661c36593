// Measures what clients that stop reading cost: memory of the broker, and rate of the other clients.
//
//   node bench/slow-reader/slow-reader.ts [--seconds 10] [--qos 0] [--broker mosquitto]

import { parseArgs } from 'node:util'
import { chosenBroker, startBroker } from '../load/brokers.ts'
import type { QoS } from '../load/frames.ts'
import { generateLoad, plainLoad } from '../load/run-generator.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    qos: { type: 'string', default: '0' },
    broker: { type: 'string' },
  },
})

const pairs = { publishers: 20, subscribers: 20, topics: 20, qos: Number(options.qos) as QoS }
const rows: { stalled: number; perSecond: number; memoryMib: number; lost: number }[] = []
for (const stalled of [0, 1, 10, 100]) rows.push(await measure(stalled))
printTable(
  ['readers that stopped', 'messages/s to the others', 'to the first', 'most memory MiB', 'lost by the others'],
  rows.map((row) => [
    number(row.stalled),
    number(row.perSecond),
    `${number(row.perSecond / rows[0].perSecond, 2)}x`,
    number(row.memoryMib, 1),
    number(row.lost),
  ]),
)

async function measure(stalledReaders: number): Promise<(typeof rows)[number]> {
  const broker = await startBroker(chosenBroker(options.broker))
  try {
    const result = await generateLoad({
      ...plainLoad,
      ...pairs,
      stalledReaders,
      port: broker.port,
      brokerPid: broker.pid,
      seconds: Number(options.seconds),
      memorySampleSeconds: 0.2,
    })
    return {
      stalled: stalledReaders,
      perSecond: result.deliveredPerSecond,
      memoryMib: Math.max(...result.memorySamplesMib),
      lost: result.lost,
    }
  } finally {
    await broker.stop()
  }
}
