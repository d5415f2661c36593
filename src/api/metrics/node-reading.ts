// The current values of all metrics of the node.

import type { MemoryLevel, MemoryUse } from '../../core/index.ts'
import type { CertificateReading, HighestName } from '../../node/index.ts'
import type { BridgeReport } from '../../shard/index.ts'
import {
  counterCells,
  type CounterName,
  Counters,
  listHistograms,
  type Histograms,
  type LoopDelay,
  type ThreadMemory,
} from '../../telemetry/index.ts'
import type { ApiContext } from '../context/api-context.ts'

export interface NodeReading {
  readonly uptimeMs: number
  /** Sums over all shards. */
  readonly counters: Readonly<Record<CounterName, number>>
  /** Memory of the whole process. */
  readonly memoryBytes: number
  /** node.memory_limit */
  readonly memoryLimitBytes: number
  /** Memory level. */
  readonly memoryLevel: MemoryLevel
  /** Memory for clients, in bytes by use: an estimate. */
  readonly memoryHeld: Readonly<Record<MemoryUse, number>>
  /** Use of all processors of the machine together. */
  readonly cpuPercent: number
  /** Recorded maximums. */
  readonly highest: Readonly<Record<HighestName, number>>
  /** Recent rates per second. */
  readonly rates: { readonly received: number; readonly sent: number; readonly dropped: number }
  readonly shards: readonly ShardReading[]
  /** Delay of the main thread's event loop. */
  readonly loopDelay: LoopDelay
  /** Memory of the main thread. */
  readonly memory: ThreadMemory
  readonly bridges: readonly BridgeReport[]
  readonly shardsRunning: number
  readonly shardRestarts: number
  readonly listeners: readonly ListenerReading[]
  /** Names of active alarms. */
  readonly alarms: readonly string[]
  /** Recent free space of the data directory; undefined: unknown. */
  readonly diskFreeBytes: number | undefined
  readonly certificates: readonly CertificateReading[]
  /** Open file descriptors and their limit; undefined: unknown. */
  readonly openFiles: { readonly count: number | undefined; readonly limit: number | undefined }
  /** Seconds since the start in which no file could be opened. */
  readonly openFilesLackingSeconds: number
}

/** One listener of the node, over all shards. */
export interface ListenerReading {
  /** `kind:name` */
  readonly listener: string
  readonly connections: number
  readonly accepted: number
  readonly refused: number
}

export interface ShardReading {
  readonly connections: number
  readonly histograms: Histograms
}

type Dependencies = Pick<
  ApiContext,
  'counters' | 'histograms' | 'startedAtMs' | 'alarms' | 'supervisor' | 'listeners' | 'bridges' | 'observation'
>

/** Returns a function that reads all values. It queries no shard: everything is in shared memory, and bridges report their state every second. */
export function createNodeReader(node: Dependencies): () => NodeReading {
  const { startedAtMs, alarms, supervisor, listeners, bridges, observation } = node
  const { gauges, resources, descriptors, memory } = observation
  const rows = listHistograms(node.histograms).map((histograms, shard) => ({
    histograms,
    counters: new Counters(node.counters, shard),
  }))
  return () => ({
    ...gauges.read(),
    memoryLimitBytes: memory.watch.limitBytes,
    memoryLevel: memory.watch.level,
    memoryHeld: memory.readMemoryUse(),
    uptimeMs: performance.now() - startedAtMs,
    shards: rows.map(({ histograms, counters }) => ({
      histograms,
      connections: counters.get(counterCells.connectionsOpen),
    })),
    listeners: listeners.listStates().map(({ listener, connections, accepted, refused }) => ({
      listener: `${listener.kind}:${listener.name}`,
      connections,
      accepted,
      refused,
    })),
    bridges: bridges.latest,
    shardsRunning: supervisor.running,
    shardRestarts: supervisor.restarts,
    alarms: alarms.listActive().map(({ name }) => name),
    diskFreeBytes: resources.diskFreeBytes,
    certificates: resources.certificates,
    openFiles: descriptors.open,
    openFilesLackingSeconds: descriptors.lackingSeconds,
  })
}
