// Keeps the partition of a shard small. Queues leave deleted rows behind, which a read of the head of a queue would have to pass; autovacuum
// looks at a table once a minute. An open snapshot of another program keeps all of them, so that is an alarm.

import { StorageFailure } from '../store.ts'
import { getPartitionName } from './schema-statements.ts'
import { ServerConnection } from './server-connection.ts'
import type { ServerIdentity } from './server-checks.ts'
import type { StoreAddress } from './store-address.ts'

export interface PartitionUpkeepOptions {
  readonly address: StoreAddress
  readonly shard: number
  /** Deleted rows after which the partition is vacuumed. */
  readonly threshold: number
  /** Undefined: no server may be used now. */
  readonly getServer: () => ServerIdentity | undefined
  /** Called after each vacuum. Undefined: deleted rows can be removed. */
  readonly onSnapshot: (text: string | undefined) => void
  /** A vacuum failed; it is repeated. */
  readonly onFailure: (text: string) => void
}

/** More deleted rows than this multiple of the threshold that a vacuum could not remove are an alarm. */
const maxUnremovedThresholds = 2
const retryMs = 10_000

/** The oldest snapshot of others. Without the role pg_monitor, the server does not show those of other users. */
const oldestText = `SELECT holder FROM (
    SELECT format('process %s of user %s (%s, %s)', pid, usename, application_name, client_addr) AS holder, age(backend_xmin) AS age
      FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND backend_type <> 'autovacuum worker'
    UNION ALL SELECT format('replication slot %s', slot_name), age(coalesce(xmin, catalog_xmin))
      FROM pg_replication_slots WHERE coalesce(xmin, catalog_xmin) IS NOT NULL
    UNION ALL SELECT format('prepared transaction %s', gid), age(transaction) FROM pg_prepared_xacts
  ) AS holders ORDER BY age DESC LIMIT 1`

export class PartitionUpkeep {
  readonly #options: PartitionUpkeepOptions
  #deletedRows = 0
  #running: Promise<void> | undefined
  #retryTimer: NodeJS.Timeout | undefined
  #connection: ServerConnection | undefined
  #isClosed = false

  constructor(options: PartitionUpkeepOptions) {
    this.#options = options
  }

  /** Autovacuum is enough for rows that were replaced: sessions, positions, retained messages. */
  recordDeletes(rows: number): void {
    this.#deletedRows += rows
    if (this.#deletedRows >= this.#options.threshold) this.#start()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#retryTimer)
    this.#connection?.destroy()
    await this.#running
  }

  #start(): void {
    if (this.#running !== undefined || this.#retryTimer !== undefined || this.#isClosed) return
    this.#running = this.#runVacuum().finally(() => {
      this.#running = undefined
      this.recordDeletes(0)
    })
  }

  async #runVacuum(): Promise<void> {
    const { address, getServer, onFailure } = this.#options
    const server = getServer()
    const rows = this.#deletedRows
    try {
      if (server === undefined) throw new StorageFailure('the database cannot be reached')
      this.#connection = await ServerConnection.open({ address, host: server.host, use: 'maintenance' })
      this.#deletedRows = 0
      await this.#cleanPartition(this.#connection)
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error
      if (this.#isClosed) return
      this.#deletedRows += rows
      this.#retryTimer = setTimeout(() => {
        this.#retryTimer = undefined
        this.recordDeletes(0)
      }, retryMs).unref()
      if (server !== undefined)
        onFailure(`the partition of shard ${this.#options.shard} was not vacuumed: ${error.message}`)
    } finally {
      this.#connection?.destroy()
      this.#connection = undefined
    }
  }

  async #cleanPartition(connection: ServerConnection): Promise<void> {
    const { shard, threshold, onSnapshot } = this.#options
    const partition = getPartitionName(shard)
    await connection.run({ text: `VACUUM (TRUNCATE off, SKIP_LOCKED on) ${partition}` })
    const text = `SELECT n_dead_tup FROM pg_stat_user_tables WHERE relid = '${partition}'::regclass`
    const unremoved = Number((await connection.run({ text })).rows[0]?.[0])
    if (unremoved < maxUnremovedThresholds * threshold) return onSnapshot(undefined)
    const { rows } = await connection.run({ text: oldestText })
    const holder = rows[0]?.[0] ?? 'unknown; grant the role pg_monitor to the user of Godwit to see it'
    onSnapshot(
      `${unremoved} deleted rows of shard ${shard} cannot be removed, because an old snapshot of the database is open: ${String(holder)}. Queues become slower until it ends.`,
    )
  }
}
