// The database of the node: kept by the main thread for all shards, and used by it for what concerns the whole node.

import { join } from 'node:path'
import { openLevelStore, openStoreKeeper, type Store, type StoreKeeper, StoreSeat } from '../../storage/index.ts'
import type { Alarms } from '../observe/alarms.ts'

export interface NodeStore {
  /** Lets shards in. */
  readonly keeper: StoreKeeper
  /** Of the main thread. It sees the records of all shards. */
  readonly own: Store
  /** After the shards have left. */
  close(): Promise<void>
}

/** Shards are numbered from 0: this is nobody's. */
const mainThreadNumber = 255

export interface NodeStoreOptions {
  readonly dataDirectory: string
  readonly shards: number
  readonly sync: 'commit' | 'interval' | 'never'
  readonly syncIntervalMs: number
  /** How long a session is kept whose record was lost and made anew. */
  readonly recoveredExpirySeconds: number
  readonly alarms: Alarms
}

/** Rejects with StorageFailure. */
export async function openNodeStore(options: NodeStoreOptions): Promise<NodeStore> {
  const { dataDirectory, shards, sync, syncIntervalMs, recoveredExpirySeconds, alarms } = options
  const directory = join(dataDirectory, 'store')
  const onAlarm = ({ alarm, text }: { alarm: string; text: string }): void => alarms.raise(alarm, text)
  const keeper = await openStoreKeeper({ directory, shards, recoveredExpirySeconds, onAlarm })
  const seat = new StoreSeat((request) => kept.note(request))
  const kept = keeper.seat((notice) => seat.note(notice))
  const own = await openLevelStore({ directory, sync, syncIntervalMs, onAlarm, shard: mainThreadNumber, seat })
  const close = async (): Promise<void> => {
    await own.close()
    await keeper.close()
  }
  return { keeper, own, close }
}
