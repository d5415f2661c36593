// Stores of shards in a PostgreSQL, without nodes. Each test takes a shard of its own.

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import {
  openPostgresStore,
  parseStoreUrl,
  type PostgresStore,
  type PostgresStoreOptions,
  prepareDatabase,
  type ShardStopped,
  type StorageAlarm,
  type StoreAddress,
} from '../../../src/storage/index.ts'
import type { DatabaseMember } from './replicated-database.ts'

const shards = 64

export function toAddress(url: string): StoreAddress {
  const address = parseStoreUrl(url)
  assert.ok(!('problem' in address), url)
  return address
}

export interface Opened {
  readonly store: PostgresStore
  readonly shard: number
  readonly alarms: StorageAlarm[]
  /** Alarms that ended. */
  readonly ended: string[]
  /** Reasons and recoveries, in order. */
  readonly trouble: (string | undefined)[]
  readonly stopped: ShardStopped[]
  readonly released: number[]
}

/** The database of a file of tests. */
export class PostgresStage {
  readonly primary: DatabaseMember
  readonly #url: string
  #next = 0

  constructor(primary: DatabaseMember, url: string) {
    this.primary = primary
    this.#url = url
  }

  async prepare(isReplicated = false): Promise<this> {
    const address = toAddress(this.#url)
    await prepareDatabase({ address, store: 0, stores: 1, shards, clusterId: undefined, isReplicated })
    return this
  }

  /** Returns the number of a shard that no other test uses. */
  takeShard(): number {
    assert.ok(this.#next < shards, 'too many shards')
    return this.#next++
  }

  /** Makes a life the home of a shard, and opens its store. It is closed at the end of the test. */
  async open(
    context: TestContext,
    options: Partial<PostgresStoreOptions> & { readonly shard?: number } = {},
  ): Promise<Opened> {
    const shard = options.shard ?? this.takeShard()
    const life = randomBytes(8).toString('hex')
    const [row] = await this.primary.query(
      `UPDATE godwit.shards SET epoch = epoch + 1, life = '${life}', attempt = 0 WHERE shard = ${shard} RETURNING epoch`,
    )
    const opened = { shard, alarms: [], ended: [], trouble: [], stopped: [], released: [] } satisfies Omit<
      Opened,
      'store'
    >
    const { alarms, ended, trouble, stopped, released } = opened as Omit<Opened, 'store'>
    const store = await openPostgresStore({
      address: toAddress(this.#url),
      home: { shard, epoch: Number(row?.[0]), life },
      isReplicated: false,
      onAlarm: (alarm) => alarms.push(alarm),
      onAlarmEnd: (alarm) => ended.push(alarm),
      onReleased: (payloadIds) => released.push(...payloadIds),
      onTrouble: (why) => trouble.push(why),
      onStopped: (reason) => stopped.push(reason),
      ...options,
    })
    context.after(() => store.close())
    return { ...opened, store }
  }
}
