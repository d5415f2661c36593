// A session that ends loses all its records at once; they are deleted in the background.

import assert from 'node:assert/strict'
import { cpSync, rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import { createKindRange, encodeSessionPrefix } from '../../src/storage/encoding/record-keys.ts'
import { LevelStage } from './level-stage.ts'
import { rawEntries, rawPut } from './raw-entries.ts'
import { put, readAll, readEverything } from './read-all.ts'
import { oneOfEachKind, queued, session } from './sample-records.ts'

const swept = ['session', 'subscription', 'queued', 'outgoing', 'incoming', 'will', 'tombstone'] as const

describe('an ended session', () => {
  test('is deleted in the background', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(...oneOfEachKind('client'), ...manyQueued(2_500)))
    await store.commit([{ change: 'delete-session', clientId: 'client' }])
    await untilDeleted(stage)
    assert.deepEqual(stage.alarms, [])
  })

  test('is deleted after a restart if the process was killed before', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(...manyQueued(2_500)))
    const ended = store.commit([{ change: 'delete-session', clientId: 'client' }, ...put(queued('client', 7))])
    await ended
    const killed = `${stage.directory}-killed`
    cpSync(stage.directory, killed, { recursive: true })
    await store.close()
    rmSync(stage.directory, { recursive: true })
    cpSync(killed, stage.directory, { recursive: true })
    const reopened = await stage.open()
    assert.deepEqual(await readAll(reopened, { kind: 'queued' }), [queued('client', 7)])
    await untilDeleted(stage, 1)
    assert.deepEqual(await readAll(reopened, { kind: 'queued' }), [queued('client', 7)])
  })

  test('shares its generation with no later session, even if it has no other record', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(queued('first', 1)))
    await store.commit([{ change: 'delete', key: { kind: 'queued', clientId: 'first', sequence: 1 } }])
    await store.close()
    const reopened = await stage.open()
    await reopened.commit(put(queued('second', 1)))
    await reopened.commit(put(queued('first', 2)))
    assert.deepEqual(await readAll(reopened, { kind: 'queued', clientId: 'second' }), [queued('second', 1)])
    assert.deepEqual(await readAll(reopened, { kind: 'queued', clientId: 'first' }), [queued('first', 2)])
  })

  test('releases each of its references to shared payloads; one that ended before the start does not', async (context) => {
    const stage = new LevelStage(context)
    const released: number[] = []
    const onReleased = (payloadIds: readonly number[]): void => void released.push(...payloadIds)
    const store = await stage.open({ onReleased })
    await store.commit(
      put(queued('client', 1, 71), queued('client', 2), queued('client', 3, 72), queued('other', 1, 71)),
    )
    await store.commit([{ change: 'delete-session', clientId: 'client' }])
    await untilDeleted(stage, 1)
    assert.deepEqual(released, [71, 72])
    await rawPut(stage.directory, encodeSessionPrefix('tombstone', 2), Buffer.from([1]))
    await store.close()
    const reopened = await stage.open({ onReleased })
    await untilDeleted(stage)
    assert.deepEqual(await readAll(reopened, { kind: 'queued' }), [])
    assert.deepEqual(released, [71, 72])
    assert.deepEqual(stage.alarms, [])
  })

  test('stays ended if its batch is written twice, as after a failed sync', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(...oneOfEachKind('client')))
    const batch = [
      { change: 'delete-session', clientId: 'client' } as const,
      ...put(session('client'), queued('client', 1)),
    ]
    await store.commit(batch)
    await store.reopen()
    await store.commit(batch)
    const left = (await readEverything(store)).filter((record) => 'clientId' in record)
    assert.deepEqual(left, [session('client'), queued('client', 1)])
    await untilDeleted(stage, 2)
  })

  test('stays with its new client ID if the batch is written twice', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(session('client'), queued('client', 1)))
    const batch = [
      ...put(queued('client', 2)),
      { change: 'rename-session', clientId: 'client', to: 'heir' } as const,
      ...put(session('heir'), session('client'), queued('client', 7)),
    ]
    await store.commit(batch)
    await store.reopen()
    await store.commit(batch)
    await store.close()
    const reopened = await stage.open()
    const left = (await readEverything(reopened)).flatMap((record) =>
      'clientId' in record ? `${record.kind} ${record.clientId} ${'sequence' in record ? record.sequence : ''}` : [],
    )
    const kept = ['queued client 7', 'queued heir 1', 'queued heir 2', 'session client ', 'session heir ']
    assert.deepEqual(left.toSorted(), kept)
    await untilDeleted(stage, kept.length)
  })
})

function manyQueued(count: number): ReturnType<typeof queued>[] {
  return Array.from({ length: count }, (_, sequence) => queued('client', sequence))
}

/**
 * Waits until the sessions have this number of entries. The test runner ends an endless
 * wait.
 */
async function untilDeleted(stage: LevelStage, wanted = 0): Promise<void> {
  for (;;) {
    let count = 0
    for (const kind of swept) count += (await rawEntries(stage.directory, createKindRange(kind))).length
    if (count === wanted) return
  }
}
