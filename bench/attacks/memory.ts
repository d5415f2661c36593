// Measures how much memory hostile clients can use, in a control group of 1 GiB. Each attack has its own broker; meanwhile, a healthy client sends
// itself messages.
//
//   node bench/attacks/memory.ts [--only aliases,queues] [--limit 1024] [--settle 60]      as root, for the control group

import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { freePort } from '../load/brokers.ts'
import { anonymousKib, residentKib } from '../load/process-facts.ts'
import { printTable } from '../load/table.ts'
import { Attacker, type AttackerOptions } from '../../test/e2e/attacker.ts'
import type { HealthyReport } from './healthy-client.ts'

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    /** MiB of the control group. */
    limit: { type: 'string', default: '1024' },
    /** Seconds after the attack until the last figure. */
    settle: { type: 'string', default: '60' },
    /** Further settings, separated by blanks. */
    set: { type: 'string', default: '' },
  },
})

const bytesPerMib = 1_048_576
const megabyte = Buffer.alloc(1_000_000, 'x')
const longTopic = (number: number): string => `${number}/${'t'.repeat(60_000)}`
const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))

type Attack = (port: number, apiPort: number) => Promise<Attacker[]>

function many(
  count: number,
  port: number,
  more: (number: number) => Partial<AttackerOptions> = () => ({}),
): Attacker[] {
  return Array.from(
    { length: count },
    (_, number) => new Attacker({ port, clientId: `attacker-${number}`, ...more(number) }),
  )
}

/** Subscribers that acknowledge nothing, and 900 messages of a megabyte for each of them. */
async function unacknowledged(port: number, subscribers: number, expirySeconds: number): Promise<Attacker[]> {
  const readers = many(subscribers, port, () => ({ expirySeconds }))
  for (const reader of readers) {
    await reader.nextPacket()
    await reader.subscribe(['attack'])
    await reader.nextPacket()
  }
  const publisher = new Attacker({ port, clientId: 'publisher' })
  await publisher.nextPacket()
  for (let count = 0; count < 900 && publisher.isOpen; count++) {
    await publisher.publish('attack', megabyte, { qos: 1 })
    await publisher.nextPacket()
  }
  publisher.drop()
  return readers
}

/** Duration of attacks on the API and on passwords, in ms, and number of connections at once. */
const siegeMs = 10_000
const siegeConnections = 100

/** Repeats `attempt` on each of so many connections at once. */
async function besiege(connections: number, attempt: () => Promise<void>): Promise<void> {
  const endsAtMs = performance.now() + siegeMs
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < endsAtMs) await attempt()
    }),
  )
}

/** Returns the status; undefined: the broker closed the connection before it had read the request. */
function statusOf(apiPort: number, path: string, auth?: string): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>()
  const options = { host: '127.0.0.1', port: apiPort, path, agent: false, ...(auth === undefined ? {} : { auth }) }
  const sent = request(options, (response) => {
    response.resume()
    resolve(response.statusCode)
  })
  sent.on('error', () => resolve(undefined)).end()
  return promise
}

async function expectRefused(status: Promise<number | undefined>): Promise<void> {
  const refused = await status
  if (refused !== undefined && (refused < 400 || refused >= 500)) throw new Error(`the API returned ${refused}`)
}

async function guessMqttPassword(port: number): Promise<void> {
  const credentials = { username: 'victim', password: 'a guess' }
  const guesser = new Attacker({ port, clientId: 'guesser', credentials })
  const connack = await guesser.nextPacket()
  if (connack === 'connack 0x0') throw new Error('the broker accepted a wrong password')
  guesser.drop()
}

const attacks: Readonly<Record<string, Attack>> = {
  /** No attack: only the healthy client. */
  none: () => Promise.resolve([]),
  aliases: async (port) => {
    const all = many(9, port)
    for (const one of all)
      for (let alias = 1; alias <= 1_024 && one.isOpen; alias++)
        await one.publish(longTopic(alias), Buffer.from('x'), { alias })
    return all
  },
  queues: (port) => unacknowledged(port, 1, 0),
  'many-queues': (port) => unacknowledged(port, 40, 0),
  'persistent-queues': (port) => unacknowledged(port, 40, 3_600),
  /** 600 MB for a subscriber that disconnects, and whose session ends with the connection. */
  left: async (port) => {
    const readers = await unacknowledged(port, 1, 0)
    for (const reader of readers) reader.drop()
    return []
  },
  filters: async (port) => {
    const one = new Attacker({ port, clientId: 'attacker' })
    await one.nextPacket()
    for (let number = 0; number < 6_000 && one.isOpen; number++) {
      await one.subscribe([longTopic(number)])
      await one.nextPacket()
    }
    return [one]
  },
  wildcards: async (port) => {
    const one = new Attacker({ port, clientId: 'attacker' })
    await one.nextPacket()
    for (let number = 0; number < 400 && one.isOpen; number++) {
      await one.subscribe(Array.from({ length: 1_000 }, (_, at) => `+/${number}/${at}/+/#`))
      await one.nextPacket()
    }
    return [one]
  },
  wills: async (port) => {
    const payload = Buffer.alloc(65_000, 'w')
    const all: Attacker[] = []
    for (let number = 0; number < 8_000; number++) {
      const will = { topic: `wills/${number}`, payload }
      const one = new Attacker({ port, clientId: `attacker-${number}`, expirySeconds: 3_600, will })
      await one.nextPacket()
      all.push(one)
    }
    return all
  },
  retained: async (port) => {
    const one = new Attacker({ port, clientId: 'attacker' })
    await one.nextPacket()
    for (let number = 0; number < 600 && one.isOpen; number++) {
      await one.publish(`retained/${number}`, megabyte, { qos: 1, retain: true })
      await one.nextPacket()
    }
    return [one]
  },
  /** Shared subscriptions of one client to one topic, and messages to it. */
  groups: async (port) => {
    const one = new Attacker({ port, clientId: 'attacker' })
    await one.nextPacket()
    for (let number = 0; number < 50 && one.isOpen; number++) {
      await one.subscribe(Array.from({ length: 1_000 }, (_, at) => `$share/${number}-${at}/attack`))
      await one.nextPacket()
    }
    for (let count = 0; count < 600 && one.isOpen; count++) {
      await one.publish('attack', Buffer.from('x'), { qos: 1 })
      await one.nextPacket()
    }
    return [one]
  },
  /** A request of 240 KB with 60,000 values, without authentication. */
  query: async (_port, apiPort) => {
    const path = `/api/v4/status?${'a=1&'.repeat(60_000)}`
    await besiege(20, () => expectRefused(statusOf(apiPort, path)))
    return []
  },
  /** Wrong passwords for an account of the API and for a user of MQTT. */
  guesses: async (port, apiPort) => {
    await Promise.all([
      besiege(siegeConnections, () => expectRefused(statusOf(apiPort, '/api/v4/brokers', 'admin:a guess'))),
      besiege(siegeConnections, () => guessMqttPassword(port)),
    ])
    return []
  },
  sessions: async (port) => {
    const all: Attacker[] = []
    for (let number = 0; number < 100_000; number++) {
      const one = new Attacker({ port, clientId: `${number}-${'c'.repeat(60_000)}`, expirySeconds: 3_600 })
      await one.nextPacket()
      one.drop()
    }
    return all
  },
}

/** Of version 1 or 2 of control groups, whichever has memory; ends with `remove`. */
class ControlGroup {
  readonly #folder: string
  readonly #isFirst: boolean

  constructor(limitBytes: number) {
    this.#isFirst = hasFile('/sys/fs/cgroup/memory/memory.limit_in_bytes')
    const root = this.#isFirst ? '/sys/fs/cgroup/memory' : '/sys/fs/cgroup'
    this.#folder = join(root, `godwit-attack-${process.pid}`)
    mkdirSync(this.#folder, { recursive: true })
    this.#write(this.#isFirst ? 'memory.limit_in_bytes' : 'memory.max', String(limitBytes))
  }

  add(pid: number): void {
    this.#write('cgroup.procs', String(pid))
  }

  /** Maximum memory of the control group, which includes pages of files. */
  get maxBytes(): number {
    return Number(readFileSync(join(this.#folder, this.#isFirst ? 'memory.max_usage_in_bytes' : 'memory.peak'), 'utf8'))
  }

  remove(): void {
    rmdirSync(this.#folder)
  }

  #write(name: string, value: string): void {
    writeFileSync(join(this.#folder, name), value)
  }
}

function hasFile(path: string): boolean {
  try {
    return readFileSync(path).length > 0
  } catch {
    // There is another version of control groups, or none: creating one then fails with the reason.
    return false
  }
}

interface Started {
  readonly child: ChildProcess
  readonly port: number
  readonly apiPort: number
}

/** The healthy client is anonymous. */
const settings = [
  'auth.password.victim="a-password-of-mqtt"',
  'auth.allow_anonymous=true',
  'log.to=[console]',
  'log.level=error',
]

async function start(group: ControlGroup, folder: string): Promise<Started> {
  const port = await freePort()
  const apiPort = await freePort()
  const sets = [`listeners.tcp.bind=127.0.0.1:${port}`, `http_server.port=${apiPort}`, ...settings]
  const all = [...sets, ...options.set.split(' ').filter((one) => one !== '')].flatMap((one) => ['--set', one])
  // The shell waits until it is in the group: the process measures its memory when it begins.
  const child = spawn(
    'sh',
    ['-c', 'read go; exec "$0" "$@"', process.execPath, program, 'start', '--data', folder, ...all],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  group.add(child.pid ?? 0)
  child.stdin?.end('go\n')
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk) => String(chunk).includes('listening') && resolve())
    child.on('exit', (code, signal) => reject(new Error(`the broker did not start: ${code ?? signal}`)))
  })
  await pause(1_000)
  return { child, port, apiPort }
}

async function stop({ child }: Started): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

const mibOf = ({ child }: Started): string => {
  if (child.exitCode !== null || child.signalCode !== null) return `killed (${child.signalCode ?? child.exitCode})`
  return String(toMib(residentKib(child.pid)))
}

/** On a thread of its own: the attackers of this one delay it no more than the processors that they take. */
class HealthyClient {
  readonly #thread: Worker

  private constructor(thread: Worker) {
    this.#thread = thread
  }

  static async open(port: number): Promise<HealthyClient> {
    const thread = new Worker(new URL('./healthy-client.ts', import.meta.url), { workerData: { port } })
    await once(thread, 'message')
    return new HealthyClient(thread)
  }

  /** The 99th percentile and the maximum of the delays of acknowledgements, in ms, and the number of messages that were acknowledged and did not arrive. */
  async end(): Promise<string[]> {
    this.#thread.postMessage('end')
    const [{ latenciesMs, missing }] = (await once(this.#thread, 'message')) as [HealthyReport]
    const sorted = latenciesMs.toSorted((a, b) => a - b)
    const at = (share: number): string => (sorted[Math.floor((sorted.length - 1) * share)] ?? NaN).toFixed(1)
    return [at(0.99), at(1), String(missing)]
  }
}

/** In the ten seconds after a start: restored sessions leave garbage. */
async function maxAnonymousMib(broker: Started): Promise<string> {
  let most = 0
  for (let tenth = 0; tenth < 100; tenth++) {
    most = Math.max(most, toMib(anonymousKib(broker.child.pid)))
    await pause(100)
  }
  return broker.child.exitCode === null && broker.child.signalCode === null ? String(most) : mibOf(broker)
}

const toMib = (kib: number | undefined): number => Math.round((kib ?? 0) / 1_024)

async function measure(name: string, attack: Attack): Promise<string[]> {
  const group = new ControlGroup(Number(options.limit) * bytesPerMib)
  const folder = await mkdtemp(join(tmpdir(), 'attack-'))
  let peak = 0
  /** Anonymous memory, which node.memory_limit limits: without pages of files, which the operating system takes back. */
  let anonymousPeak = 0
  try {
    const broker = await start(group, folder)
    const before = mibOf(broker)
    const sampler = setInterval(() => {
      peak = Math.max(peak, toMib(residentKib(broker.child.pid)))
      anonymousPeak = Math.max(anonymousPeak, toMib(anonymousKib(broker.child.pid)))
    }, 100)
    const healthy = await HealthyClient.open(broker.port)
    const attackers = await attack(broker.port, broker.apiPort)
    const refusals = new Set(attackers.flatMap(({ packets: found }) => found).filter((text) => !text.endsWith('0x0')))
    await pause(Number(options.settle) * 1_000)
    clearInterval(sampler)
    const served = await healthy.end()
    const after = mibOf(broker)
    for (const one of attackers) one.drop()
    await pause(Number(options.settle) * 1_000)
    const gone = mibOf(broker)
    await stop(broker)
    const again = await start(group, folder)
    const restarted = await maxAnonymousMib(again)
    await stop(again)
    console.log(`${name}: longest ${served[1]} ms, peak ${anonymousPeak} MiB; ${[...refusals].slice(0, 5).join('; ')}`)
    return [name, before, String(peak), String(anonymousPeak), after, gone, restarted, ...served]
  } finally {
    await rm(folder, { recursive: true, force: true })
    await pause(500)
    group.remove()
  }
}

const only = options.only?.split(',')
const rows: string[][] = []
for (const [name, attack] of Object.entries(attacks)) {
  if (only !== undefined && !only.includes(name)) continue
  rows.push(await measure(name, attack))
}
printTable(
  [
    'attack',
    'RSS before',
    'peak',
    'of it anonymous',
    'after',
    'attackers gone',
    'anonymous after a restart',
    'healthy: 99 % ms',
    'longest ms',
    'missing',
  ],
  rows,
)
