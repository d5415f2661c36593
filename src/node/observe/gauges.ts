// Measures the node once per second: processor, memory, rates, and maximums. All values come from shared memory or the
// system: no shard is queried.

import { availableParallelism } from 'node:os'
import {
  type CounterName,
  type LoopDelay,
  readThreadMemory,
  readCounters,
  type ThreadMemory,
  monitorLoop,
} from '../../telemetry/index.ts'

/** Metrics with a recorded maximum. */
export type HighestName =
  | 'connections'
  | 'sessions'
  | 'topics'
  | 'subscribers'
  | 'subscriptions'
  | 'sharedSubscriptions'
  | 'retained'
  | 'memoryBytes'
  | 'cpuPercent'

const intervalMs = 1_000
/** Rates are averages of this number of intervals. */
const rateIntervals = 10
const usPerMs = 1_000

const highestCounters: readonly (readonly [HighestName, CounterName])[] = [
  ['connections', 'connectionsOpen'],
  ['sessions', 'sessionsStored'],
  ['topics', 'topicsStored'],
  ['subscribers', 'subscribersStored'],
  ['subscriptions', 'subscriptionsStored'],
  ['sharedSubscriptions', 'sharedSubscriptionsStored'],
  ['retained', 'retainedStored'],
]

interface Sample {
  readonly atMs: number
  readonly received: number
  readonly sent: number
  readonly dropped: number
}

export interface GaugeReading {
  readonly counters: Record<CounterName, number>
  readonly memoryBytes: number
  readonly cpuPercent: number
  readonly highest: Readonly<Record<HighestName, number>>
  readonly rates: { readonly received: number; readonly sent: number; readonly dropped: number }
  readonly loopDelay: LoopDelay
  /** Memory of the main thread. */
  readonly memory: ThreadMemory
}

export class Gauges {
  readonly #counters: SharedArrayBuffer
  readonly #highest: Record<HighestName, number>
  readonly #samples: Sample[] = []
  #memoryBytes = 0
  #cpu = { atMs: performance.now(), usage: process.cpuUsage() }
  #cpuPercent = 0
  #loopDelay: LoopDelay = { meanSeconds: 0, p99Seconds: 0, maxSeconds: 0 }
  #timer: NodeJS.Timeout | undefined = undefined
  #endLoopWatch = (): void => {}

  constructor(counters: SharedArrayBuffer) {
    this.#counters = counters
    this.#highest = {
      connections: 0,
      sessions: 0,
      topics: 0,
      subscribers: 0,
      subscriptions: 0,
      sharedSubscriptions: 0,
      retained: 0,
      memoryBytes: 0,
      cpuPercent: 0,
    }
  }

  /** `onSample`: called after each second. */
  start(onSample: () => void): void {
    this.#endLoopWatch = monitorLoop((delay) => (this.#loopDelay = delay))
    this.#timer = setInterval(() => {
      this.read()
      this.#recordSample()
      onSample()
    }, intervalMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#endLoopWatch()
  }

  read(): GaugeReading {
    const counters = readCounters(this.#counters)
    const memoryBytes = this.#measureMemory()
    const cpuPercent = this.#measureCpu()
    for (const [name, counter] of highestCounters) this.#raise(name, counters[counter])
    this.#raise('memoryBytes', memoryBytes)
    this.#raise('cpuPercent', cpuPercent)
    const { loopDelay, rates } = { loopDelay: this.#loopDelay, rates: this.#computeRates(counters) }
    const memory = readThreadMemory()
    return { counters, memoryBytes, cpuPercent, highest: this.#highest, rates, loopDelay, memory }
  }

  #raise(name: HighestName, value: number): void {
    if (value > this.#highest[name]) this.#highest[name] = value
  }

  /** The system provides it in a file: without a free descriptor the last value is used. */
  #measureMemory(): number {
    try {
      this.#memoryBytes = process.memoryUsage.rss()
    } catch {
      // A value that is some seconds old is sufficient.
    }
    return this.#memoryBytes
  }

  /** Over at least a second: over less, the measurement itself would dominate. */
  #measureCpu(): number {
    const nowMs = performance.now()
    const passedMs = nowMs - this.#cpu.atMs
    if (passedMs < intervalMs && this.#cpuPercent > 0) return this.#cpuPercent
    const usage = process.cpuUsage(this.#cpu.usage)
    const usedMs = (usage.user + usage.system) / usPerMs
    this.#cpuPercent = Math.min(100, (usedMs / Math.max(passedMs, 1) / availableParallelism()) * 100)
    this.#cpu = { atMs: nowMs, usage: process.cpuUsage() }
    return this.#cpuPercent
  }

  #recordSample(): void {
    this.#samples.push(toSample(readCounters(this.#counters)))
    if (this.#samples.length > rateIntervals) this.#samples.shift()
  }

  #computeRates(counters: Record<CounterName, number>): GaugeReading['rates'] {
    const now = toSample(counters)
    const then = this.#samples[0]
    const seconds = then === undefined ? 0 : (now.atMs - then.atMs) / 1_000
    if (then === undefined || seconds <= 0) return { received: 0, sent: 0, dropped: 0 }
    const computeRate = (to: number, from: number): number => Math.max(0, Math.round((to - from) / seconds))
    return {
      received: computeRate(now.received, then.received),
      sent: computeRate(now.sent, then.sent),
      dropped: computeRate(now.dropped, then.dropped),
    }
  }
}

function toSample({ messagesReceived, messagesSent, messagesDropped }: Record<CounterName, number>): Sample {
  return { atMs: performance.now(), received: messagesReceived, sent: messagesSent, dropped: messagesDropped }
}
