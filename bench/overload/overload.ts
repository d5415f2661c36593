// Publishes ten times more than the subscribers read, for ten minutes. Measures the memory of the broker and the delays of a healthy client,
// during the overload and afterwards.
//
//   node bench/overload/overload.ts [--minutes 10] [--rate 40000] [--broker mosquitto]
//
// Half of the subscribers use QoS 0, the others QoS 1 with persistent sessions.

import { parseArgs } from 'node:util'
import { setTimeout as pause } from 'node:timers/promises'
import { chosenBroker, pinSelf, startBroker } from '../load/brokers.ts'
import { publishFrame } from '../load/frames.ts'
import { HealthyProbe } from '../load/healthy-probe.ts'
import type { LoadClient } from '../load/load-client.ts'
import { openClient, openSubscriber } from '../load/open-client.ts'
import { residentKib } from '../load/process-facts.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '40000' },
    broker: { type: 'string' },
  },
})

const pairs = 20
const tickMs = 50
const readShare = 1 / 10
const rate = Number(options.rate)
const minutes = Number(options.minutes)
const perTick = Math.round((rate / pairs) * (tickMs / 1_000))
const maxBytesWaiting = 1_048_576
const payload = Buffer.alloc(64, 'o')
const rows: string[][] = []

pinSelf()
const settings = ['mqtt.max_stored_messages=50000', 'log.level=error']
const broker = await startBroker(chosenBroker(options.broker, settings))
try {
  const probe = await HealthyProbe.open(broker.port)
  const readers = await Promise.all(Array.from({ length: pairs }, (_, index) => openReader(index)))
  const writers = await Promise.all(Array.from({ length: pairs }, (_, index) => openWriter(index)))
  await pause(5_000)
  note('before')
  let offered = 0
  for (let minute = 1; minute <= minutes; minute++) {
    const untilMs = performance.now() + 60_000
    while (performance.now() < untilMs) {
      const tickEndsMs = performance.now() + tickMs
      for (const reader of readers) reader.letRead(Math.ceil(perTick * readShare))
      for (const writer of writers) offered += writer.send(perTick)
      await pause(Math.max(0, tickEndsMs - performance.now()))
    }
    note(`minute ${minute}`)
  }
  for (const reader of readers) reader.letRead(Infinity)
  await pause(30_000)
  note('30 s after')
  for (const { client } of [...readers, ...writers]) client.close()
  await pause(30_000)
  note('60 s after, all clients closed')
  const read = readers.reduce((sum, reader) => sum + reader.received, 0)
  printTable(['', 'broker MiB', 'median ms', '99 % ms', 'longest ms', 'missing'], rows)
  console.log(`${number(offered)} messages were sent by the publishers, ${number(read)} read by the subscribers`)
  probe.close()

  function note(when: string): void {
    rows.push([when, number((residentKib(broker.pid) ?? NaN) / 1_024, 1), ...probe.take()])
    console.log(rows.at(-1)?.join('  '))
  }
} finally {
  await broker.stop()
}

interface Reader {
  readonly client: LoadClient
  received: number
  letRead(messages: number): void
}

async function openReader(index: number): Promise<Reader> {
  let allowance = 0
  const qos = index % 2 === 0 ? 0 : 1
  const client = await openSubscriber(
    { port: broker.port, clientId: `reader-${index}`, filters: [`over/${index}`], qos, persistent: qos === 1 },
    {
      delivered: (_, messages) => {
        reader.received += messages
        allowance -= messages
        if (allowance <= 0) client.socket.pause()
      },
    },
  )
  const reader: Reader = {
    client,
    received: 0,
    letRead(messages) {
      allowance = Math.min(messages, allowance + messages)
      if (allowance > 0) client.socket.resume()
    },
  }
  return reader
}

async function openWriter(index: number): Promise<{ client: LoadClient; send(count: number): number }> {
  const client = await openClient({ port: broker.port, clientId: `writer-${index}` })
  const qos = index % 2 === 0 ? 0 : 1
  let packetId = 0
  return {
    client,
    /** Returns the number of sent messages: 0 if more than `maxBytesWaiting` wait in the socket, because the broker pauses reading. */
    send(count) {
      if (client.socket.writableLength > maxBytesWaiting) return 0
      const frames = Array.from({ length: count }, () => {
        packetId = (packetId % 65_535) + 1
        return publishFrame({ version: 4, topic: `over/${index}`, qos, packetId, payload })
      })
      client.write(Buffer.concat(frames))
      return count
    },
  }
}
