// The door of the storage room: what the core wants kept is kept, and nothing that was acknowledged is lost.

export type { QueueEntry, QueueRange, RecordRange, SessionRecordKind, StorageAlarm, Store } from './store.ts'
export { openMemoryStore } from './memory-store.ts'
export { type LevelStoreOptions, openLevelStore, type SyncMode } from './level-store.ts'
export {
  countBodyReferences,
  type QueueBounds,
  type QueuePart,
  readAllQueueBounds,
  readQueue,
  readQueueBounds,
} from './queue-reading.ts'
