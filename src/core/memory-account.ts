// What this core holds in memory for clients, in bytes by use. The figures are estimates that grow with what a client can make
// the broker hold: payloads, names and filters count with their bytes, objects with a constant. They decide nothing by
// themselves. The driver compares their sum, and what the process really takes, with the limit of the node and tells the core
// the level (`MemoryLevel`); handlers ask for the level where they would hold more.
//
//   handlers -- add(use, bytes) --> cells (one shard's row, readable by other threads) --> driver --> level --> handlers

/** A column each. */
export const memoryUses = ['topics', 'aliases', 'filters', 'sessions', 'queues', 'wills', 'retained', 'peers'] as const

export type MemoryUse = (typeof memoryUses)[number]

/**
 * `normal`: no restriction. `soft`: the largest users of each kind are refused more (0x97) or their reading is paused. `hard`:
 * new sessions and subscriptions are refused, and clean sessions' queues are dropped, oldest first.
 */
export type MemoryLevel = 'normal' | 'soft' | 'hard'

const columns = Object.fromEntries(memoryUses.map((use, column) => [use, column])) as Record<MemoryUse, number>

export class MemoryAccount {
  level: MemoryLevel = 'normal'
  /** By the order of `memoryUses`; may lie in shared memory. */
  readonly cells: Float64Array

  constructor(cells: Float64Array = new Float64Array(memoryUses.length)) {
    this.cells = cells
  }

  /** `bytes` may be negative: what was added before is given back. */
  add(use: MemoryUse, bytes: number): void {
    this.cells[columns[use]] += bytes
  }

  get(use: MemoryUse): number {
    return this.cells[columns[use]]
  }

  get totalBytes(): number {
    return this.cells.reduce((sum, bytes) => sum + bytes, 0)
  }
}
