// Measures the memory of a connected client of a gateway. MQTT-SN clients use one forwarder and have different wireless node IDs. CoAP clients have
// connections from a few addresses.
//
//   node bench/gateways/clients.ts [clients] [mqttsn | coap]
//
// The broker is a separate process. Its resident memory is read before and after, each time after it was idle for some seconds.

import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const clients = Number(process.argv[2] ?? 100_000)
const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const port = 28_840
/** CONNECT packets without a response; those that the kernel drops are sent again. */
const window = 256
const againMs = 2_000
const idleMs = 15_000
const bytesPerKib = 1_024

async function residentKib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1])
}

/** CONNECT, duration 0: the client may be silent for as long as it likes. Wrapped for a forwarder, with the node's number. */
function connectOf(client: number): Buffer {
  const name = Buffer.from(`meter-${client}`)
  const head = Buffer.from([7, 0xfe, 0, 0, 0, 0, 0, name.length + 6, 4, 4, 1, 0, 0])
  head.writeUInt32BE(client, 3)
  return Buffer.concat([head, name])
}

/** POST /mqtt/connection: the message ID is that of the client, within its address. */
function connectionOf(client: number): Buffer {
  const query = Buffer.from(`clientid=meter-${client}`)
  const head = Buffer.from([0x40, 2, client >> 8, client & 255, 0xb4, ...Buffer.from('mqtt'), 0x0a])
  return Buffer.concat([head, Buffer.from('connection'), Buffer.of(0x4d, query.length - 13), query])
}

interface Protocol {
  readonly name: string
  readonly listener: string
  readonly settings: readonly string[]
  /** Clients of one address. */
  readonly perAddress: number
  connect(client: number): Buffer
  /** The number of the client within its address; undefined: it was refused. */
  accepted(response: Buffer): number | undefined
}

const protocols: Readonly<Record<string, Protocol>> = {
  mqttsn: {
    name: 'MQTT-SN',
    listener: 'gateway.mqttsn.listeners.udp.default',
    settings: [],
    perAddress: clients,
    connect: connectOf,
    accepted: (response) => (response[8] === 5 && response[9] === 0 ? response.readUInt32BE(3) : undefined),
  },
  coap: {
    name: 'CoAP',
    listener: 'gateway.coap.listeners.udp.default',
    settings: ['gateway.coap.heartbeat=4h'],
    // A message ID is known for four minutes.
    perAddress: 50_000,
    connect: connectionOf,
    accepted: (response) => (response[1] === 0x41 ? response.readUInt16BE(2) : undefined),
  },
}

async function connectAll(protocol: Protocol, first: number): Promise<void> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const open = new Set<number>()
  const end = Math.min(clients, first + protocol.perAddress)
  let next = first
  let connected = first
  const { promise: done, resolve, reject } = Promise.withResolvers<void>()
  const send = (): void => {
    while (open.size < window && next < end) {
      open.add(next)
      socket.send(protocol.connect(next++))
    }
  }
  socket.on('message', (bytes) => {
    const accepted = protocol.accepted(bytes)
    if (accepted === undefined) return reject(new Error(`not accepted: ${bytes.toString('hex')}`))
    const client = [...open].find((one) => one === accepted || one % 65_536 === accepted)
    if (client === undefined || !open.delete(client)) return
    connected++
    if (connected === end) resolve()
    send()
  })
  const again = setInterval(() => {
    for (const client of open) socket.send(protocol.connect(client))
  }, againMs)
  socket.on('error', reject)
  send()
  try {
    await done
  } finally {
    clearInterval(again)
    socket.close()
  }
}

const protocol = protocols[process.argv[3] ?? 'mqttsn']
if (protocol === undefined)
  throw new Error(`no such gateway: ${process.argv[3]}; known: ${Object.keys(protocols).join(', ')}`)
const { listener } = protocol
const folder = await mkdtemp(join(tmpdir(), 'godwit-bench-'))
const set = [
  'node.shards=1',
  'listeners.tcp.bind=127.0.0.1:28843',
  'http_server.port=28842',
  ...protocol.settings,
  `${listener}.bind=127.0.0.1:${port}`,
  `${listener}.max_connections=1000000`,
  `${listener}.max_conn_rate="999999/s"`,
]
const words = ['start', '--data', folder, ...set.flatMap((one) => ['--set', one])]
const broker = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'pipe', 'inherit'] })
const isOver = once(broker, 'exit')
const ended = isOver.then(([code]) => Promise.reject(new Error(`the broker has ended with ${code}`)))
ended.catch(() => {})
// Neither an error nor an interruption of this script leaves the broker running.
process.on('exit', () => broker.kill('SIGKILL'))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
try {
  for await (const chunk of broker.stdout) if (String(chunk).includes('management API')) break
  const pid = broker.pid ?? 0
  await pause(idleMs)
  const before = await residentKib(pid)
  for (let first = 0; first < clients; first += protocol.perAddress)
    await Promise.race([connectAll(protocol, first), ended])
  await pause(idleMs)
  const after = await residentKib(pid)
  const each = ((after - before) * bytesPerKib) / clients
  console.log(
    `${clients} clients of ${protocol.name}: ${before} KiB before, ${after} KiB after, ${each.toFixed(0)} bytes each`,
  )
} finally {
  broker.kill('SIGKILL')
  await isOver
  await rm(folder, { recursive: true, force: true })
}
