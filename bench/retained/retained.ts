// One client subscribes to a million retained messages: measures the delays of another client meanwhile.
//
//   node bench/retained/retained.ts [--topics 1000000] [--broker mosquitto]
//
// The other client sends itself a message every millisecond. Its delays include those of this load generator, which receives the million messages.
// The delay of the event loop of the broker is printed as well.

import { parseArgs } from 'node:util'
import { brokerApi } from '../load/broker-api.ts'
import { chosenBroker, pinSelf, startBroker } from '../load/brokers.ts'
import { connectFrame, publishFrame, subscribeFrame } from '../load/frames.ts'
import { Latencies } from '../load/latencies.ts'
import { LoadClient, type LoadClientOwner } from '../load/load-client.ts'
import { residentKib } from '../load/process-facts.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: { topics: { type: 'string', default: '1000000' }, broker: { type: 'string' } },
})

const topics = Number(options.topics)
const quietMs = 5_000
const publishedPerTurn = 1_000
const maxBytesWaiting = 1_048_576
const payload = Buffer.alloc(32, 'r')

const latencies = new Latencies()
let retainedDelivered = 0
let whenAcknowledged = (): void => {}

pinSelf()
const api = await brokerApi()
const broker = await startBroker(chosenBroker(options.broker, api.settings))
try {
  await fill(await open('filler'))
  const probe = await openProbe()
  const whenQuiet = await probeUntil(probe, performance.now() + quietMs, () => false)
  const subscriber = await open('subscriber', { delivered: (_, messages) => (retainedDelivered += messages) })
  latencies.clear()
  const loop = options.broker === undefined ? watchLoop() : undefined
  const startedMs = performance.now()
  subscriber.write(subscribeFrame({ version: 4, packetId: 1, filters: ['retained/#'], qos: 0 }))
  const meanwhile = await probeUntil(probe, startedMs + 120_000, () => retainedDelivered >= topics)
  const seconds = (performance.now() - startedMs) / 1_000
  printTable(
    ['', 'median ms', '99 % ms', 'longest ms'],
    [
      ['no other clients', ...whenQuiet],
      [`${number(retainedDelivered)} retained messages are sent`, ...meanwhile],
    ],
  )
  console.log(
    `they took ${number(seconds, 2)} s; the broker uses ${number((residentKib(broker.pid) ?? NaN) / 1_024)} MiB`,
  )
  for (const client of [probe, subscriber]) client.close()
  if (loop !== undefined) console.log(`longest delay of the broker's loop meanwhile: ${number(await loop.end(), 1)} ms`)
} finally {
  await broker.stop()
}

async function fill(filler: LoadClient): Promise<void> {
  for (let next = 0; next < topics;) {
    const frames: Buffer[] = []
    for (const end = Math.min(topics, next + publishedPerTurn); next < end; next++) {
      const topic = `retained/site${next % 1_000}/device${next}`
      frames.push(publishFrame({ version: 4, topic, qos: 0, packetId: 0, payload, retain: true }))
    }
    filler.write(Buffer.concat(frames))
    while (filler.socket.writableLength > maxBytesWaiting) await nextTurn()
  }
  // Messages are acknowledged in order, so the last acknowledgement means that all messages are stored.
  await new Promise<void>((resolve) => {
    whenAcknowledged = resolve
    filler.write(publishFrame({ version: 4, topic: 'filled', qos: 1, packetId: 1, payload }))
  })
  filler.close()
}

/** Publishes and receives its own messages, each with the time of its sending. */
async function openProbe(): Promise<LoadClient> {
  const ready = Promise.withResolvers<void>()
  const probe = await open('probe', {
    subscribed: () => ready.resolve(),
    look: (_, bytes, payloadStart) => latencies.add(performance.now() - bytes.readDoubleLE(payloadStart)),
  })
  probe.write(subscribeFrame({ version: 4, packetId: 1, filters: ['probe'], qos: 0 }))
  await ready.promise
  return probe
}

/** Returns the median, the 99th percentile and the longest delay, as text. */
async function probeUntil(probe: LoadClient, endMs: number, isDone: () => boolean): Promise<string[]> {
  for (let lastMs = 0; performance.now() < endMs && !isDone(); await nextTurn()) {
    const nowMs = performance.now()
    if (nowMs - lastMs < 1) continue
    const stamp = Buffer.alloc(8)
    stamp.writeDoubleLE(nowMs)
    probe.write(publishFrame({ version: 4, topic: 'probe', qos: 0, packetId: 0, payload: stamp }))
    lastMs = nowMs
  }
  return [latencies.percentileMs(0.5), latencies.percentileMs(0.99), latencies.maxMs].map((delay) => number(delay, 2))
}

function open(name: string, callbacks: Partial<LoadClientOwner> = {}): Promise<LoadClient> {
  return new Promise((resolve, reject) => {
    const client = new LoadClient(
      0,
      4,
      { host: '127.0.0.1', port: broker.port },
      {
        connected: () => resolve(client),
        subscribed: () => {},
        delivered: () => {},
        acknowledged: () => whenAcknowledged(),
        look: undefined,
        failed: (_, reason) => reject(new Error(`${name}: ${reason}`)),
        ...callbacks,
      },
    )
    client.write(connectFrame({ version: 4, clientId: name, persistent: false }))
  })
}

/** The broker reports the longest delay of the last second, so it is read more often than once per second, and once more at the end. */
function watchLoop(): { end(): Promise<number> } {
  let maxMs = 0
  const look = async (): Promise<void> => {
    maxMs = Math.max(maxMs, await api.loopDelayMs())
  }
  const looks = setInterval(() => void look(), 400)
  return {
    end: async () => {
      clearInterval(looks)
      await look()
      return maxMs
    },
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
