// The beginning and the end of a shard's thread.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { openLevelStore } from '../storage/index.ts'
import { Counters, ForwardingLog } from '../telemetry/index.ts'
import { ConnectionBudget, listenTcp, type Listener } from '../transports/index.ts'
import { Clock } from './clock.ts'
import type { NodeToShard, ShardListener, ShardStart, ShardToNode } from './messages.ts'
import { readClock, restoreBroker } from './restore.ts'
import { Shard } from './shard.ts'

/** Streams that do not end by themselves when the broker stops are cut off after this. */
const stopPatienceMs = 3_000

const identityBytes = 8

const start = workerData as ShardStart
const listeners: Listener[] = []
const counters = new Counters(start.counters, start.shardNumber)
const log = new ForwardingLog(start.logLevel, counters, (level, event, fields) =>
  post({ kind: 'log', level, event, fields }),
)

await run().catch((error: unknown) => {
  post({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
  process.exit(1)
})

async function run(): Promise<void> {
  let shard: Shard | undefined
  counters.clearGauges()
  const store = await openLevelStore({
    directory: join(start.dataDirectory, 'store'),
    sync: start.storage.sync,
    syncIntervalMs: start.storage.syncIntervalMs,
    onAlarm: ({ alarm, text }) => post({ kind: 'alarm', name: alarm, message: text }),
    onReleased: (bodyIds) => shard?.input({ kind: 'bodies-released', bodyIds }),
  })
  const clock = new Clock(await readClock(store))
  const identity = randomBytes(identityBytes).toString('hex')
  shard = new Shard({ start, store, clock, counters, log, identity, alarm, fail })
  await restoreBroker(store, shard.core, clock.nowMs())
  shard.input({ kind: 'tick' })
  await listen(shard)
  parentPort?.on('message', (message: NodeToShard) => {
    if (message.kind === 'settings') shard.changeSettings(message.core, message.access)
    else if (message.kind === 'stop') stop(shard, store).catch(fail)
  })
}

async function listen(shard: Shard): Promise<void> {
  const budget = new ConnectionBudget(start.maxConnections)
  for (const listener of start.listeners) listeners.push(await listenOn(shard, listener, budget))
  const open = start.listeners.map(({ name }, index) => ({
    name,
    host: listeners[index].host,
    port: listeners[index].port,
  }))
  post({ kind: 'ready', listeners: open })
}

function listenOn(shard: Shard, listener: ShardListener, budget: ConnectionBudget): Promise<Listener> {
  const { name, host, port, maxConnections } = listener
  return listenTcp({
    host,
    port,
    reusePort: listener.sharesPort,
    maxConnections,
    budget,
    onStream: (stream) => shard.accept(stream, listener),
    onRefused: (reason) => log.warn('connection refused', { listener: name, reason }),
    onFault: (error) => alarm('listener', `listener ${name} could not accept a connection: ${error.message}`),
  })
}

async function stop(shard: Shard, store: { close(): Promise<void> }): Promise<void> {
  await Promise.all(listeners.map((listener) => listener.close()))
  await shard.stop(stopPatienceMs)
  await store.close()
  post({ kind: 'stopped' })
}

function alarm(name: string, message: string): void {
  post({ kind: 'alarm', name, message })
}

/** Nothing that comes after a mistake of ours can be trusted: the thread ends, and the node starts it anew. */
function fail(error: unknown): void {
  setImmediate(() => {
    throw error
  })
}

function post(message: ShardToNode): void {
  parentPort?.postMessage(message)
}
