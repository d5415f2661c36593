// A standby is promoted: one that has all batches, and one that lacks the last ones.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { put, readAll } from '../../storage/read-all.ts'
import { message, queued } from '../../storage/sample-records.ts'
import { eventually } from '../../e2e/eventually.ts'
import { PostgresStage } from './postgres-stage.ts'
import { type DatabaseMember, startReplicatedDatabase } from './replicated-database.ts'

async function setStandbys(server: DatabaseMember, names: string): Promise<void> {
  await server.query(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`, 'SELECT pg_reload_conf()')
}

async function readSequences(store: Parameters<typeof readAll>[0]): Promise<unknown[]> {
  const records = await readAll(store, { kind: 'queued', clientId: 'client' })
  return records.map((record) => (record.kind === 'queued' ? record.sequence : undefined))
}

describe('a home whose database gets another primary', () => {
  test('continues there, reports that no standby confirms, and refuses the former primary', async (context) => {
    const { primary, standby, url } = await startReplicatedDatabase(context, { setsByFile: true })
    const stage = await new PostgresStage(primary, url).prepare()
    const { store, shard, alarms, ended } = await stage.open(context)
    await store.commit(put(queued('client', 1)))
    await primary.kill()
    const committed = store.commit(put(queued('client', 2)))
    await standby.promote()
    await setStandbys(standby, '')
    await committed
    assert.deepEqual(await readSequences(store), [1, 2])
    const [unreplicated] = alarms
    assert.equal(unreplicated?.alarm, `store-unreplicated:${shard}`)
    assert.match(unreplicated.text, /from 2 on are on one server only/)
    // The former primary has an older timeline.
    await standby.kill()
    await primary.start()
    let isDurable = false
    const third = store.commit(put(queued('client', 3))).then(() => (isDurable = true))
    const refused = `SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'godwit commit'`
    await eventually(async () => assert.deepEqual(await primary.query(refused), [[0]]))
    assert.equal(isDurable, false)
    await standby.start()
    await third
    assert.deepEqual(await readSequences(store), [1, 2, 3])
    assert.deepEqual(ended, [])
  })

  test('stores the last batches again when the promoted standby lacks them', async (context) => {
    const { primary, standby, url } = await startReplicatedDatabase(context, { setsByFile: true })
    const stage = await new PostgresStage(primary, url).prepare()
    const { store, shard, alarms } = await stage.open(context)
    await store.commit(put(queued('client', 1)))
    await standby.kill()
    await setStandbys(primary, '')
    for (const sequence of [2, 3, 4]) await store.commit(put(queued('client', sequence)))
    await primary.kill()
    await standby.start()
    await standby.promote()
    await setStandbys(standby, '')
    await store.commit(put(queued('client', 5)))
    assert.deepEqual(await readSequences(store), [1, 2, 3, 4, 5])
    const wentBack = alarms.find(({ alarm }) => alarm === `store-went-back:${shard}`)
    assert.match(wentBack?.text ?? '', /it had lost batches 2 to 4 of shard \d+, which are stored again/)
  })

  test('stops when the promoted standby lacks more than is in memory', async (context) => {
    const { primary, standby, url } = await startReplicatedDatabase(context, { setsByFile: true })
    const stage = await new PostgresStage(primary, url).prepare()
    const { store, shard, alarms, stopped } = await stage.open(context)
    await store.commit(put(queued('client', 1)))
    await standby.kill()
    await setStandbys(primary, '')
    const payload = Buffer.alloc(5 * 1_024 * 1_024, 'x')
    for (const sequence of [2, 3, 4])
      await store.commit(put({ ...queued('client', sequence), message: message('t', '', { payload }) }))
    await primary.kill()
    const committed = store.commit(put(queued('client', 5)))
    await standby.start()
    await standby.promote()
    await setStandbys(standby, '')
    await assert.rejects(committed, /batches 2 to 4 of shard \d+ were confirmed; the database lost them/)
    assert.deepEqual(
      stopped.map(({ reason }) => reason),
      ['went-back'],
    )
    assert.match(alarms.find(({ alarm }) => alarm === `store-went-back:${shard}`)?.text ?? '', /is stopped/)
  })
})
