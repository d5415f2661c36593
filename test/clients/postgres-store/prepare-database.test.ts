// A PostgreSQL is checked before it is used, and gets the tables of a cluster once.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from '../../e2e/godwit-process.ts'
import { prepareDatabase, type PrepareDatabaseOptions } from '../../../src/storage/postgres/prepare-database.ts'
import { parseStoreUrl, type StoreAddress } from '../../../src/storage/postgres/store-address.ts'
import { startReplicatedDatabase, startSingleDatabase, toUrl } from './replicated-database.ts'

const getDatabase = shared((t) => startReplicatedDatabase(t))

function toAddress(url: string): StoreAddress {
  const address = parseStoreUrl(url)
  assert.ok(!('problem' in address))
  return address
}

function createOptions(url: string, changes: Partial<PrepareDatabaseOptions> = {}): PrepareDatabaseOptions {
  return {
    address: toAddress(url),
    store: 0,
    stores: 1,
    shards: 3,
    clusterId: undefined,
    isReplicated: false,
    ...changes,
  }
}

describe('a database of a cluster', () => {
  test('gets its tables once from nodes that start at the same time, and keeps them', async () => {
    const { primary, url } = await getDatabase()
    const prepared = await Promise.all([1, 2, 3].map(() => prepareDatabase(createOptions(url))))
    assert.equal(new Set(prepared.map(({ clusterId }) => clusterId)).size, 1)
    const [first] = prepared
    assert.deepEqual(await prepareDatabase(createOptions(url, { clusterId: first?.clusterId })), first)
    const shards = await primary.query('SELECT shard, epoch, life FROM godwit.shards ORDER BY shard')
    assert.deepEqual(
      shards,
      [0, 1, 2].map((shard) => [shard, '0', null]),
    )
    const partitions = await primary.query(
      `SELECT relname, attstorage FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
        WHERE relname LIKE 'records__' AND relkind = 'r' AND attname = 'value' ORDER BY 1`,
    )
    assert.deepEqual(
      partitions,
      [0, 1, 2].map((shard) => [`records_${shard}`, 'e']),
    )
  })

  test('is refused with the reason when it is of another cluster, or the settings changed', async () => {
    const { url } = await getDatabase()
    const { clusterId } = await prepareDatabase(createOptions(url))
    const expectRefusal = async (changes: Partial<PrepareDatabaseOptions>, reason: RegExp): Promise<void> => {
      await assert.rejects(prepareDatabase(createOptions(url, changes)), reason)
    }
    await expectRefusal({ clusterId: '0123' }, new RegExp(`belongs to cluster ${clusterId}, not to 0123`))
    await expectRefusal({ shards: 4 }, /has 3 shards; cluster.shards is 4: .* set it to 3/)
    await expectRefusal({ store: 1, stores: 2 }, /is entry 0 of 1 databases; cluster.stores has it as entry 1 of 2/)
  })

  test('is refused when a newer Godwit has changed it', async () => {
    const { primary, url } = await getDatabase()
    await prepareDatabase(createOptions(url))
    await primary.query('UPDATE godwit.godwit_cluster SET encoding_level = 99')
    await assert.rejects(prepareDatabase(createOptions(url)), /records have level 99; .* use the newer Godwit/)
    await primary.query('UPDATE godwit.godwit_cluster SET encoding_level = 1, schema_version = 99')
    await assert.rejects(prepareDatabase(createOptions(url)), /tables have version 99; .* use the newer Godwit/)
    await primary.query('UPDATE godwit.godwit_cluster SET schema_version = 1')
  })

  test('is found among hosts that do not accept writes', async () => {
    const { primary, standby } = await getDatabase()
    await prepareDatabase(createOptions(toUrl(standby.port, primary.port)))
    await assert.rejects(
      prepareDatabase(createOptions(toUrl(standby.port))),
      new RegExp(`127.0.0.1:${standby.port}: the server is a standby`),
    )
  })

  test('is refused without the right to create its tables, and says which right is missing', async () => {
    const { primary } = await getDatabase()
    await primary.query('CREATE ROLE guest LOGIN', 'CREATE DATABASE other')
    const url = `postgres://guest@127.0.0.1:${primary.port}/other`
    await assert.rejects(prepareDatabase(createOptions(url)), /permission denied.*GRANT CREATE ON DATABASE/)
    await primary.query('GRANT CREATE ON DATABASE other TO guest')
    await prepareDatabase(createOptions(url))
  })

  test('needs a standby, unless the service below replicates, and must sync to disk', async (t) => {
    const single = await startSingleDatabase(t)
    const url = toUrl(single.port)
    await assert.rejects(prepareDatabase(createOptions(url)), /synchronous_standby_names is empty/)
    await prepareDatabase(createOptions(url, { isReplicated: true }))
    await single.kill()
    await single.start('fsync=off')
    await assert.rejects(prepareDatabase(createOptions(url, { isReplicated: true })), /fsync = off/)
  })
})
