// Messages of the node about itself below `$SYS/brokers`, with the names of EMQX 4: at intervals, and for alarms. One
// shard publishes them for subscribers of all shards.

import type { BrokerMessage } from '../../shard/index.ts'
import { type CounterName, readCounters } from '../../telemetry/index.ts'
import type { Alarm } from './raised-alarms.ts'

export interface SysTopicsOptions {
  readonly nodeName: string
  readonly version: string
  readonly counters: SharedArrayBuffer
  /** 0: no messages at intervals. */
  readonly intervalMs: number
  publish(messages: readonly BrokerMessage[]): void
}

/** Minimum interval of the messages. */
const shortestIntervalMs = 1_000

/** Gauges. Each is published with its highest value at the end of an interval. */
const stats: readonly (readonly [topic: string, counter: CounterName])[] = [
  ['connections', 'connectionsOpen'],
  ['sessions', 'sessionsStored'],
  ['subscriptions', 'subscriptionsStored'],
  ['subscriptions/shared', 'sharedSubscriptionsStored'],
  ['subscribers', 'subscribersStored'],
  ['topics', 'topicsStored'],
  ['retained', 'retainedStored'],
]

const metrics: readonly (readonly [topic: string, counter: CounterName])[] = [
  ['bytes/received', 'bytesReceived'],
  ['bytes/sent', 'bytesSent'],
  ['packets/received', 'packetsReceived'],
  ['packets/sent', 'packetsSent'],
  ['messages/received', 'messagesReceived'],
  ['messages/sent', 'messagesSent'],
  ['messages/dropped', 'messagesDropped'],
]

/** Prefix of messages about the clients of a node. */
export function formatClientEventsTopic(nodeName: string): string {
  return `${formatTopic(nodeName)}/clients`
}

export class SysTopics {
  readonly #options: SysTopicsOptions
  readonly #topic: string
  readonly #startedAtMs: number
  readonly #highest: Map<string, number>
  #intervalMs: number
  #timer: NodeJS.Timeout | undefined

  constructor(options: SysTopicsOptions) {
    this.#options = options
    this.#topic = formatTopic(options.nodeName)
    this.#startedAtMs = performance.now()
    this.#highest = new Map()
    this.#intervalMs = options.intervalMs
    this.#timer = undefined
  }

  start(): void {
    const intervalMs = this.#intervalMs
    if (intervalMs === 0) return
    this.#publishAll()
    this.#timer = setInterval(() => this.#publishAll(), Math.max(intervalMs, shortestIntervalMs)).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  /** Publishes now, and then at the new interval. */
  changeInterval(intervalMs: number): void {
    this.stop()
    this.#intervalMs = intervalMs
    this.start()
  }

  /** Publishes that an alarm was raised or ended. The message is not retained, because the API returns active alarms. */
  publishAlarm(change: 'activate' | 'deactivate', { name, message, activatedAtMs, deactivatedAtMs }: Alarm): void {
    const payload = JSON.stringify({ name, message, activated_at: activatedAtMs, deactivated_at: deactivatedAtMs })
    this.#options.publish([{ topic: `${this.#topic}/alarms/${change}`, payload, retain: false }])
  }

  #publishAll(): void {
    const { nodeName, version, counters } = this.#options
    const sums = readCounters(counters)
    const messages: BrokerMessage[] = [{ topic: '$SYS/brokers', payload: nodeName, retain: true }]
    const add = (name: string, payload: string | number): void =>
      void messages.push({ topic: `${this.#topic}/${name}`, payload: String(payload), retain: true })
    add('version', version)
    add('sysdescr', 'Godwit MQTT broker')
    add('uptime', formatUptime(performance.now() - this.#startedAtMs))
    add('datetime', new Date().toISOString().slice(0, 19).replace('T', ' '))
    for (const [name, counter] of stats) {
      const highest = Math.max(sums[counter], this.#highest.get(name) ?? 0)
      this.#highest.set(name, highest)
      add(`stats/${name}/count`, sums[counter])
      add(`stats/${name}/max`, highest)
    }
    for (const [name, counter] of metrics) add(`metrics/${name}`, sums[counter])
    this.#options.publish(messages)
  }
}

function formatTopic(nodeName: string): string {
  return `$SYS/brokers/${nodeName}`
}

/** `2 days, 1 hours, 0 minutes, 5 seconds` */
function formatUptime(spanMs: number): string {
  const seconds = Math.floor(spanMs / 1_000)
  const parts = [
    [Math.floor(seconds / 86_400), 'days'],
    [Math.floor(seconds / 3_600) % 24, 'hours'],
    [Math.floor(seconds / 60) % 60, 'minutes'],
    [seconds % 60, 'seconds'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  return parts
    .slice(first === -1 ? 3 : first)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(', ')
}
