// Opens the store of a shard: its part of the node's LevelDB, or its part of the PostgreSQL of a cluster.

import { join } from 'node:path'
import {
  openLevelStore,
  openPostgresStore,
  type ShardStopped,
  type StorageAlarm,
  type Store,
  type StoreClient,
} from '../../storage/index.ts'
import type { ShardStart } from '../messages/messages.ts'

export interface ShardStoreCallbacks {
  onAlarm(alarm: StorageAlarm): void
  onAlarmEnd(name: StorageAlarm['alarm']): void
  /** See `LevelStoreOptions.onReleased`. */
  onReleased(payloadIds: readonly number[]): void
  /** Nothing can be stored for now, with the reason; undefined: it can be stored again. */
  onTrouble(trouble: string | undefined): void
  /** This node is not the home of the shard any more: it must do nothing more. */
  onStopped(stopped: ShardStopped): void
}

/** `client`: access to the LevelDB of the node, which a shard of a cluster does not use. */
export function openShardStore(start: ShardStart, client: StoreClient, callbacks: ShardStoreCallbacks): Promise<Store> {
  const { shardNumber, shards = 1, clusterStore, dataDirectory, storage } = start
  if (clusterStore === undefined) {
    client.onTrouble = () => callbacks.onTrouble(client.trouble)
    return openLevelStore({
      directory: join(dataDirectory, 'store'),
      sync: storage.sync,
      syncIntervalMs: storage.syncIntervalMs,
      onAlarm: (alarm) => callbacks.onAlarm(alarm),
      onReleased: (payloadIds) => callbacks.onReleased(payloadIds),
      partition: { own: shardNumber, count: shards },
      client,
    })
  }
  const { address, isReplicated, life, epoch } = clusterStore
  return openPostgresStore({
    address,
    home: { shard: shardNumber, epoch, life },
    isReplicated,
    onAlarm: (alarm) => callbacks.onAlarm(alarm),
    onAlarmEnd: (name) => callbacks.onAlarmEnd(name),
    onReleased: (payloadIds) => callbacks.onReleased(payloadIds),
    onTrouble: (trouble) => callbacks.onTrouble(trouble),
    onStopped: (stopped) => callbacks.onStopped(stopped),
  })
}
