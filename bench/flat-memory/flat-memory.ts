// Measures whether the memory of the broker grows under a steady load of half of its maximum rate.
//
//   node bench/flat-memory/flat-memory.ts [--minutes 10] [--qos 1] [--broker mosquitto]

import { parseArgs } from 'node:util'
import { chosenBroker, startBroker } from '../load/brokers.ts'
import type { QoS } from '../load/frames.ts'
import { generateLoad, plainLoad } from '../load/run-generator.ts'
import { median, number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    qos: { type: 'string', default: '1' },
    broker: { type: 'string' },
  },
})

const minutes = Number(options.minutes)
const pairs = { publishers: 20, subscribers: 20, topics: 20, qos: Number(options.qos) as QoS }
const broker = await startBroker(chosenBroker(options.broker))
try {
  const load = { ...plainLoad, ...pairs, port: broker.port, brokerPid: broker.pid }
  const fastest = await generateLoad(load)
  const ratePerSecond = Math.round(fastest.publishedPerSecond / 2)
  const steady = await generateLoad({
    ...load,
    ratePerSecond,
    // The first minute fills pools and lets the garbage collector find its step.
    warmSeconds: Math.min(60, minutes * 6),
    seconds: minutes * 60,
    memorySampleSeconds: 1,
  })
  const samples = steady.memorySamplesMib
  const middle = median(samples) ?? NaN
  const spread = samples.map((sample) => Math.abs(sample - middle) / middle)
  console.log(
    `${number(ratePerSecond)} messages/s requested, ${number(steady.deliveredPerSecond)} delivered, ${steady.lost} lost`,
  )
  const sixths = Array.from({ length: 6 }, (_, part) =>
    samples.slice(Math.floor((part * samples.length) / 6), Math.floor(((part + 1) * samples.length) / 6)),
  )
  printTable(
    ['part of the run', 'median MiB', 'least', 'most'],
    sixths.map((part, index) => [
      `${index + 1} of 6`,
      number(median(part), 1),
      number(Math.min(...part), 1),
      number(Math.max(...part), 1),
    ]),
  )
  console.log(`farthest from the median of ${number(middle, 1)} MiB: ${number(Math.max(...spread) * 100, 1)} %`)
} finally {
  await broker.stop()
}
