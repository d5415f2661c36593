// A PostgreSQL for a benchmark, with the store of one shard.

import { randomBytes } from 'node:crypto'
import {
  openPostgresStore,
  parseStoreUrl,
  prepareDatabase,
  type Store,
  type StoreAddress,
} from '../../src/storage/index.ts'
import {
  type DatabaseMember,
  startReplicatedDatabase,
  startSingleDatabase,
  toUrl,
} from '../../test/clients/postgres-store/replicated-database.ts'

export interface BenchStore {
  readonly store: Store
  readonly primary: DatabaseMember
  readonly address: StoreAddress
  /** Process of the server that writes the batches. */
  readonly findCommitBackend: () => Promise<number>
  close(): Promise<void>
}

/** Starts the servers with a new database. Without a standby, no other process uses the processors. */
export async function openBenchStore({ hasStandby }: { readonly hasStandby: boolean }): Promise<BenchStore> {
  const ends: (() => unknown)[] = []
  const scope = { after: (end: () => unknown) => void ends.push(end) }
  const primary = hasStandby ? (await startReplicatedDatabase(scope)).primary : await startSingleDatabase(scope)
  const address = parseStoreUrl(toUrl(primary.port))
  if ('problem' in address) throw new Error(address.problem)
  const isReplicated = !hasStandby
  await prepareDatabase({ address, store: 0, stores: 1, shards: 1, clusterId: undefined, isReplicated })
  const life = randomBytes(8).toString('hex')
  await primary.query(`UPDATE godwit.shards SET epoch = 1, life = '${life}'`)
  const store = await openPostgresStore({
    address,
    home: { shard: 0, epoch: 1, life },
    isReplicated,
    onAlarm: ({ text }) => console.log(text),
    onAlarmEnd: (alarm) => console.log(`${alarm} ended`),
    onStopped: ({ message }) => console.log(message),
  })
  return {
    store,
    primary,
    address,
    findCommitBackend: async () => {
      const text = `SELECT pid FROM pg_stat_activity WHERE application_name = 'godwit commit' ORDER BY backend_start LIMIT 1`
      return Number((await primary.query(text))[0]?.[0])
    },
    close: async () => {
      await store.close()
      for (const end of ends.toReversed()) await end()
    },
  }
}
