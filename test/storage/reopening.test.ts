// Reads and commits while a store is reopened, as after a failed commit.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openMemoryStore, ReadingInterrupted, readQueue, StorageFailure, type Store } from '../../src/storage/index.ts'
import { LevelStage } from './level-stage.ts'
import { withReadQueue } from './replace-queue-reads.ts'
import { gather, put, readAll } from './read-all.ts'
import { queued } from './sample-records.ts'

const many = Array.from({ length: 3_000 }, (_, sequence) => queued('client', sequence))

describe('while a store is reopened', () => {
  test('a read in progress is interrupted with an error', async (context) => {
    const store = await new LevelStage(context).open()
    await store.commit(put(...many))
    let count = 0
    await assert.rejects(async () => {
      for await (const record of store.read({ kind: 'queued', clientId: 'client' })) {
        assert.deepEqual(record, many[count])
        if (count === 0) await store.reopen()
        count += 1
      }
    }, ReadingInterrupted)
  })

  test('a part of a queue is read again from its start', async () => {
    const inner = openMemoryStore()
    await inner.commit(put(...many))
    const store = interruptedOnce(inner)
    const { records } = await readQueue(store, 'client', 0, 10)
    assert.deepEqual(records, many.slice(0, 10))
  })

  test('a new read waits until the store is open', async (context) => {
    const store = await new LevelStage(context).open()
    await store.commit(put(...many))
    const reopened = store.reopen()
    const read = readAll(store, { kind: 'queued', clientId: 'client' }).catch((error: Error) => error)
    await reopened
    const found = await read
    // It may have begun before the close: then it is interrupted, but never wrong.
    if (Array.isArray(found)) assert.equal(found.length, many.length)
    else assert.ok(found instanceof ReadingInterrupted)
    assert.equal((await readAll(store, { kind: 'queued' })).length, many.length)
  })

  test('a commit waits', async (context) => {
    const store = await new LevelStage(context).open()
    await Promise.all([store.reopen(), store.commit(put(queued('client', 1))), store.reopen()])
    assert.deepEqual(await readAll(store, { kind: 'queued' }), [queued('client', 1)])
  })
})

test('a directory that cannot be used is refused with one sentence', async (context) => {
  const stage = new LevelStage(context)
  await assert.rejects(stage.open({ directory: '/dev/null/store' }), (error: Error) => {
    assert.ok(error instanceof StorageFailure)
    assert.match(error.message, /^The database in \/dev\/null\/store cannot be opened: ENOTDIR/)
    return true
  })
})

function interruptedOnce(inner: Store): Store {
  let isInterrupted = false
  async function* readQueue(...[range]: Parameters<Store['readQueue']>): ReturnType<Store['readQueue']> {
    for (const record of await gather(inner.read(range))) {
      yield [record]
      if (isInterrupted) continue
      isInterrupted = true
      throw new ReadingInterrupted('once')
    }
  }
  return withReadQueue(inner, readQueue)
}
