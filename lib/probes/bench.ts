// `godwit bench`: generates load for any broker, and reports rates and percentiles every second. The figures in README are from
// `npm run bench`, whose load generator needs less time per message.

import { setTimeout as sleep } from 'node:timers/promises'
import { createConnectPacket, type LinkOptions, MqttClient, createReceiveLimits } from '../../src/mqtt-client/index.ts'
import {
  type PublishPacket,
  reasonCodes,
  type TopicFilter,
  type TopicName,
  TopicTable,
} from '../../src/protocol/index.ts'
import { describeConnectionError } from '../../src/telemetry/index.ts'
import { LatencyHistogram } from './latency-histogram.ts'
import { ProbeSocket, type ProbeTarget, trustOption } from './probe-socket.ts'
import type { ProbeVersion } from './wire.ts'

export type BenchScenario = 'publish' | 'subscribe' | 'connect'

export interface BenchOptions {
  readonly scenario: BenchScenario
  readonly target: ProbeTarget
  readonly version: ProbeVersion
  /** Number of publishers, subscribers or connections. */
  readonly clients: number
  readonly seconds: number
  /** Publications or connections per second of all clients together; undefined: as fast as they are acknowledged. */
  readonly rate: number | undefined
  readonly qos: 0 | 1 | 2
  readonly payloadBytes: number
}

export interface BenchInterval {
  /** Time since the start of the measurement. */
  readonly seconds: number
  /** Acknowledged publications, deliveries, or connections in this interval. */
  readonly count: number
  readonly latencies: LatencyHistogram
}

export interface BenchResult {
  readonly scenario: BenchScenario
  readonly clients: number
  readonly seconds: number
  readonly count: number
  readonly perSecond: number
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number; readonly max: number }
  readonly failed: number
  /** Text of the first failure. */
  readonly failure: string | undefined
}

/** Maximum unacknowledged publications of one client. */
const window = 100
/** Maximum bytes of one client that the operating system has not accepted yet: limits QoS 0, which has no acknowledgements. */
const maxUnsentBytes = 262_144
/** Time that a client waits for CONNACK or SUBACK. */
const responseTimeoutMs = 10_000
/** Number of publishers in the scenario `subscribe`, in total. */
const subscribeScenarioPublishers = 1
const timestampBytes = 8
const keepAliveSeconds = 60
const maxPacketBytes = 16 * 1_048_576
const maxCachedTopics = 1_024

export async function runBench(
  options: BenchOptions,
  onInterval: (interval: BenchInterval) => void,
): Promise<BenchResult | { readonly problem: string }> {
  const run = new BenchRun(options)
  try {
    await run.prepare()
  } catch (error) {
    run.close()
    return { problem: describeConnectionError(error as Error, trustOption) }
  }
  const result = await run.measure(onInterval)
  run.close()
  return result
}

interface BenchClient {
  readonly client: MqttClient
  readonly topic: TopicName
  /** Closes the connection, which is no failure. */
  disconnect(): void
}

class BenchRun {
  readonly #options: BenchOptions
  readonly #name = `bench-${process.pid}-${Date.now().toString(36)}`
  readonly #clients: BenchClient[] = []
  readonly #publishers: BenchClient[] = []
  readonly #total = new LatencyHistogram()
  #interval = new LatencyHistogram()
  #failed = 0
  #failure: string | undefined
  #isClosed = false
  readonly #link: LinkOptions

  constructor(options: BenchOptions) {
    this.#options = options
    const topics = new TopicTable(maxCachedTopics)
    const decoder = {
      role: 'client',
      version: options.version,
      topics,
      ...createReceiveLimits(maxPacketBytes),
    } as const
    this.#link = { decoder, later: (work) => process.nextTick(work), ownsChunks: true }
  }

  async prepare(): Promise<void> {
    const { scenario, clients } = this.#options
    if (scenario === 'connect') {
      // One connection says at once whether the broker can be reached and lets the clients in.
      const first = await this.#connect('first')
      first.disconnect()
      return
    }
    for (let index = 0; index < clients; index += 1) this.#clients.push(await this.#connect(String(index)))
    if (scenario === 'publish') {
      this.#publishers.push(...this.#clients)
      return
    }
    for (const subscriber of this.#clients) await this.#subscribe(subscriber)
    for (let index = 0; index < subscribeScenarioPublishers; index += 1)
      this.#publishers.push(await this.#connect(`publisher-${index}`))
  }

  async measure(onInterval: (interval: BenchInterval) => void): Promise<BenchResult> {
    const startedMs = performance.now()
    const endMs = startedMs + this.#options.seconds * 1_000
    const reports = setInterval(() => {
      const latencies = this.#interval
      this.#interval = new LatencyHistogram()
      onInterval({ seconds: (performance.now() - startedMs) / 1_000, count: latencies.count, latencies })
    }, 1_000)
    await (this.#options.scenario === 'connect' ? this.#openUntil(endMs) : this.#publishUntil(startedMs, endMs))
    const seconds = (performance.now() - startedMs) / 1_000
    clearInterval(reports)
    this.#isClosed = true
    const { scenario, clients } = this.#options
    const { count } = this.#total
    const latencyMs = {
      p50: this.#total.computePercentileMs(0.5),
      p95: this.#total.computePercentileMs(0.95),
      p99: this.#total.computePercentileMs(0.99),
      max: this.#total.maxMs,
    }
    const perSecond = count / seconds
    return { scenario, clients, seconds, count, perSecond, latencyMs, failed: this.#failed, failure: this.#failure }
  }

  close(): void {
    this.#isClosed = true
    for (const client of [...this.#clients, ...this.#publishers]) client.disconnect()
  }

  #recordLatency(latencyMs: number): void {
    this.#total.recordLatency(latencyMs)
    this.#interval.recordLatency(latencyMs)
  }

  #fail(why: string): void {
    if (this.#isClosed) return
    this.#failed += 1
    this.#failure ??= why
  }

  async #connect(name: string): Promise<BenchClient> {
    const { target, version } = this.#options
    const { username, password } = target
    const opened = Promise.withResolvers<void>()
    const options = {
      connect: createConnectPacket({
        version,
        clientId: `${this.#name}-${name}`,
        cleanStart: true,
        keepAliveSeconds,
        username,
        password: password === undefined ? undefined : Buffer.from(password),
      }),
      link: this.#link,
      brokerName: 'the broker',
      maxInFlight: window,
      connectTimeoutMs: responseTimeoutMs,
      nowMs: () => performance.now(),
      after: startTimer,
    }
    let isInUse = false
    const client = new MqttClient(await ProbeSocket.open(target), options, {
      handleOpen: () => {
        isInUse = true
        opened.resolve()
      },
      handleEnd: (end) => {
        opened.reject(end)
        if (isInUse) this.#fail(end.message)
      },
      handleMessage: (message) => this.#takeMessage(message),
    })
    await opened.promise
    const disconnect = (): void => {
      isInUse = false
      client.close()
    }
    // The name has no wildcard.
    return { client, topic: `${this.#name}/${name}` as TopicName, disconnect }
  }

  async #subscribe({ client }: BenchClient): Promise<void> {
    const { qos } = this.#options
    const timer = startTimer(responseTimeoutMs, () =>
      client.close(`the broker did not respond within ${responseTimeoutMs} ms`),
    )
    const subscription = {
      filter: `${this.#name}/#` as TopicFilter,
      qos,
      noLocal: false,
      retainAsPublished: false,
      retainHandling: 0,
    } as const
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    client.subscribe({ subscriptions: [subscription], properties: undefined }, (response) => {
      timer.cancel()
      if (response instanceof Error) reject(response)
      else if (response.reasonCodes.some((code) => code >= reasonCodes.unspecifiedError))
        reject(new Error('the broker refused the subscription'))
      else resolve()
    })
    await promise
  }

  #takeMessage({ chunk, payloadStart, frameEnd }: PublishPacket): void {
    if (frameEnd - payloadStart >= timestampBytes)
      this.#recordLatency(performance.now() - chunk.readDoubleBE(payloadStart))
  }

  /** Each publisher has at most `window` unacknowledged messages. A rate applies to all publishers together. */
  async #publishUntil(startedMs: number, endMs: number): Promise<void> {
    const { rate } = this.#options
    let sent = 0
    while (performance.now() < endMs && this.#failed === 0) {
      const due = rate === undefined ? Number.POSITIVE_INFINITY : ((performance.now() - startedMs) / 1_000) * rate
      let hasSent = false
      for (const publisher of this.#publishers) {
        for (let count = 0; count < window && sent < due && this.#canPublish(publisher); count += 1) {
          this.#publish(publisher)
          sent += 1
          hasSent = true
        }
      }
      await (hasSent && rate === undefined ? nextTurn() : sleep(1))
    }
  }

  #canPublish({ client }: BenchClient): boolean {
    return client.pending < window && client.unsentBytes < maxUnsentBytes
  }

  #publish({ client, topic }: BenchClient): void {
    const { qos, payloadBytes, scenario } = this.#options
    const payload = Buffer.alloc(Math.max(timestampBytes, payloadBytes))
    const nowMs = performance.now()
    payload.writeDoubleBE(nowMs)
    client.publish({ topic, qos, retain: false, payload }, (result) => {
      if (result instanceof Error) return
      if (result.result === 'rejected') this.#fail(result.why)
      // At QoS 0 a publication counts when it is sent: there is no acknowledgement, and so no latency to measure.
      else if (scenario === 'publish') this.#recordLatency(qos === 0 ? 0 : performance.now() - nowMs)
    })
  }

  /** Opens connections until `endMs`. At most `clients` are open at one time: the oldest is closed for a new one. */
  async #openUntil(endMs: number): Promise<void> {
    const { clients, rate } = this.#options
    const startedMs = performance.now()
    const pending = new Set<Promise<void>>()
    let started = 0
    while (performance.now() < endMs && this.#failed < maxFailedConnections) {
      const due = rate === undefined ? Number.POSITIVE_INFINITY : ((performance.now() - startedMs) / 1_000) * rate
      while (pending.size < maxPendingConnections && started < due) {
        const opening: Promise<void> = this.#openOne(String(started), clients).finally(() => pending.delete(opening))
        pending.add(opening)
        started += 1
      }
      await (pending.size < maxPendingConnections ? sleep(1) : Promise.race(pending))
    }
    await Promise.all(pending)
  }

  async #openOne(name: string, clients: number): Promise<void> {
    const startedMs = performance.now()
    try {
      const opened = await this.#connect(name)
      this.#recordLatency(performance.now() - startedMs)
      this.#clients.push(opened)
      if (this.#clients.length <= clients) return
      const oldest = this.#clients.shift()
      oldest?.disconnect()
    } catch (error) {
      this.#fail(describeConnectionError(error as Error, trustOption))
    }
  }
}

const maxPendingConnections = 64
const maxFailedConnections = 100

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

function startTimer(delayMs: number, work: () => void): { cancel(): void } {
  const timer = setTimeout(work, delayMs)
  return { cancel: () => clearTimeout(timer) }
}
