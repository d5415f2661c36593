// The numbers of batches show that the log ends too early.

import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { BatchMark, toMarksPath, readMarks } from '../../src/storage/database/batch-marks.ts'
import { computeOwnerShard } from '../../src/core/index.ts'
import type { Store, SyncMode } from '../../src/storage/index.ts'
import { SharedStores } from './shared-stores.ts'
import { LevelStage } from './level-stage.ts'
import { put, readAll } from './read-all.ts'
import { queued, session } from './sample-records.ts'

const batches = 100

/** The files after a kill that follows this number of commits. */
async function killedStage(t: TestContext, sync: SyncMode, shard = 0): Promise<LevelStage> {
  const stage = new LevelStage(t)
  const store = await stage.open({ sync, syncIntervalMs: 1, shard })
  await commitAll(store)
  const killed = `${stage.directory}-killed`
  cpSync(stage.directory, killed, { recursive: true })
  await store.close()
  rmSync(stage.directory, { recursive: true })
  cpSync(killed, stage.directory, { recursive: true })
  return stage
}

async function commitAll(store: Store): Promise<void> {
  await store.commit(put(session('client', 1)))
  for (let number = 2; number <= batches; number++) await store.commit(put(queued('client', number, 'x'.repeat(1_000))))
}

function logOf(directory: string): string {
  const logs = readdirSync(directory).filter((name) => name.endsWith('.log'))
  return join(directory, logs.toSorted().at(-1) ?? '')
}

for (const fraction of [0, 0.1, 0.5, 0.9, 0.995]) {
  test(`if ${fraction * 100} % of a log are left, an alarm reports once which batches are missing`, async (t) => {
    const stage = await killedStage(t, 'commit')
    const log = logOf(stage.directory)
    truncateSync(log, Math.floor(statSync(log).size * fraction))
    const store = await stage.open()
    const left = (await readAll(store, { kind: 'queued' })).length + (fraction === 0 ? 0 : 1)
    const [alarm, ...more] = stage.alarms
    assert.deepEqual(more, [])
    const missing = left + 1 === batches ? `${batches}` : `${left + 1} to ${batches}`
    assert.equal(
      alarm?.text,
      `Acknowledged writes to ${stage.directory} are lost: of the batches of shard 0 some are missing (${missing} of ${batches}). Messages and changes in these batches may be lost.`,
    )
    await store.commit(put(queued('client', batches + 1)))
    await store.close()
    stage.alarms.length = 0
    await (await stage.open()).close()
    assert.deepEqual(stage.alarms, [])
  })
}

test('a log that ends with its last batch is not damage, nor is one without a mark or with a damaged mark', async (t) => {
  const stage = await killedStage(t, 'commit')
  const before = `${stage.directory}-killed`
  const marks = toMarksPath(stage.directory)
  for (const harm of [() => {}, () => writeFileSync(marks, 'nonsense'.repeat(20)), () => rmSync(marks)]) {
    rmSync(stage.directory, { recursive: true })
    cpSync(before, stage.directory, { recursive: true })
    harm()
    await (await stage.open()).close()
    assert.deepEqual(stage.alarms, [])
  }
})

for (const shard of [0, 1, 254, 255]) {
  test(`shard ${shard} continues its batch numbers and its mark after a restart`, async (t) => {
    const stage = await killedStage(t, 'commit', shard)
    for (const expected of [batches + 1, batches + 2]) {
      const store = await stage.open({ sync: 'commit', shard })
      await store.commit(put(queued('client', expected)))
      await store.close()
      assert.deepEqual(await readMarks(stage.directory), new Map([[shard, expected]]))
    }
    assert.deepEqual(stage.alarms, [])
  })
}

test('batches that need not survive a power loss have no mark', async (t) => {
  const never = await killedStage(t, 'never')
  assert.deepEqual(await readMarks(never.directory), new Map())
  // The close synced it.
  const interval = await killedStage(t, 'interval')
  assert.deepEqual(await readMarks(interval.directory), new Map([[0, batches]]))
})

test('an empty database in place of a lost one reports the missing batches, too', async (t) => {
  const stage = await killedStage(t, 'commit')
  rmSync(stage.directory, { recursive: true })
  await stage.open()
  assert.match(stage.alarms[0]?.text ?? '', /shard 0 some are missing \(1 to 100 of 100\)/)
})

test('with several shards, each one with missing batches is named', async (t) => {
  const directory = join(mkdtempSync(join(tmpdir(), 'godwit-storage-')), 'messages')
  const stores = new SharedStores(directory)
  t.after(async () => {
    await stores.end()
    rmSync(dirname(directory), { recursive: true, force: true })
  })
  await stores.begin(3)
  const clientIds = [0, 1, 2].map(
    (shard) => Array.from({ length: 50 }, (_, n) => `c${n}`).find((id) => computeOwnerShard(id, 3) === shard) ?? '',
  )
  for (let count = 0; count < 20; count++) {
    for (const [shard, store] of stores.stores.entries()) await store.commit(put(queued(clientIds[shard] ?? '', count)))
  }
  const killed = `${directory}-killed`
  cpSync(directory, killed, { recursive: true })
  await stores.end()
  rmSync(directory, { recursive: true })
  cpSync(killed, directory, { recursive: true })
  const log = logOf(directory)
  truncateSync(log, Math.floor(statSync(log).size / 2))
  await stores.begin(3)
  assert.equal(stores.alarms.length, 1)
  for (const shard of [0, 1, 2]) {
    assert.match(stores.alarms[0]?.text ?? '', new RegExp(`shard ${shard} some are missing \\(\\d+ to 20 of 20\\)`))
  }
  stores.alarms.length = 0
  await stores.begin(3)
  assert.deepEqual(stores.alarms, [])
})

test('marks that arrive during a write are written with the next one, and the last mark is stored at the end', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-storage-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const directory = join(folder, 'messages')
  const marks = [new BatchMark(directory, 0), new BatchMark(directory, 255)]
  for (const mark of marks) for (let number = 1; number <= 1_000; number++) mark.recordDurable(number)
  for (const mark of marks) await mark.close()
  marks[0]?.recordDurable(1_001)
  await marks[0]?.close()
  assert.deepEqual(
    await readMarks(directory),
    new Map([
      [0, 1_001],
      [255, 1_000],
    ]),
  )
  assert.equal(readFileSync(toMarksPath(directory)).length, 256 * 16)
})
