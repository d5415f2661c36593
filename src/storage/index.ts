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
export { accessKinds } from './encoding/access-record-bytes.ts'
export { adminKinds } from './encoding/admin-record-bytes.ts'
export { openMemoryStore } from './stores/memory-store.ts'
export { openLevelStore } from './stores/level-store.ts'
export type { LevelStoreOptions, SyncMode } from './stores/level-store-options.ts'
export {
  type QueueBounds,
  type QueuePart,
  readAllQueueBounds,
  readOldest,
  readQueue,
  readQueueBounds,
} from './queues/queue-reading.ts'
export { type PartRequest, QueueReaders } from './queues/queue-readers.ts'
export { formerShardsDone } from './payloads/payload-redistribution.ts'
export { type StoreConnection, openStoreOwner, type StoreOwner, type StoreOwnerOptions } from './stores/store-owner.ts'
export { claimShard, MembershipConnection } from './postgres/membership/membership-connection.ts'
export { openPostgresStore, type PostgresStore, type PostgresStoreOptions } from './postgres/postgres-store.ts'
export { prepareDatabase, type PreparedDatabase, type PrepareDatabaseOptions } from './postgres/prepare-database.ts'
export { formatStoreAddress, parseStoreUrl, type StoreAddress } from './postgres/store-address.ts'
export { ShardStopped } from './postgres/shard-writer.ts'
export { type StoreNotice, type StoreRequest, StoreClient } from './stores/store-client.ts'
