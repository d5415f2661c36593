// How much memory a connected client of MQTT-SN takes: all of them behind one forwarder, each with a wireless node of its own.
//
//   node bench/gateways/clients.ts [clients]
//
// The broker is a process of its own; its resident memory is read before and after, each time once it has been idle for a while.

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
const socketKey = 'gateway.mqttsn.listeners.udp.default'
/** CONNECTs that wait for their CONNACK: what the kernel drops is sent again. */
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

async function connectAll(): Promise<void> {
  const socket = createSocket('udp4')
  socket.connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const open = new Set<number>()
  let next = 0
  let connected = 0
  const { promise: done, resolve, reject } = Promise.withResolvers<void>()
  const send = (): void => {
    while (open.size < window && next < clients) {
      open.add(next)
      socket.send(connectOf(next++))
    }
  }
  socket.on('message', (bytes) => {
    if (bytes[8] !== 5 || bytes[9] !== 0) return reject(new Error(`no CONNACK that accepts: ${bytes.toString('hex')}`))
    if (!open.delete(bytes.readUInt32BE(3))) return
    connected++
    if (connected === clients) resolve()
    send()
  })
  const again = setInterval(() => {
    for (const client of open) socket.send(connectOf(client))
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

const folder = await mkdtemp(join(tmpdir(), 'godwit-bench-'))
const set = [
  'node.shards=1',
  'listeners.tcp.bind=127.0.0.1:28843',
  'http_server.port=28842',
  `${socketKey}.bind=127.0.0.1:${port}`,
  `${socketKey}.max_connections=1000000`,
  `${socketKey}.max_conn_rate="999999/s"`,
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
  await Promise.race([connectAll(), ended])
  await pause(idleMs)
  const after = await residentKib(pid)
  const each = ((after - before) * bytesPerKib) / clients
  console.log(`${clients} clients of MQTT-SN: ${before} KiB before, ${after} KiB after, ${each.toFixed(0)} bytes each`)
} finally {
  broker.kill('SIGKILL')
  await isOver
  await rm(folder, { recursive: true, force: true })
}
