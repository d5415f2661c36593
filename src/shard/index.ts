// Entry point of the module shard: what the main thread needs to start a shard. Importing it starts nothing; the thread
// starts with worker.ts.

export type * from './messages/bridge-assignment.ts'
export type * from './messages/gateway-plan.ts'
export type * from './messages/messages.ts'
export type * from './messages/query-types.ts'
export type { BridgeLink } from './bridges/bridge-dialer.ts'
export { shardEntry } from './entry.ts'
export { computeClockBaseMs, readClocks } from './runtime/clock.ts'
export { IdleGc, createThreadHeap, startIdleGc, computeTraffic } from './runtime/idle-gc.ts'
export { selectLargestUsers } from './queries/handle-query-memory.ts'
export { createMemoryTable, readMemoryTable } from './runtime/memory-table.ts'
export { createCrashMarker, CrashMarker, type CrashCandidate } from './store/crash-marker.ts'
export {
  createNamespaceTable,
  NamespaceTable,
  type NamespaceCounts,
  type NamespaceLimits,
  type OwnNamespaceLimits,
} from './runtime/namespace-table.ts'
export { dropCounters, dropReasons } from './observe/shard-counters.ts'
export { readClock } from './store/restore-records.ts'
