// What each shard is started with: the configuration, and its part of what the machine has.

import { availableParallelism } from 'node:os'
import type { AccessSettings } from '../../access/index.ts'
import type { GodwitConfig } from '../../config/index.ts'
import {
  type BridgeAssignment,
  createCrashMarker,
  createMemoryTable,
  createNamespaceTable,
  type GatewayPlan,
  type RulePlan,
  type ShardListener,
  type ShardStart,
} from '../../shard/index.ts'
import { createCounterTable, createHistogramTable } from '../../telemetry/index.ts'
import { createDescriptorCounter } from '../../transports/index.ts'
import { createConnectionSlots } from './connection-slots.ts'
import { memoryLimitOf, roomForConnections } from '../data-dir/machine-limits.ts'
import { clientEventsTopic } from '../observe/sys-topics.ts'
import { logLevelOf } from '../observe/log-config.ts'

/** Of connections, for all listeners of a shard together. */
export type ConnectionLimits = Pick<ShardStart, 'maxConnections' | 'maxConnectionRate'>

/** What `limits` leaves of the `room` that the machine has; each shard lets in its share of what may come in a second. */
export function connectionLimitsOf({ limits }: GodwitConfig, room: number, shards: number): ConnectionLimits {
  const { maxConnections = Number.POSITIVE_INFINITY, maxConnectionRate } = limits
  return {
    maxConnections: Math.min(maxConnections, room),
    maxConnectionRate: maxConnectionRate === undefined ? undefined : maxConnectionRate / shards,
  }
}

export interface MemoryPlan {
  /** node.memory_limit */
  readonly limitBytes: number
  /** Of each thread's own heap, in MiB. */
  readonly maxHeapMb: number
  /** What shards hold for clients: see `createMemoryTable`. */
  readonly table: SharedArrayBuffer
}

export interface ShardPlan {
  /** One for each shard, in order. */
  readonly starts: readonly ShardStart[]
  /** Connections that the machine has room for. */
  readonly room: number
  readonly memory: MemoryPlan
  /** Shared counters of all shards. */
  readonly counters: SharedArrayBuffer
  /** Shared histograms of all shards. */
  readonly meters: SharedArrayBuffer
  /** How many descriptors connections may still take, for `DescriptorWatch`. */
  readonly descriptorRoom: SharedArrayBuffer
  /** What namespaces have and may have; undefined: nobody belongs to one. */
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

/** Their numbers stand in one byte of the store's keys, with room for the main thread's. */
const maxShards = 250
/**
 * So much of `node.memory_limit` may be the heap of one shard, as most of what is held may be held by one of them: that all
 * together keep to the limit is seen to by `MemoryWatch`. And each has at least so much.
 */
const heapShare = 0.75
const minHeapMb = 256
const bytesPerMb = 1_048_576

/** `node.shards`, or one for each core that this process may use. */
export function shardsOf(config: GodwitConfig): number {
  return config.node.shards ?? Math.min(availableParallelism(), maxShards)
}

export async function planShards(surroundings: ShardPlanInput): Promise<ShardPlan> {
  const { config, directory, listeners, bridges, brokerName, rules, gateways, access, clockBaseMs } = surroundings
  const shards = shardsOf(config)
  const counters = createCounterTable(shards)
  const meters = createHistogramTable(shards)
  const room = await roomForConnections()
  const memory = planMemory(config, shards)
  const maxUnsentBytes = config.maxUnsentBytesTotal ?? memory.limitBytes / 8
  const maxUnfinishedBytes = config.maxUnfinishedBytesTotal ?? memory.limitBytes / 8
  const connectionSlots = createConnectionSlots(shards)
  const descriptorRoom = createDescriptorCounter()
  const namespaceTable = config.namespaces === undefined ? undefined : createNamespaceTable(shards)
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
    ...connectionLimitsOf(config, room, shards),
    core: config.core,
    autoSubscriptions: config.autoSubscriptions,
    namespaces: config.namespaces,
    namespaceTable,
    clockBaseMs,
    storage: config.storage,
    access,
    maxPropertyBytes: config.maxPropertyBytes,
    maxUnsentBytesTotal: Math.floor(maxUnsentBytes / shards),
    maxUnfinishedBytesTotal: Math.floor(maxUnfinishedBytes / shards),
    memoryTable: memory.table,
    memoryPartBytes: Math.floor(memory.limitBytes / shards),
    connectionSlots,
    descriptorRoom,
    counters,
    histograms: meters,
    crashMarker: createCrashMarker(),
    logLevel: logLevelOf(config.log),
    clientEventsTopic: config.sysTopics.clientEvents ? clientEventsTopic(surroundings.nodeName) : undefined,
  }))
  return {
    starts,
    counters,
    meters,
    descriptorRoom,
    namespaceTable,
    room,
    memory,
  }
}

function planMemory(config: GodwitConfig, shards: number): MemoryPlan {
  const limitBytes = memoryLimitOf(config)
  const maxHeapMb = Math.max(minHeapMb, Math.floor((limitBytes * heapShare) / bytesPerMb))
  return { limitBytes, maxHeapMb, table: createMemoryTable(shards) }
}
