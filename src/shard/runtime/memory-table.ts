// Memory that shards hold for clients, in bytes by use, readable by every thread without a query: one row per shard, in the order
// of `memoryUses`.
//
//             topics | aliases | filters | ... | (padding to a cache line)
//   shard 0   81233  |   0     |  41200  |

import { memoryUses, type MemoryUse } from '../../core/index.ts'

const cacheLineBytes = 64
const rowBytes = Math.ceil((memoryUses.length * Float64Array.BYTES_PER_ELEMENT) / cacheLineBytes) * cacheLineBytes

/** Creates shared memory for the rows of `shards` shards. All values are zero. */
export function createMemoryTable(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer(shards * rowBytes)
}

/** Returns the row of a shard in a table of `createMemoryTable`. */
export function getMemoryRow(table: SharedArrayBuffer, shardNumber: number): Float64Array {
  return new Float64Array(table, shardNumber * rowBytes, memoryUses.length)
}

/** Returns the sums over all shards. */
export function readMemoryTable(table: SharedArrayBuffer): Record<MemoryUse, number> {
  const rows = Array.from({ length: table.byteLength / rowBytes }, (_, shard) => getMemoryRow(table, shard))
  const sums = memoryUses.map((use, column) => [use, rows.reduce((sum, row) => sum + row[column], 0)] as const)
  return Object.fromEntries(sums) as Record<MemoryUse, number>
}
