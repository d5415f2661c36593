// Measures how many QoS 1 messages of 64 bytes per second a bridge transfers, counted at the remote broker. Then it measures how fast a queue is
// sent that was filled while the remote broker was not available.
//
//   node bench/bridge/bridge.ts [--seconds 5] [--spooled 100000] [--window 1000] [--remote sink|mosquitto|godwit] [--respond-after MS]
//     [--only godwit] [--processors 0]
//
// By default, the broker with the bridge has processor 0. The load generator and the remote broker share processor 1, and the remote broker is the
// same for every bridge. `cpu µs` is the processor time per message of all threads of the broker with the bridge.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { brokerApi } from '../load/broker-api.ts'
import { type BrokerKind, freePort, pinSelf, startBroker } from '../load/brokers.ts'
import { cpuSeconds, residentKib } from '../load/process-facts.ts'
import { number, printTable } from '../load/table.ts'
import { publisher } from './publisher.ts'
import { freely, type RemoteKind, startRemote } from './remotes.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    spooled: { type: 'string', default: '100000' },
    window: { type: 'string', default: '1000' },
    remote: { type: 'string', default: 'sink' },
    'respond-after': { type: 'string', default: '0' },
    only: { type: 'string' },
    processors: { type: 'string', default: '0' },
  },
})
const seconds = Number(options.seconds)
const spooled = Number(options.spooled)
const window = Number(options.window)
const remoteKind = options.remote as RemoteKind
const responseDelayMs = Number(options['respond-after'])

const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))
const warmSeconds = 2
/** The broker reports once per second the longest delay of its event loop: wait until the filling, or the sending, is reported. */
const reportIntervalMs = 2_500
const microseconds = 1e6
const kibPerMib = 1_024
const { settings: apiSettings, request, loopDelayMs } = await brokerApi()

function ours(remotePort: number): BrokerKind {
  return {
    name: 'godwit',
    command: (port, folder) => {
      const config = join(folder, 'bench.conf')
      const lines = [
        'node.shards = 1',
        `listeners.tcp.bind = "127.0.0.1:${port}"`,
        'mqtt { receive_maximum = 65535, max_inflight_window = 65535 }',
        ...apiSettings,
        'bridges.mqtt.up {',
        `  server = "mqtt-tcp://127.0.0.1:${remotePort}"`,
        '  enable = true, proto_ver = 5, clean_start = false, backoff_max = 1s, max_send_queue_len = 2047',
        '  forwards = [{ local_topic = "load/#", remote_topic = "", qos = 1 }]',
        '}',
      ]
      writeFileSync(config, lines.join('\n'))
      const flags = process.env['GODWIT_NODE_FLAGS'] ?? ''
      return `"${process.execPath}" ${flags} "${program}" start --config "${config}" --data "${folder}/data"`
    },
  }
}

/** `more`: further lines of its configuration. */
function theirs(remotePort: number, more: readonly string[]): BrokerKind {
  return {
    name: 'mosquitto',
    command: (port, folder) => {
      const bridge = [
        'connection up',
        `address 127.0.0.1:${remotePort}`,
        'topic load/# out 1',
        'cleansession false',
        'notifications false',
        'restart_timeout 1',
      ]
      const own = [`listener ${port} 127.0.0.1`, ...freely, 'set_tcp_nodelay true', 'log_type error']
      const lines = [...own, `persistence_location ${folder}/`, ...more, ...bridge]
      writeFileSync(join(folder, 'mosquitto.conf'), lines.join('\n'))
      return `mosquitto -c "${folder}/mosquitto.conf"`
    },
  }
}

/** The nearest that mosquitto has to a spool on disk: it rewrites its whole database whenever messages have arrived. */
const savesAtOnce = ['persistence true', 'autosave_on_changes true', 'autosave_interval 1']

interface Throughput {
  readonly perSecond: number
  readonly cpuMicroseconds: number
}

async function throughput(kindOf: (remotePort: number) => BrokerKind): Promise<Throughput> {
  const remotePort = await freePort()
  const remote = await startRemote(remoteKind, remotePort, responseDelayMs)
  const own = await startBroker(kindOf(remotePort), options.processors)
  try {
    // The bridge is connected when a message arrives through it.
    while (remote.count() === 0) {
      await (
        await publisher(own.port, { window: 1, most: 1 })
      ).done
      await pause(200)
    }
    const source = await publisher(own.port, { window, most: Infinity })
    await pause(warmSeconds * 1_000)
    const from = { count: remote.count(), cpu: cpuSeconds(own.pid) ?? NaN, ms: performance.now() }
    await pause(seconds * 1_000)
    const to = { count: remote.count(), cpu: cpuSeconds(own.pid) ?? NaN, ms: performance.now() }
    source.stop()
    await source.done
    const messages = to.count - from.count
    return {
      perSecond: messages / ((to.ms - from.ms) / 1_000),
      cpuMicroseconds: ((to.cpu - from.cpu) * microseconds) / messages,
    }
  } finally {
    await own.stop()
    await remote.stop()
  }
}

interface Drain {
  readonly perSecond: number
  readonly maxDelayMs: number
  readonly mibBefore: number
  readonly maxMib: number
}

async function drain(): Promise<Drain> {
  const remotePort = await freePort()
  const own = await startBroker(ours(remotePort), options.processors)
  const mib = (): number => (residentKib(own.pid) ?? NaN) / kibPerMib
  try {
    await (
      await publisher(own.port, { window, most: spooled })
    ).done
    await pause(reportIntervalMs)
    const mibBefore = mib()
    let maxMib = mibBefore
    let maxDelayMs = 0
    const looks = setInterval(() => {
      maxMib = Math.max(maxMib, mib())
      loopDelayMs().then(
        (delay) => (maxDelayMs = Math.max(maxDelayMs, delay)),
        () => undefined,
      )
    }, 500)
    const remote = await startRemote('sink', remotePort)
    while (remote.count() === 0) await pause(1)
    const startedMs = performance.now()
    while (remote.count() < spooled) await pause(10)
    const secondsTaken = (performance.now() - startedMs) / 1_000
    while ((await spoolDepth()) > 0) await pause(50)
    await pause(reportIntervalMs)
    clearInterval(looks)
    await remote.stop()
    return { perSecond: spooled / secondsTaken, maxDelayMs, mibBefore, maxMib }
  } finally {
    await own.stop()
  }
}

async function spoolDepth(): Promise<number> {
  const { data } = JSON.parse(await request('bridges/up')) as {
    data: { bridge: { nodes: { status: { spool_depth: number } | null }[] } }
  }
  return data.bridge.nodes[0]?.status?.spool_depth ?? 1
}

async function compare(): Promise<void> {
  const kinds = [
    ['godwit: on disk, or at the other end, before it is acknowledged', ours],
    ['mosquitto: in memory', (port: number) => theirs(port, ['persistence false'])],
    ['mosquitto: its database written whenever something came', (port: number) => theirs(port, savesAtOnce)],
  ] as const
  const rows: string[][] = []
  let own: Throughput | undefined
  for (const [name, kindOf] of kinds) {
    if (options.only !== undefined && !name.startsWith(options.only)) continue
    const measured = await throughput(kindOf)
    own ??= measured
    const { perSecond, cpuMicroseconds } = measured
    rows.push([name, number(perSecond), number(cpuMicroseconds, 1), number(own.perSecond / perSecond, 2)])
  }
  printTable([`over a bridge to a ${remoteKind}, QoS 1, 64 bytes`, 'messages/s', 'cpu µs', 'godwit to it'], rows)
}

pinSelf()
if (seconds > 0) await compare()
if (spooled > 0) {
  const { perSecond, maxDelayMs, mibBefore, maxMib } = await drain()
  console.log(`drain of ${number(spooled)} that waited: ${number(perSecond)} messages/s`)
  console.log(`longest delay of the loop meanwhile: ${number(maxDelayMs, 1)} ms`)
  console.log(`resident memory before and at most: ${number(mibBefore)} and ${number(maxMib)} MiB`)
}
