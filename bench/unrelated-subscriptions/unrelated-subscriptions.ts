// Measures what unrelated subscriptions cost a publication that none of them matches.
//
//   node bench/unrelated-subscriptions/unrelated-subscriptions.ts [--counts 1,1000,1000000] [--seconds 3] [--broker mosquitto]

import { parseArgs } from 'node:util'
import { chosenBroker, startBroker } from '../load/brokers.ts'
import { generateLoad, plainLoad } from '../load/run-generator.ts'
import { subscribeMany } from '../load/subscribe-many.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    counts: { type: 'string', default: '1,1000,1000000' },
    seconds: { type: 'string', default: '3' },
    broker: { type: 'string' },
  },
})

const clients = 100
const pairs = { publishers: 20, subscribers: 20, topics: 20 }

const rows: { count: number; qos0: number; qos1: number; memoryMib: number | undefined }[] = []
for (const count of options.counts.split(',').map(Number)) rows.push(await measure(count))
printTable(
  ['unrelated filters', 'QoS 0 messages/s', 'to the first', 'QoS 1 messages/s', 'to the first', 'memory MiB'],
  rows.map((row) => [
    number(row.count),
    number(row.qos0),
    `${number(row.qos0 / rows[0].qos0, 2)}x`,
    number(row.qos1),
    `${number(row.qos1 / rows[0].qos1, 2)}x`,
    number(row.memoryMib),
  ]),
)

async function measure(count: number): Promise<(typeof rows)[number]> {
  const broker = await startBroker(chosenBroker(options.broker))
  try {
    const holders = await Promise.all(
      Array.from({ length: Math.min(clients, count) }, (_, id) =>
        subscribeMany({ port: broker.port, id, filters: filtersOf(id, count), qos: 0 }),
      ),
    )
    const load = { ...plainLoad, ...pairs, port: broker.port, brokerPid: broker.pid, seconds: Number(options.seconds) }
    const qos0 = await generateLoad(load)
    const qos1 = await generateLoad({ ...load, qos: 1 })
    for (const holder of holders) holder.close()
    return { count, qos0: qos0.deliveredPerSecond, qos1: qos1.deliveredPerSecond, memoryMib: qos1.brokerMemoryMib }
  } finally {
    await broker.stop()
  }
}

/** Half of them plain, half with a wildcard; the last level keeps them from being one big list. */
function filtersOf(id: number, count: number): string[] {
  return Array.from({ length: Math.ceil(count / Math.min(clients, count)) }, (_, index) =>
    index % 2 === 0 ? `other/site${id}/device${index}/temperature` : `other/site${id}/+/device${index}`,
  )
}
