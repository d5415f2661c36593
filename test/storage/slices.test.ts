// The sizes of reads from the database. The library allocates memory for each requested entry, found or not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LevelDatabase } from '../../src/storage/database/level-database.ts'
import { createKindRange } from '../../src/storage/encoding/record-keys.ts'
import { LevelStage } from './level-stage.ts'
import { put } from './read-all.ts'
import { queued } from './sample-records.ts'

test('a read first requests a few entries, as most reads find none, and then hundreds', async (context) => {
  const stage = new LevelStage(context)
  const store = await stage.open()
  await store.commit(put(...Array.from({ length: 2_000 }, (_, sequence) => queued('client', sequence))))
  await store.close()
  const database = await LevelDatabase.open(stage.directory)
  const lengths: number[] = []
  for await (const slice of database.readSlices(createKindRange('queued'))) lengths.push(slice.length)
  await database.close()
  assert.deepEqual(lengths, [8, 16, 32, 64, 128, 256, 500, 500, 496])
})
