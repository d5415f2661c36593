// Measures a million messages that are queued for one disconnected client. See README.md.
//
//   node bench/queue/queue.ts [--messages 1000000] [--payload 64] [--data FOLDER]

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { fileURLToPath } from 'node:url'
import { pinnedTo } from '../load/brokers.ts'
import { median, number, printTable } from '../load/table.ts'
import { drain, fill, firstMessageAfterMs, subscribeAndLeave } from './large-queue-client.ts'

const { values: options } = parseArgs({
  options: {
    messages: { type: 'string', default: '1000000' },
    payload: { type: 'string', default: '64' },
    data: { type: 'string' },
  },
})
const messages = Number(options.messages)
const payloadBytes = Number(options.payload)
const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const folder = options.data ?? mkdtempSync(join(tmpdir(), 'bench-queue-'))
const dataDirectory = join(folder, 'data')
/** The broker pauses reading from a 3.x client beyond `mqtt.receive_maximum`: a smaller window is slower, a larger one is not faster. */
const window = 1_000
const warmUpMessages = 100_000
const settlingMs = 3_000
const resumes = 5

interface Running {
  readonly child: ChildProcess
  readonly port: number
  readonly startMs: number
}

const rows: [string, string][] = []
const print = (what: string, value: string): void => {
  rows.push([what, value])
}

let broker = await start()
print('start with nothing stored', milliseconds(broker.startMs))
// The compiler and the buffer pools allocate memory once, so one queue is fetched first.
await subscribeAndLeave(broker.port, 'warm', 'warm/#')
await fill(broker.port, { clientId: 'filler', topic: 'warm/up', count: warmUpMessages, payloadBytes, window })
await drain(broker.port, 'warm', warmUpMessages)
await subscribeAndLeave(broker.port, 'offline', 'queue/#')
await pause(settlingMs)
const before = memoryMib(broker)

const filledAtMs = performance.now()
await fill(broker.port, { clientId: 'filler', topic: 'queue/1', count: messages, payloadBytes, window })
const fillSeconds = (performance.now() - filledAtMs) / 1_000
const justAfter = memoryMib(broker)
await pause(settlingMs)
const after = memoryMib(broker)
print(`store ${number(messages)} messages`, `${number(fillSeconds, 1)} s, ${number(messages / fillSeconds)}/s`)
print('memory of its own before', mebibytes(before.own))
print('memory of its own added, at once', mebibytes(justAfter.own - before.own))
print(`memory of its own added, ${settlingMs / 1_000} s later`, mebibytes(after.own - before.own))
print('mapped files added', mebibytes(after.mapped - before.mapped))
await measureResumes('resume, warm: first message after')

await stop(broker, 'SIGTERM')
broker = await start()
print('start after an orderly stop', milliseconds(broker.startMs))
print('memory of its own after this start', mebibytes(memoryMib(broker).own))
await measureResumes('resume after this start: first message after')

await stop(broker, 'SIGKILL')
broker = await start()
print('start after kill -9', milliseconds(broker.startMs))
await measureResumes('resume after this start: first message after')
const { tookMs, outOfOrder } = await drain(broker.port, 'offline', messages)
print('fetch and acknowledge all', `${number(tookMs / 1_000, 1)} s, ${number((messages / tookMs) * 1_000)}/s`)
print('of them out of order', number(outOfOrder))
print('memory of its own then', mebibytes(memoryMib(broker).own))
await stop(broker, 'SIGTERM')
if (options.data === undefined) rmSync(folder, { recursive: true })

printTable([`${number(messages)} messages of ${payloadBytes} bytes for one sleeping session, QoS 1`, ''], rows)

async function measureResumes(what: string): Promise<void> {
  const times: number[] = []
  for (let count = 0; count < resumes; count++) times.push(await firstMessageAfterMs(broker.port, 'offline'))
  print(what, `first time ${milliseconds(times[0])}, median of ${resumes} ${milliseconds(median(times) ?? NaN)}`)
}

async function start(): Promise<Running> {
  const startedMs = performance.now()
  const settings = ['node.shards=1', 'listeners.tcp.bind=127.0.0.1:0'].flatMap((setting) => ['--set', setting])
  const [command, ...words] = [...pinnedTo(0), process.execPath, program, 'start', '--data', dataDirectory, ...settings]
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const port = await reportedPort(child.stdout)
  return { child, port, startMs: performance.now() - startedMs }
}

function reportedPort(output: Readable): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = ''
    output.on('data', (chunk) => {
      text += String(chunk)
      const port = /listening +mqtt:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    output.once('end', () => reject(new Error(`the broker did not start: ${text}`)))
  })
}

async function stop({ child }: Running, signal: NodeJS.Signals): Promise<void> {
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** Mapped files are counted separately, because the operating system can take their pages back. Linux only. */
function memoryMib({ child }: Running): { own: number; mapped: number } {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  const kib = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1])
  return { own: kib('RssAnon') / 1_024, mapped: kib('RssFile') / 1_024 }
}

function mebibytes(mib: number): string {
  return `${number(mib, 1)} MiB`
}

function milliseconds(ms: number): string {
  return `${number(ms, 1)} ms`
}
