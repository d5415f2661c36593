// The door of the shard: what the main thread needs to know to start one. Importing it starts nothing; the thread's
// own beginning is worker.ts.

export type * from './bridge-plan.ts'
export type * from './messages.ts'
export type * from './questions.ts'
export type { BridgeLink } from './bridge-dialer.ts'
export { shardEntry } from './entry.ts'
export { clockBaseMs } from './clock.ts'
export { keepHeapTidy, ownHeap, trafficIn } from './idle-tidy.ts'
export { largestUsers } from './answering-memory.ts'
export { createMemoryTable, readMemoryTable } from './memory-table.ts'
export { createLoadMark, LoadMark, type Suspect } from './load-mark.ts'
export {
  createNamespaceTable,
  NamespaceTable,
  type NamespaceCounts,
  type NamespaceLimits,
  type OwnNamespaceLimits,
} from './namespace-table.ts'
export { dropCounters, dropReasons } from './shard-counters.ts'
export { readClock } from './restore.ts'
