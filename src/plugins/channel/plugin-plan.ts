// The plugins of a node, as the main thread sends them to the shards. Plain data.

import type { HookName } from '../manifest/plugin-manifest.ts'

/** Filters of the manifest and of the settings: of each list that is not empty, an entry must match. */
export interface PluginFilters {
  readonly topics: readonly (readonly string[])[]
  readonly clients: readonly (readonly string[])[]
  readonly listeners: readonly (readonly string[])[]
}

export interface PlannedPlugin {
  readonly name: string
  /** Number of the process that gets the calls; 0: it has none now. */
  readonly process: number
  /** It cannot start: its hooks fail without a call. */
  readonly isSuspended: boolean
  readonly hooks: readonly HookName[]
  readonly filters: PluginFilters
  readonly timeoutMs: number
  readonly onFailure: 'ignore' | 'deny'
  readonly maxFailures: number
  readonly retryAfterMs: number
  /** The part of this shard. */
  readonly maxPending: number
  /** From `createPluginCounters`: each shard writes its own row. */
  readonly counters: SharedArrayBuffer
}

/** In the order of their hooks. */
export type PluginPlan = readonly PlannedPlugin[]

/** Cells of a row. */
export const pluginCells = { calls: 0, failures: 1, pending: 2 } as const
export const pluginCellCount = 3

export function createPluginCounters(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer(shards * pluginCellCount * Float64Array.BYTES_PER_ELEMENT)
}

/** Returns the row of a shard, which only that shard writes. */
export function readPluginRow(counters: SharedArrayBuffer, shard: number): Float64Array {
  return new Float64Array(counters, shard * pluginCellCount * Float64Array.BYTES_PER_ELEMENT, pluginCellCount)
}

/** Returns the sum of all shards. */
export function sumPluginCell(counters: SharedArrayBuffer, cell: keyof typeof pluginCells): number {
  const cells = new Float64Array(counters)
  let sum = 0
  for (let at = pluginCells[cell]; at < cells.length; at += pluginCellCount) sum += cells[at]
  return sum
}
