// A block that becomes unreadable while the database is in use loses its records, and none after it.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StorageFailure } from '../../src/storage/index.ts'
import { invalidateBlocks, checkTable } from '../../src/storage/damage/table-check.ts'
import { LevelDatabase } from '../../src/storage/database/level-database.ts'
import { createKindRange } from '../../src/storage/encoding/record-keys.ts'
import { LevelStage } from './level-stage.ts'
import { put, readAll } from './read-all.ts'
import { queued } from './sample-records.ts'

const count = 2_000

for (const direction of ['forward', 'backward'] as const) {
  test(`reading ${direction} continues after it`, async (context) => {
    const stage = new LevelStage(context)
    await fillOneTable(stage)
    await makeOneBlockUnreadable(stage.directory)
    const database = await LevelDatabase.open(stage.directory)
    const errors: Error[] = []
    const keys: string[] = []
    const range = { ...createKindRange('queued'), reverse: direction === 'backward' }
    for await (const slice of database.readSlices(range, (error) => errors.push(error))) {
      for (const [key] of slice) keys.push(key.toString('hex'))
    }
    await database.close()
    assert.equal(errors.length, 1)
    assert.equal(new Set(keys).size, keys.length, 'no key is read twice')
    assert.ok(keys.length < count && keys.length > count - 100, `${keys.length} of ${count} are read`)
    const sequences = keys.map((key) => Number.parseInt(key.slice(-8), 16))
    assert.equal(Math.min(...sequences), 0)
    assert.equal(Math.max(...sequences), count - 1)
  })
}

test('a read that reaches it raises an alarm at once, and the next open checks every table', async (context) => {
  const stage = new LevelStage(context)
  await fillOneTable(stage)
  const store = await stage.open()
  await makeOneBlockUnreadable(stage.directory)
  for (let again = 0; again < 2; again++) {
    const found = await readAll(store, { kind: 'queued' })
    assert.ok(found.length < count && found.length > count - 100, `${found.length} of ${count} are left`)
  }
  assert.equal(stage.alarms.length, 1)
  assert.match(stage.alarms[0]?.text ?? '', /A part of the database in .* cannot be read: .* Restart the broker/)
  await store.close()
  const seal: unknown = JSON.parse(readFileSync(join(stage.directory, 'SEAL'), 'utf8'))
  assert.deepEqual(seal, { state: 'open', openings: 3 })
})

test('a commit that fails because of it succeeds after reopening, which repairs the database', async (context) => {
  const stage = new LevelStage(context)
  await fillOneTable(stage)
  const store = await stage.open()
  await makeOneBlockUnreadable(stage.directory)
  const sameDatabase = await LevelDatabase.open(stage.directory)
  // LevelDB reaches the block by itself when it merges tables. After that it refuses writes.
  await sameDatabase.compact()
  await sameDatabase.close()
  const batch = put(queued('new', 1))
  await assert.rejects(store.commit(batch), StorageFailure)
  assert.deepEqual(stage.alarms, [])
  await store.reopen()
  await store.commit(batch)
  const found = await readAll(store, { kind: 'queued' })
  assert.ok(found.length < count && found.length > count - 100, `${found.length} of ${count} are left`)
  assert.deepEqual(found.at(-1), queued('new', 1))
  assert.deepEqual(
    stage.alarms.map(({ alarm }) => alarm),
    ['database-damaged'],
  )
})

async function fillOneTable(stage: LevelStage): Promise<void> {
  const store = await stage.open()
  await store.commit(put(...Array.from({ length: count }, (_, sequence) => queued('client', sequence))))
  await store.close()
  // The open turns the log into a table.
  await (await stage.open()).close()
}

async function makeOneBlockUnreadable(directory: string): Promise<void> {
  const name = readdirSync(directory).find((file) => file.endsWith('.ldb'))
  assert.ok(name !== undefined)
  const path = join(directory, name)
  const table = readFileSync(path)
  const middle = Math.floor(table.length / 2)
  table[middle] = (table[middle] ?? 0) ^ 0xff
  writeFileSync(path, table)
  const result = await checkTable(path)
  assert.ok(result.state === 'partly-damaged' && result.badBlocks.length === 1)
  invalidateBlocks(table, result.badBlocks)
  writeFileSync(path, table)
}
