// Resident memory of a broker with large wills and large retained messages, before and after a restart.
//
//   node bench/stored-messages/stored-messages.ts [--sessions 8000] [--retained 600] [--compressible]

import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import mqtt, { type MqttClient } from 'mqtt'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    sessions: { type: 'string', default: '8000' },
    retained: { type: 'string', default: '600' },
    compressible: { type: 'boolean', default: false },
    'will-bytes': { type: 'string', default: '64000' },
    program: { type: 'string', default: fileURLToPath(new URL('../../bin/godwit.js', import.meta.url)) },
  },
})

const willBytes = Number(options['will-bytes'])
const retainedBytes = 1_048_000
const connectsAtOnce = 100
/** Longer than two idle periods of the garbage collection (`src/shard/runtime/idle-gc.ts`). */
const settledMs = 32_000
const directory = await mkdtemp(join(tmpdir(), 'godwit-stored-messages-'))
const rows: string[][] = []

interface Running {
  readonly process: ChildProcess
  readonly port: number
}

try {
  let broker = await start()
  await note(broker, 'started')
  const sockets = await connectSessions(broker.port)
  await note(broker, `${options.sessions} sessions with wills of ${number(willBytes)} bytes`)
  await publishRetained(broker.port)
  await note(broker, `and ${options.retained} retained messages of ${number(retainedBytes)} bytes`)
  for (const socket of sockets) socket.destroy()
  await note(broker, 'the clients have gone, their wills are due in an hour')
  await stop(broker)
  broker = await start()
  await note(broker, 'started again')
  const received = await subscribeTo(broker.port, 'large/#', Number(options.retained))
  await note(broker, `one client has received ${received} retained messages`)
  await stop(broker)
} finally {
  await rm(directory, { recursive: true, force: true })
}
printTable(['after', 'anonymous MiB', 'resident MiB', 'highest resident MiB'], rows)

async function start(): Promise<Running> {
  const words = ['start', '--data', directory, '--set', 'node.shards=1', '--set', 'listeners.tcp.bind=127.0.0.1:0']
  const child = spawn(process.execPath, [options.program, ...words, '--set', 'http_server.enable=false'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const port = await new Promise<number>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += String(chunk)
      const found = /127\.0\.0\.1:(\d+)/.exec(output)
      if (found !== null) resolve(Number(found[1]))
    })
    child.once('exit', () => reject(new Error(`the broker did not start: ${output}`)))
  })
  return { process: child, port }
}

async function stop({ process: child }: Running): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

async function note({ process: { pid } }: Running, after: string): Promise<void> {
  await pause(settledMs)
  const status = readFileSync(`/proc/${pid}/status`, 'latin1')
  const mebibytes = ['RssAnon', 'VmRSS', 'VmHWM'].map(
    (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024,
  )
  rows.push([after, ...mebibytes.map((value) => number(value))])
}

async function connectSessions(port: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let next = 0; next < Number(options.sessions); next += connectsAtOnce) {
    const count = Math.min(connectsAtOnce, Number(options.sessions) - next)
    sockets.push(...(await Promise.all(Array.from({ length: count }, (_, offset) => connectOne(port, next + offset)))))
  }
  return sockets
}

async function connectOne(port: number, client: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(connectFrame(`session-${client}`))
  await once(socket, 'data')
  return socket
}

/** MQTT 5.0, session expiry and will delay one hour. */
function connectFrame(clientId: string): Buffer {
  const hour = Buffer.alloc(4)
  hour.writeUInt32BE(3_600)
  const head = Buffer.from([0, 4, ...Buffer.from('MQTT'), 5, 0b0000_1110, 0, 0, 5, 0x11, ...hour])
  const body = Buffer.concat([
    head,
    text(clientId),
    Buffer.from([5, 0x18, ...hour]),
    text(`wills/${clientId}`),
    text(content(willBytes)),
  ])
  return Buffer.concat([Buffer.from([0x10]), remainingLength(body.length), body])
}

function content(bytes: number): Buffer {
  return options.compressible ? Buffer.alloc(bytes, 'compressible ') : randomBytes(bytes)
}

function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

function remainingLength(length: number): Buffer {
  const bytes: number[] = []
  for (let rest = length; ;) {
    const low = rest % 128
    rest = Math.floor(rest / 128)
    bytes.push(rest > 0 ? low + 128 : low)
    if (rest === 0) return Buffer.from(bytes)
  }
}

async function open(port: number): Promise<MqttClient> {
  return await mqtt.connectAsync({ host: '127.0.0.1', port, protocolVersion: 5 })
}

async function publishRetained(port: number): Promise<void> {
  const client = await open(port)
  for (let topic = 0; topic < Number(options.retained); topic++)
    await client.publishAsync(`large/${topic}`, content(retainedBytes), { qos: 1, retain: true })
  await client.endAsync()
}

/** Resolves with the number of received messages. */
async function subscribeTo(port: number, filter: string, count: number): Promise<number> {
  const client = await open(port)
  let received = 0
  const all = new Promise<void>((resolve) => {
    client.on('message', () => {
      if (++received === count) resolve()
    })
  })
  await client.subscribeAsync(filter)
  if (count > 0) await all
  await client.endAsync()
  return received
}
