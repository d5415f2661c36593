// What each shard is started with: the configuration, and its part of what the machine has.

import { availableParallelism } from 'node:os'
import type { AccessSettings } from '../access/index.ts'
import type { GodwitConfig } from '../config/index.ts'
import {
  type BridgePlan,
  createLoadMark,
  createNamespaceTable,
  type ShardListener,
  type ShardStart,
} from '../shard/index.ts'
import { createCounterTable, createMeterTable } from '../telemetry/index.ts'
import { placesFor } from './shared-places.ts'
import { memoryBytes, roomForConnections } from './machine-limits.ts'
import { clientEventsTopic } from './sys-topics.ts'

export interface ShardPlan {
  /** One for each shard, in order. */
  readonly starts: readonly ShardStart[]
  /** Of each thread's own heap, in MiB. */
  readonly maxHeapMb: number
  /** Shared counters of all shards. */
  readonly counters: SharedArrayBuffer
  /** Shared histograms of all shards. */
  readonly meters: SharedArrayBuffer
  /** What namespaces have and may have; undefined: nobody belongs to one. */
  readonly namespaceTable: SharedArrayBuffer | undefined
}

export interface Surroundings {
  readonly config: GodwitConfig
  readonly directory: string
  readonly listeners: readonly ShardListener[]
  readonly bridges: readonly BridgePlan[]
  readonly nameAmongBridges: string
  readonly access: AccessSettings
  readonly nodeName: string
  readonly clockBaseMs: number
}

/** Their numbers stand in one byte of the store's keys, with room for the main thread's. */
const mostShards = 250
/** So much of the machine's memory may be heaps of shards, and each has at least so much. */
const heapShare = 0.75
const leastHeapMb = 512
const bytesPerMb = 1_048_576

/** `node.shards`, or one for each core that this process may use. */
export function shardsOf(config: GodwitConfig): number {
  return config.node.shards ?? Math.min(availableParallelism(), mostShards)
}

export async function planShards(surroundings: Surroundings): Promise<ShardPlan> {
  const { config, directory, listeners, bridges, nameAmongBridges, access, clockBaseMs } = surroundings
  const shards = shardsOf(config)
  const counters = createCounterTable(shards)
  const meters = createMeterTable(shards)
  const room = Math.min(config.limits.maxConnections ?? Number.POSITIVE_INFINITY, await roomForConnections())
  const maxUnsentBytes = config.maxUnsentBytesTotal ?? memoryBytes() / 8
  const places = placesFor(shards)
  const namespaceTable = config.namespaces === undefined ? undefined : createNamespaceTable(shards)
  const { maxConnectionRate } = config.limits
  const starts = Array.from({ length: shards }, (_, shardNumber) => ({
    shardNumber,
    shards,
    dataDirectory: directory,
    listeners,
    deniedAddresses: config.node.deniedAddresses,
    bridges,
    nameAmongBridges,
    maxConnectionRate: maxConnectionRate === undefined ? undefined : maxConnectionRate / shards,
    core: config.core,
    namespaces: config.namespaces,
    namespaceTable,
    clockBaseMs,
    storage: config.storage,
    access,
    maxPropertyBytes: config.maxPropertyBytes,
    maxUnsentBytesTotal: Math.floor(maxUnsentBytes / shards),
    maxConnections: room,
    places,
    counters,
    meters,
    loadMark: createLoadMark(),
    logLevel: config.log.level,
    clientEventsTopic: config.sysTopics.clientEvents ? clientEventsTopic(surroundings.nodeName) : undefined,
  }))
  return {
    starts,
    counters,
    meters,
    namespaceTable,
    maxHeapMb: Math.max(leastHeapMb, Math.floor((memoryBytes() * heapShare) / shards / bytesPerMb)),
  }
}
