// What a home does when it does not know whether a batch is stored, or when the database is not the one that confirmed it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StorageFailure } from '../../../src/storage/index.ts'
import { ServerConnection } from '../../../src/storage/postgres/server-connection.ts'
import { PartitionUpkeep } from '../../../src/storage/postgres/partition-upkeep.ts'
import { eventually } from '../../e2e/eventually.ts'
import { shared } from '../../e2e/godwit-process.ts'
import { put, readAll } from '../../storage/read-all.ts'
import { queued } from '../../storage/sample-records.ts'
import { Relay } from '../relay.ts'
import { PostgresStage, toAddress } from './postgres-stage.ts'
import { type DatabaseMember, startReplicatedDatabase, toUrl } from './replicated-database.ts'

const getDatabase = shared(async (t) => {
  const database = await startReplicatedDatabase(t)
  return { ...database, stage: await new PostgresStage(database.primary, database.url).prepare() }
})

/** Returns the processes that wait for the standby. */
async function untilWaiting(primary: DatabaseMember): Promise<void> {
  const text = `SELECT count(*)::int FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
  await eventually(async () => assert.deepEqual(await primary.query(text), [[1]]))
}

async function readSequences(store: Parameters<typeof readAll>[0]): Promise<unknown[]> {
  const records = await readAll(store, { kind: 'queued', clientId: 'client' })
  return records.map((record) => (record.kind === 'queued' ? record.sequence : undefined))
}

describe('a home', () => {
  test('waits for the standby without limit, and takes that for no failure', async (context) => {
    const { stage, primary, standby } = await getDatabase()
    const { store, trouble } = await stage.open(context)
    await store.commit(put(queued('client', 1)))
    await standby.kill()
    let isDurable = false
    const committed = store.commit(put(queued('client', 2))).then(() => (isDurable = true))
    await untilWaiting(primary)
    // The store looks at a slow statement after 5 s.
    const probes = `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'godwit commit' AND state = 'active'
      AND clock_timestamp() - query_start > '6 s'`
    await eventually(async () => assert.deepEqual(await primary.query(probes), [[1]]))
    assert.equal(isDurable, false)
    await standby.start('synchronous_standby_names=*')
    await committed
    assert.deepEqual(trouble, [undefined])
    assert.deepEqual(await readSequences(store), [1, 2])
  })

  for (const [how, text] of [
    ['is cancelled', 'pg_cancel_backend(pid)'],
    ['ends with its process', 'pg_terminate_backend(pid)'],
  ] as const) {
    test(`takes a batch for unknown when the wait for the standby ${how}`, async (context) => {
      const { stage, primary, standby } = await getDatabase()
      const { store, trouble, shard } = await stage.open(context)
      await store.commit(put(queued('client', 1)))
      await standby.kill()
      let isDurable = false
      const committed = store.commit(put(queued('client', 2))).then(() => (isDurable = true))
      await untilWaiting(primary)
      await primary.query(`SELECT ${text} FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
      // The attempt waits for the standby as well.
      await eventually(() => assert.equal(trouble.length, 2))
      await untilWaiting(primary)
      assert.equal(isDurable, false)
      await standby.start('synchronous_standby_names=*')
      await committed
      assert.deepEqual(await readSequences(store), [1, 2])
      const row = await primary.query(`SELECT sequence, attempt FROM godwit.shards WHERE shard = ${shard}`)
      assert.deepEqual(row, [['2', '2']], 'it was not written again')
    })
  }

  test('makes a statement ineffective that arrives after the connection was lost', async (context) => {
    const { stage, primary } = await getDatabase()
    const relay = await Relay.start(context, primary.port)
    const { store, shard, trouble } = await stage.open(context, { address: toAddress(toUrl(relay.port)) })
    await store.commit(put(queued('client', 1)))
    const blocker = await ServerConnection.open({ address: toAddress(toUrl(primary.port)), use: 'maintenance' })
    context.after(() => blocker.close())
    await blocker.run({ text: 'BEGIN' })
    await blocker.run({ text: `SELECT 1 FROM shards WHERE shard = ${shard} FOR UPDATE` })
    const committed = store.commit(put(queued('client', 2)))
    const locked = `SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
    await eventually(async () => assert.deepEqual(await primary.query(locked), [[1]]))
    await relay.set('refusing')
    await eventually(() => assert.ok(trouble.length > 1))
    await relay.set('forwarding')
    await eventually(async () => assert.deepEqual(await primary.query(locked), [[1]]))
    await blocker.run({ text: 'COMMIT' })
    await committed
    await store.commit(put(queued('client', 3)))
    assert.deepEqual(await readSequences(store), [1, 2, 3])
    const row = await primary.query(`SELECT sequence FROM godwit.shards WHERE shard = ${shard}`)
    assert.deepEqual(row, [['3']])
  })

  test('stops when another home has the shard, and none of its batches has an effect', async (context) => {
    const { stage, primary } = await getDatabase()
    const { store, shard, stopped } = await stage.open(context)
    await store.commit(put(queued('client', 1)))
    const successor = await stage.open(context, { shard })
    await assert.rejects(store.commit(put(queued('client', 2))), /epoch \d+ of shard \d+ belongs to life/)
    await assert.rejects(store.commit(put(queued('client', 3))), /belongs to life/)
    assert.deepEqual(
      stopped.map(({ reason }) => reason),
      ['replaced'],
    )
    await successor.store.commit(put(queued('client', 4)))
    assert.deepEqual(await readSequences(successor.store), [1, 4])
    assert.equal((await primary.query(`SELECT 1 FROM godwit.shards WHERE shard = ${shard}`)).length, 1)
  })

  test('continues an interrupted read of a queue after the server process of the read ended', async (context) => {
    const { stage, primary } = await getDatabase()
    const { store } = await stage.open(context)
    await store.commit(put(...Array.from({ length: 1_000 }, (_, sequence) => queued('client', sequence))))
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'godwit read'`
    const read = async (): Promise<void> => {
      for await (const slice of store.readQueue({ kind: 'queued', clientId: 'client' })) {
        assert.ok(slice.length > 0)
        await primary.query(end)
      }
    }
    await assert.rejects(read(), StorageFailure)
    assert.equal((await readSequences(store)).length, 1_000)
  })

  test('refuses a connection pool between it and the database', async (context) => {
    const { stage, primary } = await getDatabase()
    // A pool has a process number of its own (BackendKeyData: K, length 12, process, key).
    const relay = await Relay.start(context, primary.port, () => (chunk) => {
      const at = chunk.indexOf(Buffer.from([0x4b, 0, 0, 0, 12]))
      if (at >= 0) chunk.writeUInt32BE(1, at + 5)
      return chunk
    })
    const address = toAddress(toUrl(relay.port))
    await assert.rejects(ServerConnection.open({ address, use: 'commit' }), /a connection pool is in between/)
    assert.ok(stage.takeShard() > 0)
  })

  test('reports a snapshot of others that keeps deleted rows', async (context) => {
    const { stage, primary } = await getDatabase()
    const { store, shard } = await stage.open(context)
    const records = Array.from({ length: 400 }, (_, sequence) => queued('client', sequence))
    const holder = await ServerConnection.open({ address: toAddress(toUrl(primary.port)), use: 'maintenance' })
    context.after(() => holder.close())
    const found: (string | undefined)[] = []
    const upkeep = new PartitionUpkeep({
      address: toAddress(toUrl(primary.port)),
      shard,
      threshold: 100,
      getServer: () => holder.server,
      onSnapshot: (text) => found.push(text),
      onFailure: (text) => assert.fail(text),
    })
    context.after(() => upkeep.close())
    await store.commit(put(...records))
    await holder.run({ text: 'BEGIN ISOLATION LEVEL REPEATABLE READ' })
    await holder.run({ text: `SELECT 1` })
    await store.commit([{ change: 'delete-session', clientId: 'client' }])
    const gone = records.map((record) => ({ change: 'delete', key: record }) as const)
    await store.commit(put(...records.map((record) => ({ ...record, clientId: 'other' }))))
    await store.commit(gone.map(({ key }) => ({ change: 'delete', key: { ...key, clientId: 'other' } }) as const))
    upkeep.recordDeletes(800)
    await eventually(() => assert.equal(found.length, 1))
    assert.match(found[0] ?? '', /\d+ deleted rows of shard \d+ cannot be removed.*process \d+ of user godwit/)
    await holder.run({ text: 'COMMIT' })
    upkeep.recordDeletes(800)
    await eventually(() => assert.equal(found.length, 2))
    assert.equal(found[1], undefined)
  })
})
