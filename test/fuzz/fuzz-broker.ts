// Clients that went wrong against a real broker, many at a time, for a while. What must hold:
//
// - the process lives, no shard of it dies, and no alarm is raised;
// - a healthy client is served throughout: each of its QoS 1 messages comes back in time;
// - when all have gone the broker's memory is what it was once it had warmed up.

import { readFileSync } from 'node:fs'
import { connectAsync, type MqttClient } from 'mqtt'
import { Random } from '../protocol/fuzz/random.ts'
import type { WatchedProcess } from '../e2e/godwit-process.ts'
import { fuzzSession } from './fuzz-session.ts'
import { play, type FuzzPorts } from './fuzz-stream.ts'

/** What the broker is told for this: what strangers leave behind is to be over soon. */
export const fuzzSettings = [
  'mqtt.idle_timeout=2s',
  'mqtt.session_expiry_interval=2s',
  'mqtt.max_session_expiry_interval=2s',
  'mqtt.await_rel_timeout=2s',
  'mqtt.retry_interval=1s',
  'mqtt.max_unsent_bytes=256KB',
  'retainer.max_retained_messages=100',
  'retainer.msg_expiry_interval=5s',
  'log.level=error',
] as const

export interface FuzzOptions {
  readonly broker: WatchedProcess
  readonly ports: FuzzPorts
  readonly seed: number
  readonly seconds: number
  readonly tell: (line: string) => void
}

export interface FuzzOutcome {
  readonly sessions: number
  /** Of the healthy client. */
  readonly roundTrips: number
  readonly longestRoundTripMs: number
  readonly residentMib: { readonly warm: number; readonly after: number }
}

const clientsAtOnce = 40
const roundTripLimitMs = 10_000
/** What a process keeps of memory that it once needed differs by so much between two moments of rest. */
const toleratedShare = 1.25
const toleratedMib = 24
/** Sessions of the last clients are over after this. */
const calmMs = 6_000
const warmShare = 1 / 3

/** Throws an Error that names the seed where one of the promises does not hold. */
export async function fuzzBroker(options: FuzzOptions): Promise<FuzzOutcome> {
  const { broker, ports, seconds, seed } = options
  const healthy = await HealthyClient.connect(ports.tcp)
  const tally = { sessions: 0 }
  try {
    const warmSeconds = seconds * warmShare
    await fuzzFor(warmSeconds, options, tally, healthy)
    const warm = await memoryAtRest(broker, healthy)
    options.tell(`warm: ${tally.sessions} sessions, ${warm.toFixed(1)} MiB`)
    await fuzzFor(seconds - warmSeconds, options, tally, healthy)
    const after = await memoryAtRest(broker, healthy)
    const outcome = { ...tally, ...healthy.served, residentMib: { warm, after } }
    check(broker, outcome)
    return outcome
  } catch (error) {
    throw new Error(
      `seed ${seed}, ${tally.sessions} sessions: ${(error as Error).message}\n${broker.errors.slice(-2_000)}`,
      {
        cause: error,
      },
    )
  } finally {
    await healthy.end()
  }
}

async function fuzzFor(
  seconds: number,
  { broker, ports, seed }: FuzzOptions,
  tally: { sessions: number },
  healthy: HealthyClient,
): Promise<void> {
  const untilMs = performance.now() + seconds * 1_000
  const one = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      if (broker.child.exitCode !== null || broker.child.signalCode !== null) throw new Error('the broker has ended')
      healthy.throwIfFailed()
      const random = new Random(seed * 1_000_003 + tally.sessions++)
      await play(fuzzSession(random), ports, random)
    }
  }
  await Promise.all(Array.from({ length: clientsAtOnce }, one))
}

async function memoryAtRest(broker: WatchedProcess, healthy: HealthyClient): Promise<number> {
  const untilMs = performance.now() + calmMs
  while (performance.now() < untilMs) await healthy.nextRoundTrip()
  return residentMib(broker)
}

function residentMib({ child }: WatchedProcess): number {
  const pages = readFileSync(`/proc/${child.pid}/statm`, 'latin1').split(' ')[1]
  return (Number(pages) * 4) / 1_024
}

function check(broker: WatchedProcess, { residentMib: { warm, after } }: FuzzOutcome): void {
  const said = `${broker.output}\n${broker.errors}`
  const bad = said.split('\n').find((line) => /shard died|alarm|cannot start|uncaught/i.test(line))
  if (bad !== undefined) throw new Error(`the broker said: ${bad}`)
  const allowed = warm * toleratedShare + toleratedMib
  if (after > allowed) throw new Error(`memory went from ${warm.toFixed(1)} to ${after.toFixed(1)} MiB`)
}

/** Publishes to itself at QoS 1 over and over. */
class HealthyClient {
  readonly served: { roundTrips: number; longestRoundTripMs: number }
  readonly #client: MqttClient
  #isEnding: boolean
  #failure: Error | undefined
  #afterNext: (() => void)[]

  private constructor(client: MqttClient) {
    this.#client = client
    this.served = { roundTrips: 0, longestRoundTripMs: 0 }
    this.#isEnding = false
    this.#failure = undefined
    this.#afterNext = []
    client.on('close', () => this.#fail(new Error('the healthy client was disconnected')))
    void this.#run()
  }

  static async connect(port: number): Promise<HealthyClient> {
    const client = await connectAsync(`mqtt://127.0.0.1:${port}`, {
      clientId: 'healthy',
      reconnectPeriod: 0,
      keepalive: 5,
    })
    await client.subscribeAsync('healthy/itself', { qos: 1 })
    return new HealthyClient(client)
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Resolves after a message has come back, or the client has failed. */
  async nextRoundTrip(): Promise<void> {
    await new Promise<void>((resolve) => this.#afterNext.push(resolve))
    this.throwIfFailed()
  }

  async end(): Promise<void> {
    this.#isEnding = true
    await this.#client.endAsync(true)
  }

  #fail(error: Error): void {
    if (this.#isEnding) return
    this.#failure ??= error
    for (const wake of this.#afterNext.splice(0)) wake()
  }

  async #run(): Promise<void> {
    while (!this.#isEnding && this.#failure === undefined) {
      const startedMs = performance.now()
      try {
        await this.#roundTrip(String(this.served.roundTrips))
      } catch (error) {
        return this.#fail(error as Error)
      }
      this.served.longestRoundTripMs = Math.max(this.served.longestRoundTripMs, performance.now() - startedMs)
      this.served.roundTrips++
      for (const wake of this.#afterNext.splice(0)) wake()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }

  #roundTrip(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void => {
        clearTimeout(timer)
        this.#client.off('message', look)
        if (error === undefined) resolve()
        else reject(error)
      }
      const look = (_topic: string, payload: Buffer): void => {
        if (payload.toString() === text) settle()
      }
      const timer = setTimeout(
        () => settle(new Error(`a message of the healthy client did not come back within ${roundTripLimitMs} ms`)),
        roundTripLimitMs,
      )
      this.#client.on('message', look)
      this.#client.publish('healthy/itself', text, { qos: 1 }, (error) => {
        if (error instanceof Error) settle(error)
      })
    })
  }
}
