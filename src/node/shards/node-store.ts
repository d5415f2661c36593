// The database of the node. The main thread is the store owner, and also has a store client for records of the whole node.

import { join } from 'node:path'
import type { StorageConfig } from '../../config/index.ts'
import { openLevelStore, openStoreOwner, type Store, type StoreOwner, StoreClient } from '../../storage/index.ts'
import type { AlarmName } from '../../telemetry/index.ts'
import type { Alarms } from '../observe/raised-alarms.ts'
import { findLostDatabase } from '../data-dir/earlier-run.ts'
import { translateDeliveries } from './translate-deliveries.ts'
import { dataEntries } from '../data-dir/data-entries.ts'

export interface NodeStore {
  /** Opens, repairs and reopens the database, and lets shards open it. */
  readonly owner: StoreOwner
  /** Store client of the main thread. It reads the records of all shards. */
  readonly client: Store
  /** Closes the database. Call it after all shards have closed it. */
  close(): Promise<void>
}

/** Number of the main thread in place of a shard number. Shards are numbered from 0, and no shard has this number. */
export const mainThreadNumber = 255

export interface NodeStoreOptions extends StorageConfig {
  readonly dataDirectory: string
  readonly shards: number
  readonly alarms: Alarms
}

/** Opens the database. Rejects with StorageFailure. */
export async function openNodeStore(options: NodeStoreOptions): Promise<NodeStore> {
  const { dataDirectory, shards, sync, syncIntervalMs, recoveredExpirySeconds, alarms } = options
  const directory = join(dataDirectory, dataEntries.store)
  const onAlarm = ({ alarm, text }: { alarm: AlarmName; text: string }): void => alarms.raise(alarm, text)
  const loss = await findLostDatabase(dataDirectory)
  const owner = await openStoreOwner({ directory, shards, recoveredExpirySeconds, onAlarm })
  if (loss !== undefined) alarms.raise('batches-missing', loss)
  const storeClient = new StoreClient((request) => connection.handleRequest(request))
  const connection = owner.connectClient((notice) => storeClient.handleNotice(notice))
  const client = await openLevelStore({
    directory,
    sync,
    syncIntervalMs,
    onAlarm,
    shard: mainThreadNumber,
    client: storeClient,
  })
  if (owner.formerShards !== undefined) await translateDeliveries(client, { from: owner.formerShards, to: shards })
  const close = async (): Promise<void> => {
    await client.close()
    await owner.close()
  }
  return { owner, client, close }
}
