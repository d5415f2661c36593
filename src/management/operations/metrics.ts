import type { MemoryLevel, MemoryUse } from '../../core/index.ts'
import type { BridgeReport } from './bridges.ts'
import type { CounterName, LoopDelay, Histograms, ThreadMemory } from '../../telemetry/index.ts'

/** What the management asks of the node about how it does. */
export interface MetricOperations {
  readonly nodeName: string
  /** What holds now. Asks no shard: everything is in shared memory, and bridges tell every second how they are. */
  read(): NodeReading
  /** Of the last so many milliseconds, the oldest first. */
  history(ms: number): readonly MonitorPoint[]
}

/** A step of the history: gauges at its end, counts within it. */
export interface MonitorPoint {
  /** Wall clock, milliseconds since 1970. */
  readonly time_stamp: number
  readonly connections: number
  readonly sessions: number
  readonly topics: number
  readonly subscriptions: number
  readonly retained: number
  readonly received: number
  readonly sent: number
  readonly received_bytes: number
  readonly sent_bytes: number
  readonly dropped: number
}

/** What has a highest value. */
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

export interface NodeReading {
  readonly uptimeMs: number
  /** Of all shards together. */
  readonly counters: Readonly<Record<CounterName, number>>
  /** Of the whole process. */
  readonly memoryBytes: number
  /** node.memory_limit */
  readonly memoryLimitBytes: number
  /** How short the memory is. */
  readonly memoryLevel: MemoryLevel
  /** What is held for clients, in bytes by use: an estimate. */
  readonly memoryHeld: Readonly<Record<MemoryUse, number>>
  /** Of all processors of the machine. */
  readonly cpuPercent: number
  /** The highest values that were seen. */
  readonly highest: Readonly<Record<HighestName, number>>
  /** In a second, lately. */
  readonly rates: { readonly received: number; readonly sent: number; readonly dropped: number }
  readonly shards: readonly ShardReading[]
  /** How late the event loop of the main thread came. */
  readonly loopDelay: LoopDelay
  /** And what it has in use. */
  readonly memory: ThreadMemory
  readonly bridges: readonly BridgeReport[]
  readonly shardsRunning: number
  readonly shardRestarts: number
  readonly listeners: readonly ListenerReading[]
  /** Names of the alarms that hold. */
  readonly alarms: readonly string[]
  /** Under the data directory, lately; undefined: nobody knows. */
  readonly diskFreeBytes: number | undefined
  readonly certificates: readonly CertificateReading[]
  /** Whatever has a descriptor, and how many there may be; undefined: nobody knows. */
  readonly openFiles: { readonly count: number | undefined; readonly limit: number | undefined }
  /** Seconds since the start in which none could be opened. */
  readonly openFilesLackingSeconds: number
}

/** A certificate that the broker shows. */
export interface CertificateReading {
  /** Who shows it: `listener ssl default`, `bridge north`. */
  readonly of: string
  readonly file: string
  /** Wall clock. */
  readonly endsAtMs: number
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
  readonly meters: Histograms
}
