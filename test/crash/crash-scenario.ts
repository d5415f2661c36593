// The real broker is killed repeatedly under load with one data directory. At the end all clients finish, and the scenario checks that all
// acknowledged messages arrived, in order, and QoS 2 messages once.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Random } from '../simulator/random.ts'
import type { ClientOptions } from './durable-client.ts'
import { Publisher } from './publisher.ts'
import { Subscriber, type SubscriberOptions } from './subscriber.ts'
import { unpublishedFor, missingFor, outOfOrderFor, repeatedFor, wrongRetainedFor } from './delivery-checks.ts'

const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))

export interface CrashScenarioOptions {
  readonly seed: number
  /** Number of kills of the broker. */
  readonly rounds: number
  readonly dataDirectory: string
  /** Number of shards of the first start, the second, and so on; after the last one, the first again. Undefined: the default. */
  readonly shards?: readonly number[]
  /** Further `KEY=VALUE` settings. */
  readonly set?: readonly string[]
  readonly environment?: NodeJS.ProcessEnv
  /** Options of Node for the broker. */
  readonly nodeOptions?: readonly string[]
  /** Maximum time until each client has finished; default: 30 s. */
  readonly timeoutMs?: number
  /** Called after each kill, before the next start: removes what a power cut loses. */
  readonly afterKill?: () => void
}

export interface CrashScenarioEnd {
  /** Sentences about violated rules; empty if none was violated. */
  readonly faults: readonly string[]
  readonly acknowledged: number
  /** Total of all subscribers. */
  readonly delivered: number
}

const maxAcksBeforeKill = 600
/** Maximum time from the last of these acknowledgements to the crash. A crash at the acknowledgement would always follow a commit. */
const maxMomentMs = 12
/** The fraction of crashes while the broker is starting, within this time. */
const crashesAtStart = 0.15
const maxStartMs = 900
/** The fraction of restarts with an additional graceful stop. */
const orderlyStops = 0.1
const connectProbability = 0.3
const defaultTimeoutMs = 90_000

export async function runCrashScenario(options: CrashScenarioOptions): Promise<CrashScenarioEnd> {
  const scenario = new CrashScenario(options)
  for (let round = 1; round <= options.rounds; round++) await scenario.runRound(round)
  return scenario.finish()
}

interface RunningBroker {
  readonly process: ChildProcess
  readonly port: number
}

class CrashScenario {
  readonly #options: CrashScenarioOptions
  readonly #random: Random
  readonly #publishers: readonly Publisher[]
  readonly #onlineSubscribers: readonly Subscriber[]
  /** These subscribers are connected in some rounds only: their messages wait on disk. */
  readonly #offlineSubscribers: readonly Subscriber[]
  /** These subscribers share one subscription. */
  readonly #groupMembers: readonly Subscriber[]
  readonly #faults: string[]
  #wake: () => void
  /** The log of the broker in this round. */
  #output: string
  #starts: number

  constructor(options: CrashScenarioOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#wake = () => {}
    this.#output = ''
    this.#starts = 0
    this.#faults = []
    const onProgress = (): void => this.#wake()
    const publisher = (qos: 1 | 2, version: ClientOptions['version']): Publisher =>
      new Publisher({ clientId: `publisher-${qos}-v${version}`, version, qos, onProgress })
    this.#publishers = [publisher(1, 4), publisher(1, 5), publisher(2, 4), publisher(2, 5)]
    const topics = this.#publishers.map(({ topic }) => topic)
    const subscriber = (how: Omit<SubscriberOptions, 'onProgress'>): Subscriber =>
      new Subscriber({ ...how, onProgress })
    this.#onlineSubscribers = [
      subscriber({ clientId: 'all-v4', version: 4, qos: 2, filters: ['crash/#'] }),
      subscriber({ clientId: 'all-v5', version: 5, qos: 2, filters: ['crash/+'] }),
      subscriber({ clientId: 'exact-v4', version: 4, qos: 2, filters: topics }),
      subscriber({ clientId: 'at-least-once-v5', version: 5, qos: 1, filters: ['+/#'] }),
    ]
    this.#offlineSubscribers = [
      subscriber({ clientId: 'offline-v4', version: 4, qos: 2, filters: ['crash/#'] }),
      subscriber({ clientId: 'offline-v5', version: 5, qos: 2, filters: topics }),
    ]
    this.#groupMembers = [
      subscriber({ clientId: 'crew-v4', version: 4, qos: 2, filters: ['$share/crew/crash/#'] }),
      subscriber({ clientId: 'crew-v5', version: 5, qos: 2, filters: ['$share/crew/crash/#'] }),
    ]
  }

  async runRound(round: number): Promise<void> {
    if (round > 1 && this.#random.chance(crashesAtStart)) await this.#crashAtStart()
    else await this.#crashUnderLoad(round)
    this.#options.afterKill?.()
    if (this.#random.chance(orderlyStops)) await this.#stopInGoodOrder()
  }

  async finish(): Promise<CrashScenarioEnd> {
    const { process, port } = await this.#start()
    for (const publisher of this.#publishers) publisher.finish()
    for (const client of this.#everybody()) client.connect(port)
    const isSettled = (): boolean => this.#mayBeComplete() && this.#missing().length === 0
    // Missing messages are reported below, by name.
    await this.#until('all is delivered', isSettled).catch(() => {})
    const latecomer = await this.#latecomer(port)
    const faults = [...this.#everybody().flatMap((client) => client.faults), ...this.#judge(latecomer)]
    for (const client of [...this.#everybody(), latecomer]) client.disconnect()
    await stop(process, faults)
    this.#noteAlarms()
    const delivered = this.#subscribers().flatMap(({ received }) => [...received.values()])
    return {
      faults: summary([...this.#faults, ...faults]),
      acknowledged: this.#acknowledged(),
      delivered: delivered.reduce((sum, numbers) => sum + numbers.length, 0),
    }
  }

  async #crashUnderLoad(round: number): Promise<void> {
    const { process, port } = await this.#start()
    await this.#subscribeAll(port, round === 1)
    for (const offlineSubscriber of this.#offlineSubscribers) {
      if (!offlineSubscriber.isConnected && this.#random.chance(connectProbability)) offlineSubscriber.connect(port)
    }
    const until = this.#acknowledged() + this.#random.between(0, maxAcksBeforeKill)
    const momentMs = this.#random.fraction() * maxMomentMs
    for (const publisher of this.#publishers) publisher.connect(port)
    await this.#until(`round ${round} acknowledges`, () => this.#acknowledged() >= until)
    await pause(momentMs)
    await this.#kill(process)
  }

  async #crashAtStart(): Promise<void> {
    const process = this.#spawn()
    await pause(this.#random.fraction() * maxStartMs)
    await this.#kill(process)
  }

  async #kill(process: ChildProcess): Promise<void> {
    const ended = once(process, 'exit')
    process.kill('SIGKILL')
    await ended
    this.#noteAlarms()
    for (const client of this.#everybody()) client.disconnect()
  }

  /** While publishers are publishing. */
  async #stopInGoodOrder(): Promise<void> {
    const { process, port } = await this.#start()
    const until = this.#acknowledged() + this.#random.between(0, maxAcksBeforeKill)
    for (const client of [...this.#publishers, ...this.#onlineSubscribers]) client.connect(port)
    await this.#until('a broker that is to be stopped acknowledges', () => this.#acknowledged() >= until)
    await stop(process, this.#faults)
    this.#noteAlarms()
    for (const client of this.#everybody()) client.disconnect()
  }

  /** A killed process leaves no damaged files, and a power cut loses no acknowledged message. */
  #noteAlarms(): void {
    const alarms = this.#output.split('\n').filter((line) => line.includes('"alarm"'))
    if (this.#options.set?.includes('storage.sync=never') !== true) this.#faults.push(...alarms)
  }

  async #start(): Promise<RunningBroker> {
    const process = this.#spawn()
    return { process, port: await reportedPort(process) }
  }

  #spawn(): ChildProcess {
    const { dataDirectory, shards, set = [], environment, nodeOptions = [] } = this.#options
    const shardSettings = shards === undefined ? [] : [`node.shards=${shards[this.#starts++ % shards.length]}`]
    const settings = ['listeners.tcp.bind="127.0.0.1:0"', 'log.level=error', ...shardSettings, ...set].flatMap(
      (one) => ['--set', one],
    )
    const child = spawn(process.execPath, [...nodeOptions, program, 'start', '--data', dataDirectory, ...settings], {
      env: { ...process.env, ...environment },
    })
    this.#output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (this.#output += String(chunk)))
    return child
  }

  /** A scenario starts with subscribers: messages that are published before their subscriptions need not arrive. */
  async #subscribeAll(port: number, isFirst: boolean): Promise<void> {
    for (const subscriber of isFirst ? this.#subscribers() : [...this.#onlineSubscribers, ...this.#groupMembers])
      subscriber.connect(port)
    if (!isFirst) return
    const isEverybody = (): boolean => this.#subscribers().every((subscriber) => subscriber.isSubscribed)
    await this.#until('all are subscribed', isEverybody)
  }

  async #latecomer(port: number): Promise<Subscriber> {
    const onProgress = (): void => this.#wake()
    const latecomer = new Subscriber({ clientId: 'latecomer', version: 5, qos: 2, filters: ['crash/#'], onProgress })
    latecomer.connect(port)
    const hasAll = (): boolean => wrongRetainedFor(this.#publishers, latecomer).length === 0 && latecomer.isSubscribed
    await this.#until('the retained messages come', hasAll).catch(() => {})
    return latecomer
  }

  #judge(latecomer: Subscriber): string[] {
    const publishers = this.#publishers
    return [
      ...this.#missing(),
      ...[...this.#onlineSubscribers, ...this.#offlineSubscribers].flatMap((subscriber) => [
        ...repeatedFor(publishers, [subscriber]),
        ...outOfOrderFor(publishers, subscriber),
      ]),
      ...repeatedFor(publishers, this.#groupMembers),
      ...this.#subscribers().flatMap((subscriber) => unpublishedFor(publishers, subscriber)),
      ...wrongRetainedFor(publishers, latecomer),
    ]
  }

  /** A quick check, before the long check of each number. */
  #mayBeComplete(): boolean {
    const acknowledged = this.#acknowledged()
    const receivedByGroup = this.#groupMembers.reduce((sum, { distinctMessages }) => sum + distinctMessages, 0)
    const haveEnough = [...this.#onlineSubscribers, ...this.#offlineSubscribers].every(
      (one) => one.distinctMessages >= acknowledged,
    )
    return haveEnough && receivedByGroup >= acknowledged && this.#publishers.every((publisher) => publisher.isDone)
  }

  #missing(): string[] {
    const alone = [...this.#onlineSubscribers, ...this.#offlineSubscribers].flatMap((one) =>
      missingFor(this.#publishers, [one]),
    )
    return [...alone, ...missingFor(this.#publishers, this.#groupMembers)]
  }

  /** Checks whenever a client has received a packet. */
  #until(what: string, isSo: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#wake = () => {}
        const faults = this.#everybody().flatMap((client) => client.faults)
        const progress = this.#publishers.map((publisher) => publisher.progress)
        reject(
          new Error(
            `waited in vain until ${what}: ${[...progress, ...faults.slice(0, 5)].join('; ')}\n${this.#output}`,
          ),
        )
      }, this.#options.timeoutMs ?? defaultTimeoutMs)
      this.#wake = () => {
        if (!isSo()) return
        this.#wake = () => {}
        clearTimeout(timer)
        resolve()
      }
      this.#wake()
    })
  }

  #subscribers(): Subscriber[] {
    return [...this.#onlineSubscribers, ...this.#offlineSubscribers, ...this.#groupMembers]
  }

  #everybody(): (Publisher | Subscriber)[] {
    return [...this.#publishers, ...this.#subscribers()]
  }

  #acknowledged(): number {
    return this.#publishers.reduce((sum, publisher) => sum + publisher.acknowledged.length, 0)
  }
}

async function stop(process: ChildProcess, faults: string[]): Promise<void> {
  const ended = once(process, 'exit')
  process.kill('SIGTERM')
  const [code] = (await ended) as [number | null]
  if (code !== 0) faults.push(`the broker ended with ${code} when it was stopped`)
}

/** Of many faults of one kind only the first are reported. */
function summary(faults: readonly string[]): string[] {
  return faults.length <= 20 ? [...faults] : [...faults.slice(0, 20), `and ${faults.length - 20} more`]
}

function reportedPort(broker: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = ''
    const listen = (chunk: Buffer): void => {
      output += chunk.toString()
      const port = /listening +mqtt:\/\/127\.0\.0\.1:(\d+)/.exec(output)?.[1]
      if (port !== undefined) resolve(Number(port))
    }
    broker.stdout?.on('data', listen)
    broker.stderr?.on('data', listen)
    broker.once('exit', (code) => reject(new Error(`the broker ended with ${code} before it listened: ${output}`)))
  })
}
