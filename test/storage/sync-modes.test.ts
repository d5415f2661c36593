// The time at which a commit is durable. Only the log of the database shows whether a write was synced: a spy on the calls of LevelDB records it.

import assert from 'node:assert/strict'
import { describe, mock, test, type TestContext } from 'node:test'
import type { SyncMode } from '../../src/storage/index.ts'
import { LevelDatabase } from '../../src/storage/database/level-database.ts'
import { LevelStage } from './level-stage.ts'
import { put } from './read-all.ts'
import { queued } from './sample-records.ts'

describe('a store that syncs', () => {
  test('with every commit has each batch on disk before the commit resolves', async (context) => {
    const { writes, store } = await open(context, 'commit')
    await store.commit(put(queued('client', 1)))
    await store.commit(put(queued('client', 2)))
    assert.deepEqual(writes(), ['synced', 'synced'])
  })

  test('in intervals has all batches on disk one interval after the commit, and syncs nothing without commits', async (context) => {
    const { writes, store, timers } = await open(context, 'interval')
    await store.commit(put(queued('client', 1)))
    await store.commit(put(queued('client', 2)))
    assert.deepEqual(writes(), ['not synced', 'not synced'])
    assert.deepEqual(
      timers.map(({ delayMs }) => delayMs),
      [250],
    )
    timers.shift()?.callback()
    await store.commit([])
    assert.deepEqual(writes(), ['not synced', 'not synced', 'synced', 'not synced'])
    assert.equal(timers.length, 1)
  })

  test('in intervals syncs the rest when it is closed', async (context) => {
    const { writes, store } = await open(context, 'interval')
    await store.commit(put(queued('client', 1)))
    await store.close()
    assert.deepEqual(writes(), ['not synced', 'synced'])
  })

  test('never leaves it to the operating system, also when it is closed', async (context) => {
    const { writes, store, timers } = await open(context, 'never')
    await store.commit(put(queued('client', 1)))
    await store.close()
    assert.deepEqual(writes(), ['not synced'])
    assert.deepEqual(timers, [])
  })
})

async function open(context: TestContext, sync: SyncMode) {
  const stage = new LevelStage(context)
  const timers: { delayMs: number; callback: () => void }[] = []
  const setTimer = (delayMs: number, callback: () => void): void => void timers.push({ delayMs, callback })
  const store = await stage.open({ sync, syncIntervalMs: 250, setTimer })
  const spy = mock.method(LevelDatabase.prototype, 'write')
  context.after(() => spy.mock.restore())
  const writes = (): string[] => spy.mock.calls.map((call) => (call.arguments[1] ? 'synced' : 'not synced'))
  return { store, writes, timers }
}
