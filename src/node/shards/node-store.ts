// The database of the node: owned by the main thread for all shards, and used by it for the whole node.

import { join } from 'node:path'
import { openLevelStore, openStoreOwner, type Store, type StoreOwner, StoreClient } from '../../storage/index.ts'
import type { AlarmName } from '../../telemetry/index.ts'
import type { Alarms } from '../observe/alarms.ts'

export interface NodeStore {
  /** Admits shards. */
  readonly owner: StoreOwner
  /** Of the main thread. It sees the records of all shards. */
  readonly client: Store
  /** After the shards have closed it. */
  close(): Promise<void>
}

/** Shards are numbered from 0: no shard has this number. */
export const mainThreadNumber = 255

export interface NodeStoreOptions {
  readonly dataDirectory: string
  readonly shards: number
  readonly sync: 'commit' | 'interval' | 'never'
  readonly syncIntervalMs: number
  /** Session expiry of recreated sessions. */
  readonly recoveredExpirySeconds: number
  readonly alarms: Alarms
}

/** Rejects with StorageFailure. */
export async function openNodeStore(options: NodeStoreOptions): Promise<NodeStore> {
  const { dataDirectory, shards, sync, syncIntervalMs, recoveredExpirySeconds, alarms } = options
  const directory = join(dataDirectory, 'store')
  const onAlarm = ({ alarm, text }: { alarm: AlarmName; text: string }): void => alarms.raise(alarm, text)
  const owner = await openStoreOwner({ directory, shards, recoveredExpirySeconds, onAlarm })
  const storeClient = new StoreClient((request) => kept.handleRequest(request))
  const kept = owner.storeClient((notice) => storeClient.handleNotice(notice))
  const client = await openLevelStore({
    directory,
    sync,
    syncIntervalMs,
    onAlarm,
    shard: mainThreadNumber,
    client: storeClient,
  })
  const close = async (): Promise<void> => {
    await client.close()
    await owner.close()
  }
  return { owner, client, close }
}
