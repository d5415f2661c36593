// `godwit bench`: generates load for any broker, and reports rates and percentiles every second. The figures in README are from
// `npm run bench`, whose load generator needs less time per message.

import { packetTypes, reasonText } from '../../src/protocol/index.ts'
import { setTimeout as sleep } from 'node:timers/promises'
import { LatencyHistogram } from './latency-histogram.ts'
import { ProbeClient, type ProbeTarget, trustOption } from './probe-client.ts'
import {
  ackFrame,
  connectFrame,
  disconnectFrame,
  type Frame,
  type ProbeVersion,
  publishFrame,
  publishIn,
  subscribeFrame,
} from './wire.ts'
import { connectionErrorText } from '../../src/telemetry/index.ts'

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

export async function runBench(
  options: BenchOptions,
  onInterval: (interval: BenchInterval) => void,
): Promise<BenchResult | { readonly problem: string }> {
  const run = new BenchRun(options)
  try {
    await run.prepare()
  } catch (error) {
    run.close()
    return { problem: connectionErrorText(error as Error, trustOption) }
  }
  const result = await run.measure(onInterval)
  run.close()
  return result
}

interface BenchClient {
  readonly client: ProbeClient
  readonly topic: string
  /** Time of sending of each unacknowledged publication, by packet identifier. */
  readonly sentAtMs: Map<number, number>
  nextPacketId: number
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

  constructor(options: BenchOptions) {
    this.#options = options
  }

  async prepare(): Promise<void> {
    const { scenario, clients } = this.#options
    if (scenario === 'connect') {
      // One connection says at once whether the broker can be reached and lets the clients in.
      disconnect((await this.#connect('first')).client)
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
      p50: this.#total.percentileMs(0.5),
      p95: this.#total.percentileMs(0.95),
      p99: this.#total.percentileMs(0.99),
      max: this.#total.maxMs,
    }
    const perSecond = count / seconds
    return { scenario, clients, seconds, count, perSecond, latencyMs, failed: this.#failed, failure: this.#failure }
  }

  close(): void {
    this.#isClosed = true
    for (const { client } of [...this.#clients, ...this.#publishers]) disconnect(client)
  }

  #note(latencyMs: number): void {
    this.#total.note(latencyMs)
    this.#interval.note(latencyMs)
  }

  #fail(why: string): void {
    if (this.#isClosed) return
    this.#failed += 1
    this.#failure ??= why
  }

  async #connect(name: string): Promise<BenchClient> {
    const { target, version } = this.#options
    const client = await ProbeClient.open(target)
    const { username, password } = target
    client.send(connectFrame({ version, clientId: `${this.#name}-${name}`, username, password, keepAliveSeconds: 60 }))
    const connack = await nextFrame(client, packetTypes.connack)
    const code = connack.body[1] ?? 0
    if (code !== 0) throw new Error(`the broker refused the client: ${reasonText(code, version)}`)
    const opened = { client, topic: `${this.#name}/${name}`, sentAtMs: new Map<number, number>(), nextPacketId: 1 }
    client.onFrame = (frame) => this.#take(opened, frame)
    client.onClose = (error) =>
      this.#fail(error === undefined ? 'the broker closed a connection' : connectionErrorText(error, trustOption))
    return opened
  }

  async #subscribe({ client }: BenchClient): Promise<void> {
    const { version, qos } = this.#options
    const { onFrame } = client
    client.send(subscribeFrame(version, [[`${this.#name}/#`, qos]]))
    const suback = await nextFrame(client, packetTypes.suback)
    if ((suback.body.at(-1) ?? 0x80) >= 0x80) throw new Error('the broker refused the subscription')
    client.onFrame = onFrame
  }

  #take(from: BenchClient, frame: Frame): void {
    const { client, sentAtMs } = from
    const { type } = frame
    if (type === packetTypes.publish) return this.#takeMessage(client, frame)
    const packetId = frame.body.length >= 2 ? frame.body.readUInt16BE(0) : 0
    if (type === packetTypes.pubrec) return client.send(ackFrame(packetTypes.pubrel, packetId))
    if (type === packetTypes.pubrel) return client.send(ackFrame(packetTypes.pubcomp, packetId))
    if (type === packetTypes.disconnect)
      return this.#fail(`DISCONNECT with reason 0x${(frame.body[0] ?? 0).toString(16)}`)
    if (type !== packetTypes.puback && type !== packetTypes.pubcomp) return
    const sentMs = sentAtMs.get(packetId)
    sentAtMs.delete(packetId)
    if (this.#options.scenario === 'publish' && sentMs !== undefined) this.#note(performance.now() - sentMs)
  }

  #takeMessage(client: ProbeClient, frame: Frame): void {
    const message = publishIn(this.#options.version, frame)
    if (message === undefined) return this.#fail('the broker sent a malformed PUBLISH')
    if (message.payload.length >= timestampBytes) this.#note(performance.now() - message.payload.readDoubleBE(0))
    if (message.qos === 1) client.send(ackFrame(packetTypes.puback, message.packetId))
    if (message.qos === 2) client.send(ackFrame(packetTypes.pubrec, message.packetId))
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

  #canPublish({ client, sentAtMs }: BenchClient): boolean {
    return sentAtMs.size < window && client.unsentBytes < maxUnsentBytes
  }

  #publish(publisher: BenchClient): void {
    const { version, qos, payloadBytes, scenario } = this.#options
    const { client, topic, sentAtMs } = publisher
    const packetId = publisher.nextPacketId
    publisher.nextPacketId = packetId === 65_535 ? 1 : packetId + 1
    const payload = Buffer.alloc(Math.max(timestampBytes, payloadBytes))
    const nowMs = performance.now()
    payload.writeDoubleBE(nowMs)
    if (qos > 0) sentAtMs.set(packetId, nowMs)
    // At QoS 0 a publication counts when it is sent: there is no acknowledgement, and so no latency to measure.
    else if (scenario === 'publish') this.#note(0)
    client.send(publishFrame({ version, topic, payload, qos, packetId }))
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
      this.#note(performance.now() - startedMs)
      this.#clients.push(opened)
      if (this.#clients.length <= clients) return
      const oldest = this.#clients.shift()
      if (oldest !== undefined) disconnect(oldest.client)
    } catch (error) {
      this.#fail(connectionErrorText(error as Error, trustOption))
    }
  }
}

const maxPendingConnections = 64
const maxFailedConnections = 100

/** Sends DISCONNECT, and no longer counts the end of the connection as a failure. */
function disconnect(client: ProbeClient): void {
  client.onClose = () => {}
  client.end(disconnectFrame())
}

const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

/** Resolves with the next frame of this type. Rejects if the connection ends or no such frame arrives in time. */
function nextFrame(client: ProbeClient, type: number): Promise<Frame> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`the broker did not respond within ${responseTimeoutMs / 1_000} s`)),
      responseTimeoutMs,
    )
    client.onFrame = (frame) => {
      if (frame.type !== type) return
      clearTimeout(timer)
      resolve(frame)
    }
    client.onClose = (error) => {
      clearTimeout(timer)
      reject(error ?? new Error('the broker closed the connection'))
    }
  })
}
