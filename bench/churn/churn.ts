// Measures what 1,000 SUBSCRIBE and 1,000 UNSUBSCRIBE packets per second cost the traffic on 100,000 topics.
//
//   node bench/churn/churn.ts [--topics 100000] [--per-second 1000] [--seconds 20] [--broker mosquitto]
//
// One publisher sends QoS 0 messages to all topics in turn, as fast as one subscriber to all of them receives them, with a limited number in
// flight. Meanwhile another client subscribes and unsubscribes: to single topics, then to filters that match a thousandth of the topics. A healthy
// client sends itself messages during the whole run; at the end all other clients disconnect.
//
// The topics are used in another order than at first. In the order of first use, the broker reads its memory in the order of allocation. That is
// faster, but a broker that has run for some time does not do so, and the difference would be counted as a cost of subscriptions.
//
// The thread that publishes, receives and subscribes is as busy as the broker, so compare the processor time of the broker per message.

import { parseArgs } from 'node:util'
import { setTimeout as pause } from 'node:timers/promises'
import { chosenBroker, pinSelf, startBroker } from '../load/brokers.ts'
import { publishFrame, subscribeFrame } from '../load/frames.ts'
import { HealthyProbe } from '../load/healthy-probe.ts'
import { openClient, openSubscriber } from '../load/open-client.ts'
import { cpuSeconds, residentKib } from '../load/process-facts.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    topics: { type: 'string', default: '100000' },
    'per-second': { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '20' },
    broker: { type: 'string' },
  },
})

const topics = Number(options.topics)
const perSecond = Number(options['per-second'])
const seconds = Number(options.seconds)
const window = 4_000
const framesPerWrite = 500
const tickMs = 20
/** A prime far from the page size and from the number of topics: adjacent topics lie far apart. */
const stride = 38_197
const payload = Buffer.alloc(64, 'c')
/** An idle broker gives memory back in two steps, fifteen seconds each. */
const restMs = 60_000

/** The result of one run. */
interface Cost {
  readonly perSecond: number
  readonly cpuMicroseconds: number
}

const topicOf = (index: number): string => `churn/${index % 1_000}/${index}`

pinSelf()
const broker = await startBroker(chosenBroker(options.broker, ['log.level=error']))
try {
  const probe = await HealthyProbe.open(broker.port)
  const rows: string[][] = []
  await pause(5_000)
  note('before', undefined)
  let received = 0
  const subscriber = await openSubscriber(
    { port: broker.port, clientId: 'everything', filters: ['churn/#'], qos: 0 },
    { delivered: (_, messages) => (received += messages) },
  )
  const publisher = await openClient({ port: broker.port, clientId: 'publisher' })
  const changer = await openClient({ port: broker.port, clientId: 'changer' })
  const frames = Array.from({ length: topics }, (_, index) =>
    publishFrame({ version: 4, topic: topicOf(index), qos: 0, packetId: 0, payload }),
  )
  let batches = inBatches(frames)
  await run(seconds, undefined)
  batches = inBatches(frames.map((_, index) => frames[(index * stride) % topics]))
  await run(seconds, undefined)
  probe.take()
  const alone = await run(seconds, undefined)
  note('no changes', alone)
  for (const [name, filterOf] of [
    ['single topics', topicOf],
    ['a thousandth of the topics each', (index: number) => `churn/${index % 1_000}/+`],
  ] as const) {
    note(name, await run(seconds, filterOf), alone)
  }
  for (const client of [subscriber, publisher, changer]) client.close()
  await pause(restMs)
  note('60 s after all have gone', undefined)
  const costs = ['messages/s', '', "broker's µs/message", '']
  const columns = [...costs, 'broker MiB', 'median ms', '99 % ms', 'longest ms', 'missing']
  printTable(['subscribed and unsubscribed', ...columns], rows)
  probe.close()

  function note(what: string, cost: Cost | undefined, without?: Cost): void {
    const ratio = (of: (one: Cost) => number): string =>
      cost === undefined || without === undefined ? '' : `${number(of(cost) / of(without), 2)}x`
    const rate = cost === undefined ? '' : number(cost.perSecond)
    const micros = cost === undefined ? '' : number(cost.cpuMicroseconds, 2)
    const mib = number((residentKib(broker.pid) ?? NaN) / 1_024, 1)
    const ratios = [ratio((one) => one.perSecond), ratio((one) => one.cpuMicroseconds)]
    rows.push([what, rate, ratios[0], micros, ratios[1], mib, ...probe.take()])
  }

  /** Of the messages that arrived. */
  async function run(lengthSeconds: number, filterOf: ((index: number) => string) | undefined): Promise<Cost> {
    const startedMs = performance.now()
    const cpuBefore = cpuSeconds(broker.pid) ?? NaN
    const before = received
    let sent = received
    let batch = 0
    let changes = 0
    while (performance.now() - startedMs < lengthSeconds * 1_000) {
      if (filterOf !== undefined) {
        for (const due = ((performance.now() - startedMs) / 1_000) * perSecond; changes < due; changes++) {
          const filter = filterOf(changes * 37)
          changer.write(subscribeFrame({ version: 4, packetId: (changes % 30_000) + 1, filters: [filter], qos: 0 }))
          changer.write(unsubscribeFrame((changes % 30_000) + 30_001, filter))
        }
      }
      while (sent - received < window) {
        publisher.write(batches[batch])
        batch = (batch + 1) % batches.length
        sent += framesPerWrite
      }
      await nextTurn()
    }
    const delivered = received - before
    const rate = delivered / ((performance.now() - startedMs) / 1_000)
    const cpu = (cpuSeconds(broker.pid) ?? NaN) - cpuBefore
    await pause(tickMs * 10)
    return { perSecond: rate, cpuMicroseconds: (cpu * 1e6) / delivered }
  }
} finally {
  await broker.stop()
}

function inBatches(frames: readonly Buffer[]): Buffer[] {
  const batches: Buffer[] = []
  for (let at = 0; at < topics; at += framesPerWrite) batches.push(Buffer.concat(frames.slice(at, at + framesPerWrite)))
  return batches
}

function unsubscribeFrame(packetId: number, filter: string): Buffer {
  const text = Buffer.from(filter)
  const head = [0xa2, text.length + 4, packetId >> 8, packetId & 255, text.length >> 8, text.length & 255]
  return Buffer.concat([Buffer.from(head), text])
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
