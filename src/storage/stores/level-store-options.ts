// Options of the store on disk.

import type { SyncConfig } from '../../config/index.ts'
import type { ShardPlace } from '../../core/index.ts'
import type { StorageAlarm } from '../store.ts'
import type { StoreClient } from './store-client.ts'

export type SyncMode = SyncConfig['sync']

/**
 * `sync`: when committed changes are synced: before `commit` resolves, at an interval, or when the operating system does it.
 * `syncIntervalMs`: maximum time from a commit until it is durable, for `sync: 'interval'`.
 */
export interface LevelStoreOptions extends SyncConfig {
  /** Directory of the database only. Created if missing. Quarantine files are next to it. */
  readonly directory: string
  readonly onAlarm: (alarm: StorageAlarm) => void
  /** Without `client`: session expiry of recreated sessions; none is recreated if absent. */
  readonly recoveredExpirySeconds?: number
  /**
   * Called with each reference to a shared payload that was deleted with a session, some time after the commit that
   * ended it.
   */
  readonly onReleased?: (payloadIds: readonly number[]) => void
  /** Number for batches and generations, 0 to 255. Default: that of `partition`, or 0. */
  readonly shard?: number
  /** The shard, and the number of shards: only its records are read. All records if absent. */
  readonly partition?: ShardPlace | undefined
  /** Several stores of the process share the database, and the store owner opens it. If absent, this store opens it. */
  readonly client?: StoreClient
  /** Calls back once after the delay. Default: the timers of the process. */
  readonly setTimer?: SetTimer
}

export type SetTimer = (delayMs: number, callback: () => void) => void

/** Returns the number of the store for batches and generations. */
export function getShardNumber({ shard, partition }: LevelStoreOptions): number {
  return shard ?? partition?.own ?? 0
}

/** Calls back once after the delay. The timer does not keep the process alive. */
export function startTimer({ setTimer }: LevelStoreOptions, delayMs: number, callback: () => void): void {
  if (setTimer === undefined) setTimeout(callback, delayMs).unref()
  else setTimer(delayMs, callback)
}
