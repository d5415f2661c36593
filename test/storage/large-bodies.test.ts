// A queued record is small; its payload may be large.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import type { StoredRecord } from '../../src/records/index.ts'
import { readQueue } from '../../src/storage/index.ts'
import { LevelDatabase } from '../../src/storage/database/level-database.ts'
import { LevelStage } from './level-stage.ts'
import { put } from './read-all.ts'
import { message, queued } from './sample-records.ts'

const bodyBytes = 1_024 * 1_024

test('a part of a queue of large messages ends early, and no more of them are in memory than the part has', async (context) => {
  const store = await new LevelStage(context).open()
  const payload = Buffer.alloc(bodyBytes, 'x').toString()
  for (let id = 1; id <= 40; id++) {
    const body: StoredRecord = { kind: 'payload', id, message: message('large', payload) }
    await store.commit(put(body, queued('client', id, id)))
  }
  const getMany = mock.method(LevelDatabase.prototype, 'getMany')
  context.after(() => getMany.mock.restore())
  const sequences: number[] = []
  for (;;) {
    const { records, isEnd } = await readQueue(store, 'client', (sequences.at(-1) ?? 0) + 1, 1_000)
    assert.ok(records.length <= 8, `${records.length} messages in one part`)
    for (const record of records) if (record.kind === 'queued') sequences.push(record.sequence)
    if (isEnd) break
  }
  assert.deepEqual(
    sequences,
    Array.from({ length: 40 }, (_, index) => index + 1),
  )
  const fetched = getMany.mock.calls.map((call) => call.arguments[0].length)
  assert.ok(Math.max(...fetched) <= 8, 'in small groups')
})
