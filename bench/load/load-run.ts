// A closed loop: a publisher is at most a window of messages ahead of its slowest subscriber. The rate is therefore that of messages that arrive,
// not of messages that the broker accepts and drops. Publishers and subscribers are in one process, and every message is counted.

import {
  connectFrame,
  publishRing,
  subscribeFrame,
  type ProtocolVersion,
  type PublishRing,
  type QoS,
} from './frames.ts'
import { Latencies } from './latencies.ts'
import { LoadClient, type LoadClientOwner } from './load-client.ts'
import { cpuSeconds, residentKib } from './process-facts.ts'

export interface LoadOptions {
  readonly port: number
  /** For TLS: the trusted certificate authority, PEM. */
  readonly ca?: string
  readonly brokerPid: number | undefined
  readonly version: ProtocolVersion
  readonly qos: QoS
  readonly publishers: number
  readonly subscribers: number
  /** Publisher n publishes to topic n modulo `topics`; subscriber n subscribes to topic n modulo `topics`. */
  readonly topics: number
  /** Every subscriber subscribes to all topics with one filter instead. */
  readonly wildcard: boolean
  readonly payloadBytes: number
  /** The payload, instead of `payloadBytes` without meaning. */
  readonly payloadText?: string
  /** Messages that a publisher may be ahead of its subscribers. */
  readonly window: number
  /** Messages per second of all publishers together; 0 is as fast as the window allows. */
  readonly ratePerSecond: number
  /** Only with a rate that allows one write per message, say up to 20,000 a second. */
  readonly measuresLatency: boolean
  /** Subscribers have sessions that outlive their connections. */
  readonly persistent: boolean
  /** Further subscribers of the same topics that connect, subscribe and never read again. */
  readonly stalledReaders: number
  readonly warmSeconds: number
  readonly seconds: number
  /** Broker memory is sampled this often; 0: only at the end. */
  readonly memorySampleSeconds: number
}

export interface LoadResult {
  readonly publishedPerSecond: number
  readonly deliveredPerSecond: number
  /** PUBACK or PUBCOMP; 0 at QoS 0. */
  readonly acknowledgedPerSecond: number
  /** Undefined without `measuresLatency`. */
  readonly latencyMs:
    | { readonly p50: number; readonly p99: number; readonly p999: number; readonly longest: number }
    | undefined
  readonly lost: number
  readonly brokerCpuShare: number | undefined
  readonly brokerMemoryMib: number | undefined
  readonly memorySamplesMib: readonly number[]
}

const framesPerRing = 4_096
const noProgressMs = 10_000
const maxBytesWaiting = 1_048_576

class LoadRun implements LoadClientOwner {
  readonly options: LoadOptions
  readonly publishers: LoadClient[]
  readonly subscribers: LoadClient[]
  readonly rings: PublishRing[]
  /** Expected deliveries of each group of topics. With a wildcard there is one group. */
  readonly owed: number[]
  readonly fanOut: number[]
  readonly latencies: Latencies
  readonly look: LoadClientOwner['look']
  published: number
  totalDelivered: number
  totalAcknowledged: number
  ready: number
  failure: string | undefined
  turnPublisher: number

  constructor(options: LoadOptions) {
    this.options = options
    this.publishers = []
    this.subscribers = []
    this.rings = []
    this.fanOut = Array.from({ length: options.wildcard ? 1 : options.topics }, () => 0)
    this.owed = this.fanOut.map(() => 0)
    this.latencies = new Latencies()
    this.look = options.measuresLatency ? this.#measure.bind(this) : undefined
    this.published = 0
    this.totalDelivered = 0
    this.totalAcknowledged = 0
    this.ready = 0
    this.turnPublisher = 0
  }

  async connectAll(): Promise<void> {
    const { options } = this
    const reading = options.subscribers
    for (let index = 0; index < reading + options.stalledReaders; index++) {
      this.subscribers.push(this.#open(index))
      if (index < reading) this.fanOut[this.#groupOf(index)]++
    }
    await this.#untilReady(this.subscribers.length)
    for (const stalled of this.subscribers.slice(reading)) stalled.socket.pause()
    const { payloadText } = options
    const payload = payloadText === undefined ? Buffer.alloc(options.payloadBytes, 'x') : Buffer.from(payloadText)
    for (let index = 0; index < options.publishers; index++) {
      this.publishers.push(this.#open(this.subscribers.length + index))
      const topic = topicOf(index % options.topics)
      this.rings.push(publishRing({ version: options.version, topic, qos: options.qos, payload }, framesPerRing))
    }
    await this.#untilReady(this.subscribers.length + this.publishers.length)
  }

  #open(id: number): LoadClient {
    const { version, persistent, subscribers, stalledReaders, port, ca } = this.options
    const isSubscriber = id < subscribers + stalledReaders
    const client = new LoadClient(id, version, { host: '127.0.0.1', port, ca }, this)
    client.write(
      connectFrame({
        version,
        clientId: `load-${isSubscriber ? 's' : 'p'}${id}`,
        persistent: persistent && isSubscriber,
      }),
    )
    return client
  }

  connected(client: LoadClient): void {
    const { options } = this
    if (client.id >= options.subscribers + options.stalledReaders) {
      this.ready++
      return
    }
    const filters = [options.wildcard ? 'load/#' : topicOf(client.id % options.topics)]
    client.write(subscribeFrame({ version: options.version, packetId: 1, filters, qos: options.qos }))
  }

  subscribed(): void {
    this.ready++
  }

  delivered(client: LoadClient, messages: number): void {
    if (client.id >= this.options.subscribers) return
    this.totalDelivered += messages
    this.owed[this.#groupOf(client.id)] -= messages
  }

  acknowledged(client: LoadClient, messages: number): void {
    client.inflight -= messages
    this.totalAcknowledged += messages
  }

  failed(client: LoadClient, reason: string): void {
    // A broker may disconnect a client that does not read; the slow-reader benchmark measures this.
    if (client.id >= this.options.subscribers && client.id < this.subscribers.length) return
    this.failure ??= `client ${client.id}: ${reason}`
  }

  /** One turn of the loop: every publisher sends what its window or its rate allows, in one write. */
  pump(nowMs: number, startedMs: number): void {
    const { ratePerSecond, measuresLatency } = this.options
    const due =
      ratePerSecond > 0 ? Math.floor(((nowMs - startedMs) / 1_000) * ratePerSecond) - this.published : Infinity
    if (measuresLatency) {
      for (let left = due; left > 0; left--) this.#sendTimed(nowMs)
      return
    }
    const share = Math.floor(due / this.publishers.length)
    for (let index = 0; index < this.publishers.length; index++) this.#sendUpTo(index, share)
  }

  #sendUpTo(index: number, most: number): void {
    const group = this.#groupOf(index)
    const client = this.publishers[index]
    if (client.socket.writableLength > maxBytesWaiting) return
    const count = Math.min(this.#roomFor(client, group), most, framesPerRing / 2)
    if (count <= 0) return
    const ring = this.rings[index]
    const from = client.ringPosition * ring.frameBytes
    client.write(ring.bytes.subarray(from, from + count * ring.frameBytes))
    client.ringPosition = (client.ringPosition + count) % ring.size
    this.#count(client, group, count)
  }

  /** Without a connected subscriber, only acknowledgements limit the rate. */
  #roomFor(client: LoadClient, group: number): number {
    const { window, qos } = this.options
    const fan = this.fanOut[group]
    const untilFull = fan === 0 ? Infinity : Math.floor((window * fan - this.owed[group]) / fan)
    return qos > 0 ? Math.min(untilFull, window - client.inflight) : untilFull
  }

  #sendTimed(nowMs: number): void {
    const index = this.turnPublisher
    const client = this.publishers[index]
    const ring = this.rings[index]
    const from = client.ringPosition * ring.frameBytes
    const frame = Buffer.from(ring.bytes.subarray(from, from + ring.frameBytes))
    frame.writeDoubleLE(nowMs, ring.payloadOffset)
    client.write(frame)
    client.ringPosition = (client.ringPosition + 1) % ring.size
    this.#count(client, this.#groupOf(index), 1)
    this.turnPublisher = (index + 1) % this.publishers.length
  }

  #count(client: LoadClient, group: number, messages: number): void {
    this.published += messages
    this.owed[group] += messages * this.fanOut[group]
    if (this.options.qos > 0) client.inflight += messages
  }

  #measure(client: LoadClient, bytes: Buffer, payloadStart: number): void {
    if (client.id < this.options.subscribers) this.latencies.add(performance.now() - bytes.readDoubleLE(payloadStart))
  }

  #groupOf(index: number): number {
    return this.options.wildcard ? 0 : index % this.options.topics
  }

  async #untilReady(expected: number): Promise<void> {
    let seen = this.ready
    let seenAtMs = performance.now()
    while (this.ready < expected) {
      await nextTurn()
      if (this.failure !== undefined) throw new Error(this.failure)
      if (this.ready > seen) [seen, seenAtMs] = [this.ready, performance.now()]
      if (performance.now() - seenAtMs > noProgressMs)
        throw new Error(`${this.ready} of ${expected} clients are ready, and no more come`)
    }
  }
}

/** Connects, warms up, measures, lets everything arrive, and disconnects. Throws an Error with a sentence when a client is refused or nothing arrives. */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const run = new LoadRun(options)
  try {
    await run.connectAll()
    return await measure(run)
  } finally {
    for (const client of [...run.publishers, ...run.subscribers]) client.close()
  }
}

async function measure(run: LoadRun): Promise<LoadResult> {
  const { options } = run
  const startedMs = performance.now()
  await runUntil(run, startedMs, startedMs + options.warmSeconds * 1_000)
  run.latencies.clear()
  const before = {
    published: run.published,
    delivered: run.totalDelivered,
    acknowledged: run.totalAcknowledged,
    cpu: cpuSeconds(options.brokerPid),
    atMs: performance.now(),
  }
  const memorySamplesMib: number[] = []
  const stopSampling = sampleMemory(options, memorySamplesMib)
  await runUntil(run, startedMs, before.atMs + options.seconds * 1_000)
  stopSampling()
  const elapsed = (performance.now() - before.atMs) / 1_000
  const after = {
    published: run.published,
    delivered: run.totalDelivered,
    acknowledged: run.totalAcknowledged,
    cpu: cpuSeconds(options.brokerPid),
  }
  const lost = await drain(run)
  return {
    publishedPerSecond: (after.published - before.published) / elapsed,
    deliveredPerSecond: (after.delivered - before.delivered) / elapsed,
    acknowledgedPerSecond: (after.acknowledged - before.acknowledged) / elapsed,
    latencyMs: options.measuresLatency ? latencyOf(run.latencies) : undefined,
    lost,
    brokerCpuShare:
      before.cpu === undefined || after.cpu === undefined ? undefined : (after.cpu - before.cpu) / elapsed,
    brokerMemoryMib: inMib(residentKib(options.brokerPid)),
    memorySamplesMib,
  }
}

async function runUntil(run: LoadRun, startedMs: number, endMs: number): Promise<void> {
  const arrived = (): number => run.totalDelivered + run.totalAcknowledged
  let seen = arrived()
  let seenAtMs = performance.now()
  for (;;) {
    const nowMs = performance.now()
    if (nowMs >= endMs) return
    run.pump(nowMs, startedMs)
    await nextTurn()
    if (run.failure !== undefined) throw new Error(run.failure)
    if (arrived() > seen) [seen, seenAtMs] = [arrived(), nowMs]
    if (nowMs - seenAtMs > noProgressMs)
      throw new Error(`nothing arrived for ${noProgressMs / 1_000} s; ${run.totalDelivered} had`)
  }
}

/** Waits for the expected messages. If no message arrives for five seconds, the missing ones count as lost. */
async function drain(run: LoadRun): Promise<number> {
  const owed = (): number => run.owed.reduce((sum, one) => sum + one, 0)
  let seen = owed()
  let seenAtMs = performance.now()
  while (owed() > 0 && performance.now() - seenAtMs < 5_000 && run.failure === undefined) {
    await nextTurn()
    if (owed() < seen) [seen, seenAtMs] = [owed(), performance.now()]
  }
  return owed()
}

function sampleMemory(options: LoadOptions, samplesMib: number[]): () => void {
  if (options.memorySampleSeconds === 0) return () => {}
  const timer = setInterval(
    () => samplesMib.push(inMib(residentKib(options.brokerPid)) ?? 0),
    options.memorySampleSeconds * 1_000,
  )
  return () => clearInterval(timer)
}

function latencyOf(latencies: Latencies): LoadResult['latencyMs'] {
  const [p50, p99, p999] = [0.5, 0.99, 0.999].map((share) => latencies.percentileMs(share))
  return { p50, p99, p999, longest: latencies.maxMs }
}

function inMib(kib: number | undefined): number | undefined {
  return kib === undefined ? undefined : kib / 1_024
}

/** All of one length, so that a run of frames is a run of equal steps. */
function topicOf(index: number): string {
  return `load/site${index % 10}/device${String(index).padStart(4, '0')}/temperature`
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
