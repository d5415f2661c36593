// The real broker is ended without warning, again and again, under load and on one data directory. At the end everybody
// is let finish, and the story asks: is what was acknowledged there, once where once was promised, and in order?

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Random } from '../simulator/random.ts'
import { Publisher, Subscriber } from './durable-client.ts'

const program = fileURLToPath(new URL('../../bin/godwit.js', import.meta.url))

export interface CrashStoryOptions {
  readonly seed: number
  /** How often the broker is killed. */
  readonly rounds: number
  readonly dataDirectory: string
  /** Further `KEY=VALUE` settings. */
  readonly set?: readonly string[]
  readonly environment?: NodeJS.ProcessEnv
  /** Whoever has not come to an end by then never will; 30 s if left out. */
  readonly patienceMs?: number
  /** After each kill, before the next start: what the power takes with it. */
  readonly afterKill?: () => void
}

export interface CrashStoryEnd {
  /** Sentences; none in a story that went well. */
  readonly faults: readonly string[]
  readonly acknowledged: number
  readonly delivered: number
}

const mostAcksBeforeKill = 600
const defaultPatienceMs = 30_000

export async function tellCrashStory(options: CrashStoryOptions): Promise<CrashStoryEnd> {
  const story = new CrashStory(options)
  for (let round = 1; round <= options.rounds; round++) await story.crash(round)
  return story.finish()
}

class CrashStory {
  readonly #options: CrashStoryOptions
  readonly #random: Random
  readonly #publishers: Publisher[]
  readonly #awake: Subscriber[]
  /** Connected now and then: what it is owed waits on disk. */
  readonly #sleeper: Subscriber
  #wake: () => void
  /** What the broker of this round has written. */
  #output: string

  constructor(options: CrashStoryOptions) {
    this.#options = options
    this.#random = new Random(options.seed)
    this.#wake = () => {}
    this.#output = ''
    const heard = (): void => this.#wake()
    this.#publishers = ([1, 2] as const).flatMap((qos) =>
      ([4, 5] as const).map(
        (version) => new Publisher({ clientId: `publisher-${qos}-v${version}`, version, qos, heard }),
      ),
    )
    this.#awake = ([4, 5] as const).map((version) => new Subscriber({ clientId: `awake-v${version}`, version, heard }))
    this.#sleeper = new Subscriber({ clientId: 'sleeper', version: 5, heard })
  }

  async crash(round: number): Promise<void> {
    const { process, port } = await this.#start()
    await this.#subscribeAll(port, round === 1)
    if (this.#random.fraction() < 0.3 && !this.#sleeper.isConnected) this.#sleeper.connect(port)
    const until = this.#acknowledged() + Math.floor(this.#random.fraction() * mostAcksBeforeKill)
    for (const publisher of this.#publishers) publisher.connect(port)
    await this.#until(`round ${round} acknowledges`, () => this.#acknowledged() >= until)
    const ended = once(process, 'exit')
    process.kill('SIGKILL')
    await ended
    for (const client of this.#everybody()) client.disconnect()
    this.#options.afterKill?.()
  }

  async finish(): Promise<CrashStoryEnd> {
    const { process, port } = await this.#start()
    for (const publisher of this.#publishers) publisher.finish()
    for (const client of this.#everybody()) client.connect(port)
    const missing = (): string[] => [...this.#awake, this.#sleeper].flatMap((subscriber) => this.#missing(subscriber))
    const isSettled = (): boolean => this.#publishers.every((publisher) => publisher.isDone) && missing().length === 0
    // What is missing in the end is told below, by name.
    await this.#until('all is delivered', isSettled).catch(() => {})
    const latecomer = new Subscriber({ clientId: 'latecomer', version: 5, heard: () => this.#wake() })
    latecomer.connect(port)
    await this.#until('the retained messages come', () => latecomer.retained.size === this.#publishers.length).catch(
      () => {},
    )
    const faults = [
      ...this.#everybody().flatMap((client) => client.faults),
      ...missing(),
      ...[...this.#awake, this.#sleeper].flatMap((subscriber) => this.#wrongOrder(subscriber)),
      ...this.#publishers.flatMap((publisher) => wrongRetained(publisher, latecomer)),
    ]
    for (const client of [...this.#everybody(), latecomer]) client.disconnect()
    await stop(process, faults)
    const delivered = [...this.#awake[0].received.values()].reduce((sum, numbers) => sum + numbers.length, 0)
    return { faults: summary(faults), acknowledged: this.#acknowledged(), delivered }
  }

  async #start(): Promise<{ process: ChildProcess; port: number }> {
    const { dataDirectory, set = [], environment } = this.#options
    const settings = ['listeners.tcp.bind="127.0.0.1:0"', 'log.level=error', ...set].flatMap((one) => ['--set', one])
    const child = spawn(process.execPath, [program, 'start', '--data', dataDirectory, ...settings], {
      env: { ...process.env, ...environment },
    })
    this.#output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (this.#output += String(chunk)))
    return { process: child, port: await portSaidBy(child) }
  }

  /** A story begins with subscribers: what is published before them is owed to nobody. */
  async #subscribeAll(port: number, isFirst: boolean): Promise<void> {
    for (const subscriber of this.#awake) subscriber.connect(port)
    if (!isFirst) return
    this.#sleeper.connect(port)
    const subscribers = [...this.#awake, this.#sleeper]
    await this.#until('all are subscribed', () => subscribers.every((subscriber) => subscriber.isSubscribed))
  }

  /** Looks whenever a client has heard something. */
  #until(what: string, isSo: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#wake = () => {}
        const faults = this.#everybody().flatMap((client) => client.faults)
        const told = this.#publishers.map((publisher) => publisher.told)
        reject(
          new Error(`waited in vain until ${what}: ${[...told, ...faults.slice(0, 5)].join('; ')}\n${this.#output}`),
        )
      }, this.#options.patienceMs ?? defaultPatienceMs)
      this.#wake = () => {
        if (!isSo()) return
        this.#wake = () => {}
        clearTimeout(timer)
        resolve()
      }
      this.#wake()
    })
  }

  #everybody(): (Publisher | Subscriber)[] {
    return [...this.#publishers, ...this.#awake, this.#sleeper]
  }

  #acknowledged(): number {
    return this.#publishers.reduce((sum, publisher) => sum + publisher.acknowledged.length, 0)
  }

  #missing(subscriber: Subscriber): string[] {
    return this.#publishers.flatMap((publisher) => {
      const received = new Set(subscriber.received.get(publisher.topic))
      const lost = publisher.acknowledged.filter((number) => !received.has(number))
      return lost.map((number) => `${subscriber.clientId} never got ${number} of ${publisher.clientId}`)
    })
  }

  /** [MQTT-4.6.0-6] QoS 2: each number once and rising. QoS 1: the first coming of each number is rising. */
  #wrongOrder(subscriber: Subscriber): string[] {
    return this.#publishers.flatMap((publisher) => {
      const seen = new Set<number>()
      const faults: string[] = []
      let highest = 0
      for (const number of subscriber.received.get(publisher.topic) ?? []) {
        const told = `${subscriber.clientId} got ${number} of ${publisher.clientId}`
        if (seen.has(number)) {
          if (publisher.qos === 2) faults.push(`${told} twice`)
          continue
        }
        seen.add(number)
        if (number < highest) faults.push(`${told} after ${highest}`)
        highest = Math.max(highest, number)
      }
      return faults
    })
  }
}

function wrongRetained(publisher: Publisher, latecomer: Subscriber): string[] {
  const last = publisher.acknowledged.filter((number) => number % 7 === 0).reduce((a, b) => Math.max(a, b), 0)
  const found = latecomer.retained.get(publisher.topic)
  return found === last ? [] : [`${publisher.topic} remembers ${found}, and ${last} was the last`]
}

async function stop(process: ChildProcess, faults: string[]): Promise<void> {
  const ended = once(process, 'exit')
  process.kill('SIGTERM')
  const [code] = (await ended) as [number | null]
  if (code !== 0) faults.push(`the broker ended with ${code} when it was stopped`)
}

/** A thousand faults of one kind say no more than a few. */
function summary(faults: readonly string[]): string[] {
  return faults.length <= 20 ? [...faults] : [...faults.slice(0, 20), `and ${faults.length - 20} more`]
}

function portSaidBy(broker: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = ''
    const listen = (chunk: Buffer): void => {
      said += chunk.toString()
      const port = /listening +mqtt:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1]
      if (port !== undefined) resolve(Number(port))
    }
    broker.stdout?.on('data', listen)
    broker.stderr?.on('data', listen)
    broker.once('exit', (code) => reject(new Error(`the broker ended with ${code} before it listened: ${said}`)))
  })
}
