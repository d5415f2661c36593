// Where a shard's clients come in: each listener opened by the function of its kind, and what becomes known at the doors.

import assert from 'node:assert/strict'
import type { QuicConfig, WebSocketConfig } from '../config/index.ts'
import type { Log } from '../telemetry/index.ts'
import {
  type ByteStream,
  ConnectionBudget,
  ConnectionRate,
  type DoorRefusal,
  type Listener,
  listenQuic,
  listenTcp,
  listenTls,
  listenWebSocket,
  type QuicCredentials,
  readQuicCredentials,
  TlsGate,
} from '../transports/index.ts'
import type { ShardListener } from './messages.ts'
import { RefusalLog } from './refusal-log.ts'

export interface ListeningWorld {
  /** The number of the shard. */
  readonly own: number
  /** Shared by all listeners of the shard. */
  readonly budget: ConnectionBudget
  /** New connections of all listeners of the shard together; undefined: no limit. */
  readonly rate: ConnectionRate | undefined
  readonly log: Log
  accept(stream: ByteStream, listener: ShardListener): void
  /** Somebody was turned away; for the counter. */
  noteRefused(): void
  alarm(name: string, message: string): void
  alarmOver(name: string, message: string): void
}

const fullAlarmIntervalMs = 60_000

/** Opens all of them. Rejects with a sentence for the operator where one cannot be opened. */
export async function openListeners(listeners: readonly ShardListener[], world: ListeningWorld): Promise<Listener[]> {
  const refusals = new RefusalLog(world.log)
  const full = new FullAlarm(world)
  const opened: Listener[] = []
  for (const listener of listeners) opened.push(await openListener(listener, world, { refusals, full }))
  return opened
}

function openListener(
  listener: ShardListener,
  world: ListeningWorld,
  { refusals, full }: { readonly refusals: RefusalLog; readonly full: FullAlarm },
): Promise<Listener> {
  const { kind, name, host, port, maxConnectionRate, accessRules, proxyProtocol } = listener
  const refuse = (reason: DoorRefusal, why?: string): void => {
    world.noteRefused()
    refusals.note({ listener: `${kind}:${name}`, reason, why })
    if (reason === 'no-room') full.raise()
  }
  const rates = [...(maxConnectionRate === undefined ? [] : [new ConnectionRate(maxConnectionRate)]), world.rate]
  const options = {
    host,
    port,
    reusePort: listener.sharesPort,
    ...limitsOf(listener, world),
    rates: rates.filter((rate) => rate !== undefined),
    accessRules,
    proxyProtocol,
    onStream: (stream: ByteStream) => world.accept(stream, listener),
    onRefused: refuse,
    onFault: (error: Error) =>
      world.alarm('listener', `listener ${kind} ${name} could not accept a connection: ${error.message}`),
  }
  switch (kind) {
    case 'tcp':
      return listenTcp(options)
    case 'ssl':
      return listenTls({ ...options, gate: gateOf(listener, world, refuse) })
    case 'ws':
      return listenWebSocket({ ...options, ...webSocketOf(listener) })
    case 'wss':
      return listenWebSocket({ ...options, ...webSocketOf(listener), tls: gateOf(listener, world, refuse) })
    case 'quic':
      return listenQuic({ ...options, ...quicOf(listener) })
    default:
      return kind satisfies never
  }
}

/** The listener's own name in logs and errors: `wss plant`. */
function wordsOf({ kind, name }: ShardListener): string {
  return `listener ${kind} ${name}`
}

function webSocketOf(listener: ShardListener): WebSocketConfig & { readonly isLoopback: boolean } {
  assert(listener.webSocket !== undefined, `${wordsOf(listener)} has WebSocket settings`)
  return { ...listener.webSocket, isLoopback: listener.isLoopback }
}

function quicOf(listener: ShardListener): QuicConfig & { readonly credentials: QuicCredentials } {
  assert(listener.quic !== undefined && listener.tls !== undefined, `${wordsOf(listener)} has QUIC settings`)
  const reading = readQuicCredentials(listener.tls)
  // The main thread has tried the same files just now, and said it by the name of the setting.
  if ('problem' in reading) throw new Error(`${wordsOf(listener)}: ${reading.problem.message}`)
  return { ...listener.quic, credentials: reading.credentials }
}

/** Where several shards listen on one port the listener's limit is counted by all of them together. */
function limitsOf(
  { maxConnections, places }: ShardListener,
  { budget, own }: ListeningWorld,
): { readonly maxConnections: number | undefined; readonly budget: ConnectionBudget } {
  if (maxConnections === undefined || places === undefined) return { maxConnections, budget }
  const ofListener = { places: { cells: places, own }, within: budget, refusal: 'listener-full' } as const
  return { maxConnections: undefined, budget: new ConnectionBudget(maxConnections, ofListener) }
}

function gateOf(
  { kind, name, tls, ticketSecret }: ShardListener,
  world: ListeningWorld,
  refuse: (reason: DoorRefusal, why: string) => void,
): TlsGate {
  if (tls === undefined || ticketSecret === undefined)
    throw new Error(`listener ${kind} ${name}: it has no TLS settings`)
  const opening = TlsGate.open({
    settings: tls,
    name,
    ticketSecret,
    onProblem: (problem) => {
      // Every shard reads the same files: one of them says it.
      if (world.own !== 0) return
      const files = `listener ${kind} ${name}: what stands in the files`
      if (problem === undefined) world.alarmOver('certificates', `${files} is in order again and in force`)
      else world.alarm('certificates', `${files} is not taken: ${problem.message}`)
    },
    onRefused: ({ address }, why) => refuse('bad-beginning', `${address}: ${why}`),
  })
  // The main thread has tried the same files just now, and said it by the name of the setting.
  if ('problem' in opening) throw new Error(`listener ${kind} ${name}: ${opening.problem.message}`)
  return opening.gate
}

/** At most once in a while: whoever is turned away comes again at once. */
class FullAlarm {
  readonly #world: ListeningWorld
  #toldAtMs = -Infinity

  constructor(world: ListeningWorld) {
    this.#world = world
  }

  raise(): void {
    const nowMs = performance.now()
    if (nowMs - this.#toldAtMs < fullAlarmIntervalMs) return
    this.#toldAtMs = nowMs
    const { budget } = this.#world
    this.#world.alarm(
      'connections',
      `all ${budget.limit} connections are taken and more are turned away; raise limits.max_connections or the open-file limit`,
    )
  }
}
