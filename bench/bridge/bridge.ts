// How many QoS 1 messages of 64 bytes a second go over a bridge: published here, counted at the remote broker. Ours keeps each
// on disk before its publisher is acknowledged. Then how fast a spool drains that filled while the remote broker was away.
//
//   node bench/bridge/bridge.ts [--messages 200000] [--spooled 100000] [--window 1000]
//
// The remote broker is mosquitto for both, on the processor of the generator.

import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { type BrokerKind, startBroker } from '../load/brokers.ts'
import { connectFrame, publishFrame, publishRing, subscribeFrame } from '../load/frames.ts'
import { number, printTable } from '../load/table.ts'

const { values: options } = parseArgs({
  options: {
    messages: { type: 'string', default: '200000' },
    spooled: { type: 'string', default: '100000' },
    window: { type: 'string', default: '1000' },
  },
})
const messages = Number(options.messages)
const spooled = Number(options.spooled)
const window = Number(options.window)

const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const topic = 'load/bridge'
const payload = Buffer.alloc(64, 'x')
const connackBytes = 4
const pubackBytes = 4
const subackBytes = 5
const httpPort = await freePort()
const password = 'only-for-the-bench'

function ours(remotePort: number): BrokerKind {
  return {
    name: 'godwit',
    command: (port, folder) => {
      const config = join(folder, 'bench.conf')
      const lines = [
        'node.shards = 1',
        `listeners.tcp.bind = "127.0.0.1:${port}"`,
        'mqtt { receive_maximum = 65535, max_inflight_window = 65535 }',
        `http_server { port = ${httpPort}, password = "${password}" }`,
        'bridges.mqtt.up {',
        'enable = true',
        `  server = "mqtt-tcp://127.0.0.1:${remotePort}"`,
        '  proto_ver = 5, clean_start = false, backoff_max = 1s',
        '  forwards = [{ local_topic = "load/#", remote_topic = "", qos = 1 }]',
        '}',
      ]
      writeFileSync(config, lines.join('\n'))
      return `"${process.execPath}" "${program}" start --config "${config}" --data "${folder}/data"`
    },
  }
}

const freely = ['allow_anonymous true', 'max_inflight_messages 65535', 'max_queued_messages 0', 'max_queued_bytes 0']

/** Its bridge; nothing of it is on disk before it is acknowledged. */
function theirs(remotePort: number): BrokerKind {
  const bridge = [
    'connection up',
    `address 127.0.0.1:${remotePort}`,
    'topic load/# out 1',
    'cleansession false',
    'notifications false',
  ]
  return mosquittoWith([...bridge, 'restart_timeout 1'])
}

function mosquittoWith(more: readonly string[]): BrokerKind {
  return {
    name: 'mosquitto',
    command: (port, folder) => {
      const lines = [`listener ${port} 127.0.0.1`, ...freely, 'log_type error', ...more]
      writeFileSync(join(folder, 'mosquitto.conf'), lines.join('\n'))
      return `mosquitto -c "${folder}/mosquitto.conf"`
    },
  }
}

/** mosquitto, where the bridge looks for it. */
function remoteAt(port: number): BrokerKind {
  return mosquittoWith([`listener ${port} 127.0.0.1`])
}

/** A client that has been let in. */
async function client(port: number, clientId: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(connectFrame({ version: 4, clientId, persistent: false }))
  await bytesFrom(socket, connackBytes)
  return socket
}

function bytesFrom(socket: Socket, wanted: number): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes < wanted) return
      socket.off('data', take)
      resolve()
    }
    socket.on('data', take)
  })
}

/** Resolves when so many messages have come. */
async function counted(port: number, count: number): Promise<{ readonly all: Promise<void> }> {
  const socket = await client(port, 'counter')
  socket.write(subscribeFrame({ version: 4, packetId: 1, filters: ['load/#'], qos: 0 }))
  await bytesFrom(socket, subackBytes)
  const frameBytes = publishFrame({ version: 4, topic, qos: 0, packetId: 1, payload }).length
  return { all: bytesFrom(socket, frameBytes * count).then(() => void socket.destroy()) }
}

/** At most `window` unacknowledged at a time; resolves when all are acknowledged. */
async function publish(port: number, count: number): Promise<void> {
  const socket = await client(port, 'publisher')
  const { bytes, frameBytes, size } = publishRing({ version: 4, topic, qos: 1, payload }, window)
  let sent = 0
  let ackedBytes = 0
  await new Promise<void>((resolve) => {
    const send = (): void => {
      const room = Math.min(window - (sent - Math.floor(ackedBytes / pubackBytes)), count - sent)
      if (room > 0) {
        const at = (sent % size) * frameBytes
        sent += room
        socket.write(bytes.subarray(at, at + room * frameBytes))
      } else if (ackedBytes >= count * pubackBytes) resolve()
    }
    socket.on('data', (chunk) => {
      ackedBytes += chunk.length
      send()
    })
    send()
  })
  socket.destroy()
}

async function throughput(kindOf: (remotePort: number) => BrokerKind): Promise<number> {
  const remotePort = await freePort()
  const remote = await startBroker(remoteAt(remotePort), 1)
  const own = await startBroker(kindOf(remotePort), 0)
  try {
    // The bridge is there when something comes through it.
    const first = await counted(remote.port, 1)
    const knocks = setInterval(() => void publish(own.port, 1), 200)
    await first.all
    clearInterval(knocks)
    await pause(1_000)
    const { all } = await counted(remote.port, messages)
    const startedMs = performance.now()
    await Promise.all([all, publish(own.port, messages)])
    return messages / ((performance.now() - startedMs) / 1_000)
  } finally {
    await own.stop()
    await remote.stop()
  }
}

interface Drain {
  readonly perSecond: number
  readonly longestDelayMs: number
}

async function drain(): Promise<Drain> {
  const remotePort = await freePort()
  const own = await startBroker(ours(remotePort), 0)
  try {
    await publish(own.port, spooled)
    let longestDelayMs = 0
    const looks = setInterval(() => {
      loopDelayMs().then(
        (delay) => (longestDelayMs = Math.max(longestDelayMs, delay)),
        () => undefined,
      )
    }, 500)
    const remote = await startBroker(remoteAt(remotePort), 1)
    const startedMs = performance.now()
    while ((await spoolDepth()) > 0) await pause(50)
    const seconds = (performance.now() - startedMs) / 1_000
    clearInterval(looks)
    await remote.stop()
    return { perSecond: spooled / seconds, longestDelayMs }
  } finally {
    await own.stop()
  }
}

async function ask(path: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`
  return (await fetch(`http://127.0.0.1:${httpPort}/api/v4/${path}`, { headers: { authorization } })).text()
}

async function spoolDepth(): Promise<number> {
  const { data } = JSON.parse(await ask('bridges/up')) as {
    data: { bridge: { nodes: { status: { spool_depth: number } | null }[] } }
  }
  return data.bridge.nodes[0]?.status?.spool_depth ?? 1
}

/** Of the shard, over the last second. */
async function loopDelayMs(): Promise<number> {
  const [, seconds = '0'] =
    /^svc_event_loop_delay_max_seconds\{[^}]*shard="0"[^}]*\} (\S+)$/m.exec(await ask('prometheus')) ?? []
  return Number(seconds) * 1_000
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const own = await throughput(ours)
const other = await throughput(theirs)
const drained = await drain()
printTable(
  ['over a bridge, QoS 1, 64 bytes', 'messages/s'],
  [
    ['godwit, on disk before it is acknowledged', number(own)],
    ['mosquitto', number(other)],
    ['godwit / mosquitto', number(own / other, 2)],
    [`drain of ${spooled} that waited`, number(drained.perSecond)],
  ],
)
console.log(`longest delay of the loop while draining: ${number(drained.longestDelayMs, 1)} ms`)
