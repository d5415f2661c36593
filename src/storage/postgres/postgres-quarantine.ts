// Damaged records in a table, for analysis.

import type { DamagedEntry, Quarantine } from '../damage/bad-records.ts'
import { ServerConnection } from './server-connection.ts'
import type { StoreAddress } from './store-address.ts'

/** Maximum number of records of a shard that are kept: space is more important than the evidence. */
const maxRecords = 10_000

export class PostgresQuarantine implements Quarantine {
  readonly name = 'the table quarantine of the database'
  readonly #address: StoreAddress
  readonly #shard: number

  constructor(address: StoreAddress, shard: number) {
    this.#address = address
    this.#shard = shard
  }

  async add(damaged: readonly DamagedEntry[]): Promise<void> {
    const connection = await ServerConnection.open({ address: this.#address, use: 'maintenance' })
    try {
      for (const { entry, reason } of damaged) {
        await connection.run({
          name: 'quarantine',
          text: `INSERT INTO quarantine (shard, key, value, reason) SELECT $1::integer, $2::bytea, $3::bytea, $4::text
            WHERE (SELECT count(*) FROM quarantine WHERE shard = $1) < ${maxRecords}`,
          values: [this.#shard, ...entry, reason],
        })
      }
    } finally {
      await connection.close()
    }
  }
}
