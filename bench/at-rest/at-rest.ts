// Measures the memory of an idle broker, also with retained messages.
//
//   node bench/at-rest/at-rest.ts [--shards 1,2,3] [--retained 200000] [--wait 20]
//
// It measures the bundle if no source file is newer (`npm run build`), otherwise the sources. `--wait`: seconds before each measurement.

import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import mqtt from 'mqtt'
import { godwit, startBroker } from '../load/brokers.ts'
import { anonymousKib, residentKib } from '../load/process-facts.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    shards: { type: 'string', default: '1,2,3' },
    retained: { type: 'string', default: '200000' },
    wait: { type: 'string', default: '20' },
  },
})
const waitMs = Number(options.wait) * 1_000
/** Number of messages that are published together. */
const atOnce = 200
const payload = Buffer.alloc(64, 'a')

const rows: string[][] = []

function look(name: string, pid: number | undefined): void {
  const shown = [anonymousKib(pid), residentKib(pid)].map((kib) => (kib === undefined ? '-' : number(kib / 1_000)))
  rows.push([name, ...shown])
}

for (const shards of options.shards.split(',')) {
  const broker = await startBroker(godwit([`node.shards=${shards}`]))
  try {
    await pause(waitMs)
    look(`${shards} shards`, broker.pid)
  } finally {
    await broker.stop()
  }
}
const retained = Number(options.retained)
if (retained > 0) {
  const broker = await startBroker(godwit())
  try {
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5 })
    for (let first = 0; first < retained; first += atOnce) {
      const topics = Array.from({ length: Math.min(atOnce, retained - first) }, (_, index) => topicOf(first + index))
      await Promise.all(topics.map((topic) => client.publishAsync(topic, payload, { qos: 1, retain: true })))
    }
    await client.endAsync()
    // Memory is returned to the system after two idle periods of the thread: see src/shard/runtime/idle-gc.ts.
    await pause(Math.max(waitMs, 60_000))
    look(`${retained} retained messages of 64 bytes, a minute later`, broker.pid)
  } finally {
    await broker.stop()
  }
}
printTable(['with', 'anonymous MB', 'resident MB'], rows)

function topicOf(index: number): string {
  return `site/${index % 100}/device/${index}/state`
}
