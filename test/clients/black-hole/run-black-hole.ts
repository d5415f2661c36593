// Packets to a service are dropped without a reset while messages are acknowledged, and the broker is killed meanwhile:
//
//   0          20 %                 50 %                  75 %        85 %
//   | service up    | packets dropped, no reset ............. | healed | load ends, queue is drained
//                                    | SIGKILL, start
//
// The state and the metrics of the action are compared repeatedly with the known numbers.

import type { Scope } from '../../e2e/godwit-process.ts'
import { temporaryFolder } from '../../e2e/godwit-process.ts'
import { startBrokerWithApi, type BrokerWithApi } from '../../management/api.ts'
import { reservePort } from '../../e2e/reserve-port.ts'
import { hiddenSinks, requestTimeoutMs, type HiddenSink } from './hidden-sinks.ts'
import { NumberedLoad } from './numbered-load.ts'

export interface BlackHoleOptions {
  readonly sink: string
  readonly durationMs: number
  readonly perSecond: number
  log?(line: string): void
}

export interface BlackHoleEnd {
  /** Differences from the expected behavior, as text. */
  readonly faults: readonly string[]
  readonly acknowledged: number
  readonly arrived: number
  /** The number of messages that arrived more than once. */
  readonly repeated: number
  readonly samples: number
  readonly maxStored: number
  readonly drainMs: number
}

interface Metrics {
  readonly queuing: number
  readonly inflight: number
  readonly retried: number
  readonly dead_letters: number
  readonly oldest_age: number | null
  readonly last_error: string
}

const clients = 2
const sampleMs = 300
/** The broker reports after 2 s of silence that a service does not respond. */
const silenceMs = 2_000
/** Tolerance for clocks and timers. */
const toleranceMs = 3_000
/** The number of processes that a message passes, each of which may wait for a processor: clients, broker, relay, service. */
const processes = 4
const timerMs = 50
const maxFaults = 20
const maxDrainMs = 120_000

export async function runBlackHole(t: Scope, options: BlackHoleOptions): Promise<BlackHoleEnd> {
  const start = hiddenSinks[options.sink]
  if (start === undefined)
    throw new Error(`there is no sink ${options.sink}: known are ${Object.keys(hiddenSinks).join(', ')}`)
  const run = new BlackHole(t, await start(t), options)
  return await run.run()
}

class BlackHole {
  readonly #t: Scope
  readonly #sink: HiddenSink
  readonly #options: BlackHoleOptions
  readonly #faults: string[] = []
  #broker: BrokerWithApi | undefined
  #load: NumberedLoad | undefined
  #phase: 'there' | 'hidden' | 'healed' = 'there'
  #hiddenAtMs = Infinity
  #startedAtMs = 0
  #wasConnected = false
  /** State before the query to the broker. */
  #arrivedBefore = 0
  /** Time of the oldest message that had not arrived before the query to the broker. */
  #oldestBeforeMs = Infinity
  #samples = 0
  #maxStored = 0
  /** The longest delay of a timer so far, because the machine runs other programs. */
  #latenessMs = 0

  constructor(t: Scope, sink: HiddenSink, options: BlackHoleOptions) {
    this.#t = t
    this.#sink = sink
    this.#options = options
  }

  async run(): Promise<BlackHoleEnd> {
    this.#watchTimers()
    const port = await reservePort(this.#t)
    const dataDirectory = await temporaryFolder(this.#t)
    const { durationMs, perSecond } = this.#options
    await this.#startBroker(port, dataDirectory)
    const load = new NumberedLoad(port, perSecond)
    this.#load = load
    this.#t.after(() => load.stop())
    await load.start(clients)
    const beginMs = Date.now()
    const sampleUntil = async (part: number): Promise<void> => {
      while (Date.now() < beginMs + durationMs * part) await this.#sample()
    }
    await sampleUntil(0.2)
    this.#log('packets are dropped')
    await this.#sink.set('silent')
    this.#phase = 'hidden'
    this.#hiddenAtMs = Date.now()
    await sampleUntil(0.5)
    this.#log('the broker is killed')
    load.stop()
    await this.#broker?.process.stop('SIGKILL')
    await this.#startBroker(port, dataDirectory)
    await load.start(clients)
    await sampleUntil(0.75)
    this.#log('packets pass again')
    await this.#sink.set('forwarding')
    this.#phase = 'healed'
    const healedAtMs = Date.now()
    await sampleUntil(0.85)
    await load.finish()
    await this.#drain(healedAtMs)
    return await this.#end(Date.now() - healedAtMs)
  }

  #watchTimers(): void {
    let dueMs = performance.now() + timerMs
    const timer = setInterval(() => {
      this.#latenessMs = Math.max(this.#latenessMs, performance.now() - dueMs)
      dueMs = performance.now() + timerMs
    }, timerMs)
    this.#t.after(() => clearInterval(timer))
  }

  get #toleranceMs(): number {
    return toleranceMs + processes * this.#latenessMs
  }

  async #startBroker(port: number, dataDirectory: string): Promise<void> {
    this.#broker = await startBrokerWithApi(this.#t, {
      dataDirectory,
      set: [
        'node.shards=2',
        `listeners.tcp.bind="127.0.0.1:${port}"`,
        ...this.#sink.settings,
        `rule_engine.rules.hidden={sql="SELECT payload FROM \\"hidden/#\\"",actions=["${this.#sink.action}"]}`,
      ],
    })
    this.#startedAtMs = Date.now()
    this.#wasConnected = false
  }

  /** Messages that were acknowledged before the query, and have not arrived after it, are stored. */
  async #sample(): Promise<void> {
    const acknowledged = [...(this.#load?.acknowledged ?? [])]
    const requestedAtMs = Date.now()
    const [status, metrics] = await this.#readState()
    const respondedAtMs = Date.now()
    const arrived = new Set(await this.#sink.arrived())
    const missing = acknowledged.filter((number) => !arrived.has(number))
    this.#samples++
    this.#maxStored = Math.max(this.#maxStored, metrics.queuing + metrics.inflight)
    this.#checkStored(metrics, missing)
    this.#arrivedBefore = arrived.size
    this.#checkAge(metrics, missing, { requestedAtMs, respondedAtMs })
    this.#oldestBeforeMs = this.#oldestOf(missing)
    this.#checkFailure(status, metrics, requestedAtMs)
    if (this.#samples % 20 === 0)
      this.#log(`${acknowledged.length} acknowledged, ${arrived.size} there, ${status}, ${JSON.stringify(metrics)}`)
    const tookMs = Date.now() - respondedAtMs
    await new Promise((resolve) => setTimeout(resolve, Math.max(sampleMs, tookMs)))
  }

  async #readState(): Promise<readonly [status: string, Metrics]> {
    const path = `/api/v5/actions/${this.#sink.action}`
    const broker = this.#broker
    if (broker === undefined) throw new Error('there is no broker')
    const [view, metrics] = await Promise.all([broker.request(path), broker.request(`${path}/metrics`)])
    return [String(view.json.status), metrics.json.metrics as Metrics]
  }

  #checkStored({ queuing, inflight, dead_letters: dead }: Metrics, missing: readonly number[]): void {
    const stored = queuing + inflight
    const published = this.#load?.publishedAtMs.length ?? 0
    if (stored < missing.length)
      this.#fault(`queuing ${queuing} + inflight ${inflight}, but ${missing.length} are missing`)
    const most = published - this.#arrivedBefore + this.#sink.window
    if (stored > most) this.#fault(`queuing ${queuing} + inflight ${inflight}, but at most ${most} can be stored`)
    if (dead > 0) this.#fault(`${dead} dead letters`)
  }

  #checkAge(
    { oldest_age: ageMs }: Metrics,
    missing: readonly number[],
    { requestedAtMs, respondedAtMs }: { readonly requestedAtMs: number; readonly respondedAtMs: number },
  ): void {
    const oldestAtMs = this.#oldestOf(missing)
    const leastMs = requestedAtMs - oldestAtMs - this.#toleranceMs
    if (leastMs > 0 && (ageMs ?? 0) < leastMs)
      this.#fault(`oldest_age ${ageMs} ms, but one waits for ${requestedAtMs - oldestAtMs} ms`)
    // On a busy machine, the service was late before its packets were dropped.
    const maxMs = respondedAtMs - Math.min(this.#hiddenAtMs, this.#oldestBeforeMs, respondedAtMs) + this.#toleranceMs
    if (ageMs !== null && ageMs > maxMs)
      this.#fault(`oldest_age ${ageMs} ms, but nothing waits for more than ${maxMs} ms`)
  }

  #oldestOf(numbers: readonly number[]): number {
    const times = numbers.map((number) => this.#load?.publishedAtMs[number] ?? Infinity)
    return times.reduce((oldest, time) => Math.min(oldest, time), Infinity)
  }

  #checkFailure(status: string, { retried, last_error: lastError }: Metrics, requestedAtMs: number): void {
    if (status === 'connected') this.#wasConnected = true
    // A service without processor time does not respond in time.
    const mustRespond = this.#phase === 'there' && processes * this.#latenessMs < silenceMs
    if (mustRespond && this.#wasConnected && status !== 'connected') this.#fault(`${status} while the service is there`)
    if (mustRespond && lastError !== '') this.#fault(`last_error while the service is there: ${lastError}`)
    if (this.#phase !== 'hidden') return
    const sinceMs = requestedAtMs - Math.max(this.#hiddenAtMs, this.#startedAtMs)
    if (status === 'connected' && sinceMs > silenceMs + this.#toleranceMs)
      this.#fault(`connected, ${sinceMs} ms after the service has vanished`)
    // The first attempt must have failed: to connect, or to get a response.
    if (sinceMs < requestTimeoutMs + this.#toleranceMs) return
    if (lastError === '') this.#fault(`no last_error ${sinceMs} ms after the service has vanished`)
    if (retried === 0) this.#fault(`retried is 0, ${sinceMs} ms after the service has vanished`)
  }

  async #drain(healedAtMs: number): Promise<void> {
    for (;;) {
      await this.#sample()
      const [status, { queuing, inflight, oldest_age: ageMs }] = await this.#readState()
      if (queuing + inflight === 0 && status === 'connected') {
        if (ageMs !== null) this.#fault(`oldest_age ${ageMs} ms, and nothing waits`)
        return
      }
      if (Date.now() - healedAtMs < maxDrainMs) continue
      return this.#fault(
        `${queuing + inflight} wait, and the action is ${status}, ${maxDrainMs} ms after the service is back`,
      )
    }
  }

  async #end(drainMs: number): Promise<BlackHoleEnd> {
    const arrived = await this.#sink.arrived()
    const different = new Set(arrived)
    const acknowledged = this.#load?.acknowledged ?? new Set()
    const lost = [...acknowledged].filter((number) => !different.has(number))
    if (lost.length > 0)
      this.#fault(`${lost.length} acknowledged messages are lost, such as ${lost.slice(0, 5).join(', ')}`)
    const repeated = arrived.length - different.size
    // Messages that were in flight when packets began to be dropped, and when they were forwarded again.
    const maxRepeated = this.#sink.recognizesDuplicates ? 0 : 2 * this.#sink.window
    if (repeated > maxRepeated) this.#fault(`${repeated} are there twice, and at most ${maxRepeated} can be`)
    return {
      faults: this.#faults,
      acknowledged: acknowledged.size,
      arrived: different.size,
      repeated,
      samples: this.#samples,
      maxStored: this.#maxStored,
      drainMs,
    }
  }

  #fault(text: string): void {
    this.#log(`FAULT: ${text}`)
    if (this.#faults.length < maxFaults) this.#faults.push(`${this.#phase}: ${text}`)
  }

  #log(line: string): void {
    this.#options.log?.(`${new Date().toISOString()} ${line}`)
  }
}
