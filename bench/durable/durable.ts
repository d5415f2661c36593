// Measures how many QoS 1 messages per second are on disk before they are acknowledged.
//
//   node bench/durable/durable.ts [--seconds 5] [--window 1000] [--broker mosquitto|'COMMAND with PORT and FOLDER']

import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chosenBroker, startBroker } from '../load/brokers.ts'
import { generateLoad, plainLoad } from '../load/run-generator.ts'
import { median, number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    window: { type: 'string', default: '1000' },
    broker: { type: 'string' },
  },
})

const pairs = { publishers: 20, subscribers: 20, topics: 20, qos: 1, persistent: true } as const
const broker = await startBroker(chosenBroker(options.broker))
try {
  const load = {
    ...plainLoad,
    ...pairs,
    port: broker.port,
    brokerPid: broker.pid,
    seconds: Number(options.seconds),
    window: Number(options.window),
  }
  const online = await generateLoad(load)
  if (online.lost > 0) console.error(`${online.lost} messages were lost`)
  // The subscribers of the first run are disconnected; their sessions still exist.
  const offline = await generateLoad({ ...load, subscribers: 0 })
  printTable(
    ['20 publishers to 20 durable sessions, QoS 1, 64 bytes', 'acknowledged/s', 'processors busy'],
    [
      ['subscribers online', number(online.acknowledgedPerSecond), number(online.brokerCpuShare, 2)],
      ['subscribers offline', number(offline.acknowledgedPerSecond), number(offline.brokerCpuShare, 2)],
    ],
  )
  console.log(`one fdatasync of 4 KiB here takes ${number(measureSyncMs(), 3)} ms (median of 500)`)
} finally {
  await broker.stop()
}

function measureSyncMs(): number | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'bench-sync-'))
  const file = openSync(join(folder, 'synced'), 'w')
  const block = Buffer.alloc(4_096, 1)
  const delays = Array.from({ length: 500 }, () => {
    const startedMs = performance.now()
    writeSync(file, block)
    fdatasyncSync(file)
    return performance.now() - startedMs
  })
  closeSync(file)
  rmSync(folder, { recursive: true })
  return median(delays)
}
