// Entry point of the module storage: durable records of the core.

export {
  type PayloadReferences,
  type QueueEntry,
  type QueueRange,
  ReadingInterrupted,
  type RecordRange,
  type SessionRecordKind,
  type StorageAlarm,
  StorageFailure,
  type Store,
} from './store.ts'
export { accessKinds } from './access-record-bytes.ts'
export { adminKinds } from './admin-record-bytes.ts'
export { openMemoryStore } from './memory-store.ts'
export { type LevelStoreOptions, openLevelStore, type SyncMode } from './level-store.ts'
export {
  type QueueBounds,
  type QueuePart,
  readAllQueueBounds,
  readOldest,
  readQueue,
  readQueueBounds,
} from './queue-reading.ts'
export { type PartRequest, QueueReaders } from './queue-readers.ts'
export { type StoreConnection, openStoreOwner, type StoreOwner, type StoreOwnerOptions } from './store-owner.ts'
export { type StoreNotice, type StoreRequest, StoreClient } from './store-client.ts'
