import type { MemoryLevel, MemoryUse } from '../../core/index.ts'
import type { BridgeReport } from '../subjects/bridges/bridge-operations.ts'
import type { CounterName, LoopDelay, Histograms, ThreadMemory } from '../../telemetry/index.ts'

/** Metrics of the node, for the API. */
export interface MetricOperations {
  readonly nodeName: string
  /** Current values. Queries no shard: everything is in shared memory, and bridges report their state every second. */
  read(): NodeReading
  /** Values of this last period in milliseconds, oldest first. */
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

/** A certificate that the broker uses. */
export interface CertificateReading {
  /** User of the certificate: `listener ssl default`, `bridge north`. */
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
  readonly histograms: Histograms
}
