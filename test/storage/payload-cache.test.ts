// A message that was stored once for many clients is read once when they reconnect, and the cache has limits.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { readQueue } from '../../src/storage/index.ts'
import { PayloadCache } from '../../src/storage/payloads/payload-cache.ts'
import { LevelDatabase } from '../../src/storage/database/level-database.ts'
import { LevelStage } from './level-stage.ts'
import { put } from './read-all.ts'
import { message, queued } from './sample-records.ts'

test('a message that waits for many clients is read from disk only for the first', async (context) => {
  const store = await new LevelStage(context).open()
  const clientIds = Array.from({ length: 20 }, (_, client) => `client-${client}`)
  const shared = message('to/all', 'once')
  await store.commit(put({ kind: 'payload', id: 9, message: shared }, ...clientIds.map((id) => queued(id, 1, 9))))
  const getMany = mock.method(LevelDatabase.prototype, 'getMany')
  context.after(() => getMany.mock.restore())
  for (const clientId of clientIds) {
    const { records } = await readQueue(store, clientId, 0, 5)
    assert.deepEqual(records, [{ ...queued(clientId, 1), message: shared, payloadId: 9 }])
  }
  assert.equal(getMany.mock.callCount(), 1)
})

test('the cache has at most two megabytes of messages, and none above 64 KiB', () => {
  const cache = new PayloadCache()
  cache.add(1, message('large', 'x'.repeat(65_537)))
  assert.equal(cache.get(1), undefined)
  const body = message('t', 'x'.repeat(32_768))
  for (let id = 2; id <= 1_000; id++) {
    cache.add(id, body)
    const kept = Array.from({ length: id + 1 }, (_, other) => other).filter((other) => cache.get(other) !== undefined)
    assert.ok(kept.length <= 64, `${kept.length} of 32 KiB`)
    assert.ok(kept.length >= Math.min(id - 1, 31), `${kept.length} after ${id}`)
    assert.equal(kept[0], id + 1 - kept.length, 'the last messages')
  }
})

test('small messages are counted with their overhead', () => {
  const cache = new PayloadCache()
  for (let id = 1; id <= 100_000; id++) cache.add(id, message('t', ''))
  assert.equal(cache.get(95_000), undefined)
  assert.notEqual(cache.get(99_000), undefined)
  assert.notEqual(cache.get(100_000), undefined)
})
