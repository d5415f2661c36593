// Measures how many publications per second one shard accepts from constrained devices: MQTT-SN at QoS 0, and confirmable CoAP requests.
//
//   node bench/gateways/throughput.ts mqtt-sn | coap [seconds] [senders] [folder for CPU profiles of the broker]
//
// The broker and each sender (`datagram-sender.ts`) are separate processes. A sender counts acknowledged publications. The same senders also send to a
// bare socket, which shows the maximum rate of Node. If broker and senders share the processors, do not compare rates but publications per second
// of processor time, of all threads of the broker, and of its busiest thread, the shard.

import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { startBroker } from './start-broker.ts'

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))
const [protocol = '', secondsText, sendersText, profileFolder] = process.argv.slice(2)
const seconds = Number(secondsText ?? 10)
const senders = Number(sendersText ?? 2)
const [port, barePort] = [28_840, 28_841]
const ticksPerSecond = 100
/** Time for the warm-up, so that code is compiled before the measurement. */
const warmUpSeconds = 2

const settings: Readonly<Record<string, readonly string[]>> = {
  'mqtt-sn': [
    `gateway.mqttsn.listeners.udp.default.bind=127.0.0.1:${port}`,
    'gateway.mqttsn.predefined=[{id=1,topic="sensors/1"}]',
  ],
  coap: [`gateway.coap.listeners.udp.default.bind=127.0.0.1:${port}`],
}

async function secondsIn(path: string): Promise<number> {
  const fields = (await readFile(path, 'latin1')).split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** In s: of all threads, and of each by its number. */
async function processorTime(
  pid = 0,
): Promise<{ readonly all: number; readonly threads: ReadonlyMap<string, number> }> {
  const threads = new Map<string, number>()
  for (const thread of await readdir(`/proc/${pid}/task`))
    threads.set(thread, await secondsIn(`/proc/${pid}/task/${thread}/stat`))
  return { all: await secondsIn(`/proc/${pid}/stat`), threads }
}

interface Figures {
  readonly taken: number
  readonly perSecond: number
  readonly processSeconds: number
  readonly threadSeconds: number
}

async function measure(pid: number | undefined, target: number): Promise<Figures> {
  const processes = Array.from({ length: senders }, (_, number) =>
    fork(here('datagram-sender.ts'), [protocol, String(target), String(seconds), String(number)]),
  )
  try {
    await Promise.all(processes.map((one) => once(one, 'message')))
    await new Promise((resolve) => setTimeout(resolve, warmUpSeconds * 1_000))
    const before = await processorTime(pid)
    const results = processes.map((one) => once(one, 'message'))
    for (const one of processes) one.send('begin')
    const figures = (await Promise.all(results)).map(([one]) => one as Pick<Figures, 'taken' | 'perSecond'>)
    const after = await processorTime(pid)
    const threads = [...after.threads].map(([thread, used]) => used - (before.threads.get(thread) ?? 0))
    return {
      taken: figures.reduce((sum, { taken }) => sum + taken, 0),
      perSecond: figures.reduce((sum, { perSecond }) => sum + perSecond, 0),
      processSeconds: after.all - before.all,
      threadSeconds: Math.max(...threads),
    }
  } finally {
    for (const one of processes) one.kill('SIGKILL')
  }
}

function text(value: number): string {
  return Math.round(value).toLocaleString('en')
}

function print(name: string, { taken, perSecond, processSeconds, threadSeconds }: Figures): void {
  const ofTime = `${text(taken / threadSeconds)} per second of the busiest thread, ${text(taken / processSeconds)} of all`
  console.log(`${name}: ${text(perSecond)} publications/s; ${ofTime}`)
}

const chosen = settings[protocol]
if (chosen === undefined) throw new Error(`no such protocol: ${protocol}; known: ${Object.keys(settings).join(', ')}`)
const nodeOptions = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
const broker = await startBroker(['listeners.tcp.bind=127.0.0.1:28843', ...chosen], { nodeOptions })
const bare = spawn(process.execPath, [here('bare-socket.ts'), protocol, String(barePort)])
process.on('exit', () => bare.kill('SIGKILL'))
try {
  await once(bare.stdout, 'data')
  console.log(`${protocol}, ${senders} senders, ${seconds} s; load of the machine ${loadavg()[0]?.toFixed(1)}`)
  print('Godwit', await measure(broker.process.pid, port))
  print('bare socket', await measure(bare.pid, barePort))
} finally {
  await broker.stop()
  bare.kill()
}
