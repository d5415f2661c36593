// Start parameters of each shard: the configuration, and its part of the machine's resources.

import { availableParallelism } from 'node:os'
import type { RulePlan } from '../../actions/index.ts'
import { type AccessSettings, createLoginTable } from '../../access/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import {
  type BridgeAssignment,
  createCrashMarker,
  createMemoryTable,
  createNamespaceTable,
  type GatewayPlan,
  type ShardListener,
  type ShardStart,
} from '../../shard/index.ts'
import { createCounterTable, createHistogramTable } from '../../telemetry/index.ts'
import { createDescriptorCounter } from '../../transports/index.ts'
import { createConnectionSlots } from './connection-slots.ts'
import { computeMemoryLimit, computeMaxConnections } from '../data-dir/machine-limits.ts'
import { formatClientEventsTopic } from '../observe/sys-topics.ts'
import { resolveLogLevel } from '../observe/log-config.ts'

/** Limits of all listeners of a shard together. */
export type ConnectionLimits = Pick<ShardStart, 'maxConnections' | 'maxConnectionRate'>

/** Returns the limits of a shard: each shard may accept its part of the connection rate. */
export function toConnectionLimits({ limits }: GodwitConfig, shards: number): ConnectionLimits {
  const { maxConnections = Number.POSITIVE_INFINITY, maxConnectionRate } = limits
  return {
    maxConnections,
    maxConnectionRate: maxConnectionRate === undefined ? undefined : maxConnectionRate / shards,
  }
}

export interface MemoryPlan {
  /** node.memory_limit */
  readonly limitBytes: number
  /** Maximum heap of each thread, in MiB. */
  readonly maxHeapMb: number
  /** Memory of shards for clients: see `createMemoryTable`. */
  readonly table: SharedArrayBuffer
}

export interface ShardPlan {
  /** One for each shard, in order. */
  readonly starts: readonly ShardStart[]
  /** Maximum number of connections that need a file descriptor, by the limit on open files. */
  readonly maxFileConnections: number
  readonly memory: MemoryPlan
  /** Shared counters of all shards. */
  readonly counters: SharedArrayBuffer
  /** Shared histograms of all shards. */
  readonly histograms: SharedArrayBuffer
  /** Number of file descriptors that are free for connections: `DescriptorMonitor` writes it. */
  readonly freeDescriptors: SharedArrayBuffer
  /** Counters and limits of namespaces; undefined: there are none. */
  readonly namespaceTable: SharedArrayBuffer | undefined
}

export interface ShardPlanInput {
  readonly config: GodwitConfig
  readonly directory: string
  readonly listeners: readonly ShardListener[]
  readonly bridges: readonly BridgeAssignment[]
  readonly brokerName: string
  readonly rules: RulePlan
  readonly gateways: GatewayPlan
  readonly access: AccessSettings
  readonly nodeName: string
  readonly clockBaseMs: number
}

/** A shard number is one byte in keys of the store, including that of the main thread. */
const maxShards = 250
/**
 * Part of `node.memory_limit` that the heap of one shard may use, because one shard may use most of the memory. `MemoryMonitor` enforces the
 * limit for all shards together. Each heap may have at least `minHeapMb`.
 */
const heapShare = 0.75
const minHeapMb = 256
const bytesPerMb = 1_048_576

/** The shards of the cluster, wherever they run; without a cluster `node.shards`, or one for each core that this process may use. */
export function resolveShardCount(config: GodwitConfig): number {
  if (config.cluster !== undefined) return config.cluster.shards
  return config.node.shards ?? Math.min(availableParallelism(), maxShards)
}

export async function planShards(input: ShardPlanInput): Promise<ShardPlan> {
  const { config, directory, listeners, bridges, brokerName, rules, gateways, access, clockBaseMs } = input
  // Each thread gets a part of the limits of the node. A node of a cluster may run all shards.
  const shards = resolveShardCount(config)
  const counters = createCounterTable(shards)
  const histograms = createHistogramTable(shards)
  const maxFileConnections = await computeMaxConnections()
  const memory = planMemory(config, shards)
  const maxUnsentBytes = config.maxUnsentBytesTotal ?? memory.limitBytes / 8
  const maxUnfinishedBytes = config.maxUnfinishedBytesTotal ?? memory.limitBytes / 8
  // All shards share these tables, because the limits apply to the node.
  const connectionSlots = createConnectionSlots(shards)
  const fileConnectionSlots = createConnectionSlots(shards)
  const freeDescriptors = createDescriptorCounter()
  const namespaceTable = config.namespaces === undefined ? undefined : createNamespaceTable(shards)
  const loginTable = createLoginTable()
  const starts = Array.from({ length: shards }, (_, shardNumber): ShardStart => ({
    shardNumber,
    shards,
    dataDirectory: directory,
    listeners,
    deniedAddresses: config.node.deniedAddresses,
    bridges,
    brokerName,
    rules,
    gateways,
    ...toConnectionLimits(config, shards),
    core: config.core,
    autoSubscriptions: config.autoSubscriptions,
    namespaces: config.namespaces,
    namespaceTable,
    loginTable,
    clockBaseMs,
    storage: config.storage,
    access,
    maxPropertyBytes: config.maxPropertyBytes,
    maxUnsentBytesTotal: Math.floor(maxUnsentBytes / shards),
    maxUnfinishedBytesTotal: Math.floor(maxUnfinishedBytes / shards),
    memoryTable: memory.table,
    memoryPartBytes: Math.floor(memory.limitBytes / shards),
    connectionSlots,
    maxFileConnections,
    fileConnectionSlots,
    freeDescriptors,
    counters,
    histograms,
    crashMarker: createCrashMarker(),
    logLevel: resolveLogLevel(config.log),
    clientEventsTopic: formatClientEventsTopic(input.nodeName),
    publishesClientEvents: config.sysTopics.clientEvents,
  }))
  return {
    starts,
    counters,
    histograms,
    freeDescriptors,
    namespaceTable,
    maxFileConnections,
    memory,
  }
}

function planMemory(config: GodwitConfig, shards: number): MemoryPlan {
  const limitBytes = computeMemoryLimit(config)
  const maxHeapMb = Math.max(minHeapMb, Math.floor((limitBytes * heapShare) / bytesPerMb))
  return { limitBytes, maxHeapMb, table: createMemoryTable(shards) }
}
