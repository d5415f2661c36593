// Several stores of one process on one database, as the shards of a node have.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Worker } from 'node:worker_threads'
import { computeTopicShard, computeOwnerShard } from '../../src/core/index.ts'
import type { StoredRecord } from '../../src/records/index.ts'
import { readAllQueueBounds, type Store } from '../../src/storage/index.ts'
import { createKindRange } from '../../src/storage/encoding/record-keys.ts'
import { SharedStores } from './shared-stores.ts'
import { rawEntries } from './raw-entries.ts'
import { gather, put, readAll } from './read-all.ts'
import { message, queued, session } from './sample-records.ts'

async function storesOf(t: TestContext, shards: number): Promise<SharedStores> {
  const stores = new SharedStores(join(mkdtempSync(join(tmpdir(), 'godwit-storage-')), 'messages'))
  t.after(async () => {
    await stores.end()
    rmSync(dirname(stores.directory), { recursive: true, force: true })
  })
  await stores.begin(shards)
  return stores
}

const clientIds = Array.from({ length: 40 }, (_, number) => `client-${number}`)
const ofShard = (own: number, count: number): string[] => clientIds.filter((id) => computeOwnerShard(id, count) === own)
const namesOf = (records: readonly StoredRecord[]): string[] =>
  sorted(records.flatMap((record) => ('clientId' in record ? [record.clientId] : [])))
const sorted = (names: readonly string[]): string[] => names.toSorted((a, b) => (a < b ? -1 : 1))
const payloadRecord = (id: number): StoredRecord => ({ kind: 'payload', id, message: message('shared', `body ${id}`) })
const storeOf = (stores: SharedStores, clientId: string): Store =>
  stores.stores[computeOwnerShard(clientId, stores.stores.length)]

async function payloadIdsIn(stores: SharedStores): Promise<number[]> {
  const entries = await rawEntries(stores.directory, createKindRange('payload'))
  return entries.map(([key]) => Number(key.readBigUInt64BE(1)))
}

/** Waits until all records of ended sessions are deleted. The test runner ends an endless wait. */
async function untilDeleted(stores: SharedStores): Promise<void> {
  while ((await rawEntries(stores.directory, createKindRange('tombstone'))).length > 0);
}

describe('stores of several shards', () => {
  test('each finds its own sessions, queues and retained topics, and together they find all', async (t) => {
    const { stores } = await storesOf(t, 3)
    for (const [own, store] of stores.entries()) {
      await store.commit(put(...ofShard(own, 3).flatMap((id) => [session(id), queued(id, 1)])))
    }
    const topics = clientIds.map((id) => `state/${id}`)
    await stores[0].commit(put(...topics.map((topic) => ({ kind: 'retained', message: message(topic, 'x') }) as const)))
    for (const [own, store] of stores.entries()) {
      const mine = sorted(ofShard(own, 3))
      assert.deepEqual(namesOf(await readAll(store, { kind: 'session' })), mine)
      assert.deepEqual(namesOf(await readAll(store, { kind: 'queued' })), mine)
      assert.deepEqual(sorted((await gather(readAllQueueBounds(store))).map(({ clientId }) => clientId)), mine)
      const retained = await readAll(store, { kind: 'retained' })
      const found = retained.map((record) => (record.kind === 'retained' ? record.message.topic : ''))
      assert.deepEqual(sorted(found), sorted(topics.filter((topic) => computeTopicShard(topic, 3) === own)))
    }
  })

  test('simultaneous commits of all stores are durable, and no batch is missing at the next start', async (t) => {
    const stores = await storesOf(t, 3)
    for (let round = 0; round < 50; round++) {
      await Promise.all(stores.stores.map((store, own) => store.commit(put(queued(ofShard(own, 3)[0], round)))))
    }
    await stores.begin(3)
    for (const [own, store] of stores.stores.entries()) {
      assert.equal((await readAll(store, { kind: 'queued', clientId: ofShard(own, 3)[0] })).length, 50)
    }
    assert.deepEqual(stores.alarms, [])
  })

  test('after a change of the number of shards, the new shard of each session finds it', async (t) => {
    const stores = await storesOf(t, 1)
    await stores.stores[0].commit(put(...clientIds.flatMap((id) => [session(id), queued(id, 1)])))
    for (const shards of [3, 2, 1]) {
      await stores.begin(shards)
      for (const [own, store] of stores.stores.entries()) {
        assert.deepEqual(namesOf(await readAll(store, { kind: 'session' })), sorted(ofShard(own, shards)))
        assert.deepEqual(namesOf(await readAll(store, { kind: 'queued' })), sorted(ofShard(own, shards)))
      }
    }
  })

  test('a session that ends on another shard than it began on is deleted, also after a restart with fewer shards', async (t) => {
    const stores = await storesOf(t, 3)
    const [moving] = ofShard(2, 3)
    await storeOf(stores, moving).commit(put(session(moving), queued(moving, 1)))
    await stores.begin(1)
    await stores.stores[0].commit([{ change: 'delete-session', clientId: moving }])
    await stores.begin(1)
    await untilDeleted(stores)
    assert.deepEqual(await rawEntries(stores.directory, createKindRange('queued')), [])
  })
})

describe('a payload that several sessions share', () => {
  test('is counted by the shard that stored it', async (t) => {
    const stores = await storesOf(t, 3)
    const [one, two] = ofShard(1, 3)
    await stores.stores[1].commit(put(payloadRecord(4), queued(one, 1, 4), queued(two, 1, 4), payloadRecord(7)))
    const counts = await Promise.all(stores.stores.map((store) => gather(store.countPayloadReferences())))
    assert.deepEqual(
      counts.map((slices) => slices.flat()),
      [
        [],
        [
          [4, 2],
          [7, 0],
        ],
        [],
      ],
    )
  })

  test('is deleted by no shard after sessions changed shards, but at the next start if no session needs it', async (t) => {
    const stores = await storesOf(t, 1)
    const here = ofShard(0, 2)[0]
    const there = ofShard(1, 2)[0]
    const both = [here, there]
    await stores.stores[0].commit(
      put(...both.map((id) => session(id)), payloadRecord(1), ...both.map((id) => queued(id, 1, 1))),
    )
    await stores.begin(2)
    // The first session takes its message, and its shard, which does not know the other session, releases the payload.
    await storeOf(stores, here).commit([
      { change: 'delete', key: { kind: 'queued', clientId: here, sequence: 1 } },
      { change: 'delete', key: { kind: 'payload', id: 1 } },
    ])
    assert.deepEqual(await payloadIdsIn(stores), [1])
    await stores.begin(2)
    assert.deepEqual(await payloadIdsIn(stores), [1], 'the other session still needs it')
    await storeOf(stores, there).commit([{ change: 'delete-session', clientId: there }])
    await stores.begin(2)
    assert.deepEqual(await payloadIdsIn(stores), [])
  })

  test('of before a redistribution keeps its ID from being reused, and is counted for no session', async (t) => {
    const stores = await storesOf(t, 1)
    await stores.stores[0].commit(put(session('client-1'), payloadRecord(9), queued('client-1', 1, 9)))
    await stores.begin(3)
    for (const store of stores.stores) assert.deepEqual((await gather(store.countPayloadReferences())).flat(), [[9, 1]])
    await stores.begin(3)
    for (const store of stores.stores) assert.deepEqual((await gather(store.countPayloadReferences())).flat(), [[9, 1]])
  })
})

test('a thread that fails during a write leaves the database open for the others, and usable for the next process', async (t) => {
  const stores = await storesOf(t, 2)
  const writer = new URL('./endless-writer.ts', import.meta.url)
  for (let life = 0; life < 5; life++) {
    const thread = new Worker(writer, { workerData: { directory: stores.directory, shard: 7 } })
    await once(thread, 'message')
    await stores.stores[0].commit(put(queued(ofShard(0, 2)[0], life)))
    const failure = once(thread, 'error')
    const ended = new Promise((resolve) => thread.once('exit', resolve))
    thread.postMessage('break')
    assert.match(String(await failure), /broken on demand/)
    await ended
  }
  const mine = { kind: 'queued', clientId: ofShard(0, 2)[0] } as const
  assert.equal((await readAll(stores.stores[0], mine)).length, 5)
  await stores.begin(2)
  assert.equal((await readAll(stores.stores[0], mine)).length, 5)
  assert.deepEqual(stores.alarms, [])
  assert.deepEqual(
    readdirSync(dirname(stores.directory)).filter((name) => name.includes('damaged')),
    [],
  )
})
