// The contract of all stores. Each implementation runs these tests.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { StoredChange, StoredRecord } from '../../src/records/index.ts'
import {
  readAllQueueBounds,
  readQueue,
  readQueueBounds,
  type StorageAlarm,
  type Store,
} from '../../src/storage/index.ts'
import { testLength } from '../test-length.ts'
import { gather, put, readAll, readEverything } from './read-all.ts'
import { message, oneOfEachKind, queued, session, subscription } from './sample-records.ts'

type OpenStore = (context: TestContext, alarms: StorageAlarm[]) => Promise<Store>

/** Defines the tests of a store. `open` opens an empty one. */
export function testStoreContract(name: string, open: OpenStore): void {
  describe(`a store in ${name}`, () => {
    test('returns one record of each kind as it was put', async (context) => {
      const store = await open(context, [])
      const records = oneOfEachKind('client')
      await store.commit(put(...records))
      const found = await readEverything(store)
      assert.deepEqual(byText(found), byText(records))
    })

    test('replaces a record that is put again, deletes by key, and skips holes', async (context) => {
      const store = await open(context, [])
      const before = subscription('client', 'a/#')
      const after = { ...before, qos: 0 as const }
      await store.commit([undefined, ...put(before, subscription('client', 'b')), undefined])
      await store.commit([
        ...put(after),
        { change: 'delete', key: { kind: 'subscription', clientId: 'client', filter: 'b' } },
      ])
      assert.deepEqual(await readAll(store, { kind: 'subscription', clientId: 'client' }), [after])
    })

    test('applies changes in their order within a batch', async (context) => {
      const store = await open(context, [])
      const key = { kind: 'queued', clientId: 'client', sequence: 1 } as const
      await store.commit([
        ...put(queued('client', 1, 'first')),
        { change: 'delete', key },
        ...put(queued('client', 1, 'second')),
      ])
      await store.commit([...put(queued('client', 2)), { change: 'delete', key: { ...key, sequence: 2 } }])
      assert.deepEqual(await readAll(store, { kind: 'queued' }), [queued('client', 1, 'second')])
    })

    test('applies the last of several changes of a key in a batch, whatever the others are', async (context) => {
      const store = await open(context, [])
      await store.commit(put(queued('client', 1, 'old'), queued('client', 2, 'old'), queued('client', 3, 'old')))
      await store.commit([
        ...put(queued('client', 1, 'a'), queued('client', 1, 'b'), queued('client', 1, 'c')),
        deletion(2),
        deletion(2),
        ...put(queued('client', 3, 'a')),
        deletion(3),
        deletion(4),
        ...put(queued('client', 4, 'a'), queued('client', 4, 'b')),
        ...put(queued('client', 5, 'a')),
        deletion(5),
        ...put(queued('client', 5, 'b')),
        deletion(5),
      ])
      const left = [queued('client', 1, 'c'), queued('client', 4, 'b')]
      assert.deepEqual(await readAll(store, { kind: 'queued' }), left)
    })

    // The daily length has three parts in PostgreSQL, the long one is larger than a message of MQTT.
    const largeMessages = testLength({ daily: 3, long: 17 })
    test(`writes a batch of ${largeMessages * 16} MiB, all or none of which is visible`, async (context) => {
      const store = await open(context, [])
      const payload = Buffer.alloc(16 * 1_024 * 1_024, 'x')
      const sequences = Array.from({ length: largeMessages }, (_, index) => index + 1)
      await store.commit(put(queued('client', 99)))
      const committed = store.commit([
        { change: 'delete', key: { kind: 'queued', clientId: 'client', sequence: 99 } },
        ...put(
          ...sequences.map((sequence) => ({ ...queued('client', sequence), message: message('t', '', { payload }) })),
        ),
      ])
      const before = await sequencesOf(store, 0, 1)
      await committed
      assert.ok(before[0] === 99 || before[0] === 1)
      const seen: number[] = []
      for await (const slice of store.readQueue({ kind: 'queued', clientId: 'client', slices: { first: 1, max: 1 } })) {
        for (const record of slice) {
          assert.ok(record.kind === 'queued' && typeof record.message !== 'number')
          seen.push(record.sequence)
          assert.ok(payload.equals(record.message.payload))
        }
      }
      assert.deepEqual(seen, sequences)
    })

    test('deletes all records of a session, and none of others', async (context) => {
      const store = await open(context, [])
      await store.commit(put(...oneOfEachKind('leaving'), ...oneOfEachKind('staying')))
      await store.commit([{ change: 'delete-session', clientId: 'leaving' }])
      const staying = oneOfEachKind('staying')
      assert.deepEqual(byText(await readEverything(store)), byText(staying))
    })

    test('lets a session of the same client ID start again in the batch that deletes it', async (context) => {
      const store = await open(context, [])
      await store.commit(put(...oneOfEachKind('client'), queued('client', 9)))
      await store.commit([
        ...put(queued('client', 10)),
        { change: 'delete-session', clientId: 'client' },
        ...put(session('client'), queued('client', 1)),
      ])
      assert.deepEqual(await readAll(store, { kind: 'queued' }), [queued('client', 1)])
      assert.deepEqual(await readAll(store, { kind: 'session' }), [session('client')])
      assert.deepEqual(await readAll(store, { kind: 'will' }), [])
      assert.deepEqual(await readAll(store, { kind: 'subscription', clientId: 'client' }), [])
    })

    test('moves all records of a session to another client ID, and a new session may use the first one at once', async (context) => {
      const store = await open(context, [])
      const to = '\0x client'
      await store.commit(put(...oneOfEachKind('client'), ...oneOfEachKind('other')))
      await store.commit([
        ...put(queued('client', 9)),
        { change: 'rename-session', clientId: 'client', to },
        ...put(session(to), session('client'), queued('client', 1)),
        { change: 'delete', key: { kind: 'queued', clientId: to, sequence: 3 } },
      ])
      const found = (await readEverything(store)).filter((record) => 'clientId' in record && record.clientId === to)
      const owned = [...oneOfEachKind('client'), queued('client', 9)]
        .filter((record) => 'clientId' in record && record.clientId === 'client')
        .filter((record) => record.kind !== 'session' && !(record.kind === 'queued' && record.sequence === 3))
        .map((record) => ({ ...record, clientId: to }))
      assert.deepEqual(byText(found), byText([...owned, session(to)]))
      assert.deepEqual(await readAll(store, { kind: 'queued', clientId: 'client' }), [queued('client', 1)])
      assert.deepEqual(await readAll(store, { kind: 'subscription', clientId: 'client' }), [])
      await store.commit([{ change: 'delete-session', clientId: to }])
      assert.deepEqual(await readAll(store, { kind: 'queued', clientId: to }), [])
      const others = oneOfEachKind('other').filter((record) => record.kind === 'queued')
      assert.deepEqual(await readAll(store, { kind: 'queued', clientId: 'other' }), others)
    })

    test('deletes nothing if there is no record', async (context) => {
      const store = await open(context, [])
      await store.commit([
        { change: 'delete-session', clientId: 'nobody' },
        { change: 'rename-session', clientId: 'nobody', to: 'somebody' },
        { change: 'delete', key: { kind: 'queued', clientId: 'nobody', sequence: 1 } },
        { change: 'delete', key: { kind: 'retained', topic: 'nothing' } },
      ])
      assert.deepEqual(await readEverything(store), [])
    })

    test('separates sessions whose client IDs have the same start or special characters', async (context) => {
      const store = await open(context, [])
      const clientIds = ['', 'a', 'a\u0000', 'a\u0000b', 'ab', 'a\u0001', 'ä', '🐦', 'a/b', '\uffff']
      await store.commit(put(...clientIds.map((clientId) => queued(clientId, 1, `for ${clientId}`))))
      for (const clientId of clientIds) {
        assert.deepEqual(await readAll(store, { kind: 'queued', clientId }), [queued(clientId, 1, `for ${clientId}`)])
      }
      await store.commit([{ change: 'delete-session', clientId: 'a' }])
      assert.equal((await readAll(store, { kind: 'queued' })).length, clientIds.length - 1)
    })

    test('reads a queue in the order of its sequence numbers, from any position, forward and backward', async (context) => {
      const store = await open(context, [])
      const sequences = [300, 1, 2, 255, 256, 2 ** 32, 2 ** 32 + 1, 70_000]
      await store.commit(put(...sequences.map((sequence) => queued('client', sequence)), queued('other', 5)))
      assert.deepEqual(await sequencesOf(store, 0), [1, 2, 255, 256, 300, 70_000, 2 ** 32, 2 ** 32 + 1])
      assert.deepEqual(await sequencesOf(store, 256, 2), [256, 300])
      assert.deepEqual(await sequencesOf(store, 301, 2), [70_000, 2 ** 32])
      const back = await readAll(store, { kind: 'queued', clientId: 'client', reverse: true, limit: 2 })
      assert.deepEqual(back, [queued('client', 2 ** 32 + 1), queued('client', 2 ** 32)])
    })

    test('reads the retained message of one topic, and none of topics with the same start', async (context) => {
      const store = await open(context, [])
      const retained = ['a', 'a/b', 'a\u0001', 'aa', 'b'].map((topic): StoredRecord => ({
        kind: 'retained',
        message: message(topic, `of ${topic}`),
      }))
      await store.commit(put(...retained))
      for (const record of retained) {
        const topic = record.kind === 'retained' ? record.message.topic : ''
        assert.deepEqual(await readAll(store, { kind: 'retained', topic }), [record])
      }
      await store.commit([{ change: 'delete', key: { kind: 'retained', topic: 'a' } }])
      for (const topic of ['a', 'a/', 'c']) assert.deepEqual(await readAll(store, { kind: 'retained', topic }), [])
    })

    test('reads the state at the start of the read', async (context) => {
      const store = await open(context, [])
      const many = Array.from({ length: 1_200 }, (_, sequence) => queued('client', sequence))
      await store.commit(put(...many))
      let count = 0
      for await (const record of store.read({ kind: 'queued', clientId: 'client' })) {
        assert.deepEqual(record, queued('client', count))
        if (count === 0)
          await store.commit([{ change: 'delete-session', clientId: 'client' }, ...put(queued('client', 5_000))])
        count += 1
      }
      assert.equal(count, many.length)
      assert.deepEqual(await readAll(store, { kind: 'queued' }), [queued('client', 5_000)])
    })

    test('shares no memory with the records that it was given', async (context) => {
      const store = await open(context, [])
      const payload = Buffer.from('before')
      await store.commit(put({ kind: 'retained', message: message('t', '', { payload }) }))
      payload.fill('!')
      const [record] = await readAll(store, { kind: 'retained' })
      assert.deepEqual(record, { kind: 'retained', message: message('t', 'before') })
    })

    test('responds to load-queue with messages, their payloads, and whether more follow', async (context) => {
      const store = await open(context, [])
      const shared = message('shared', 'once')
      await store.commit(
        put(queued('client', 4), queued('client', 5, 9), queued('client', 6, 9), {
          kind: 'payload',
          id: 9,
          message: shared,
        }),
      )
      const resolved = (sequence: number): StoredRecord => ({
        ...queued('client', sequence),
        message: shared,
        payloadId: 9,
      })
      assert.deepEqual(await readQueue(store, 'client', 4, 2), {
        records: [queued('client', 4), resolved(5)],
        isEnd: false,
      })
      assert.deepEqual(await readQueue(store, 'client', 5, 2), {
        records: [resolved(5), resolved(6)],
        isEnd: true,
      })
      assert.deepEqual(await readQueue(store, 'nobody', 0, 2), { records: [], isEnd: true })
    })

    test('does not treat records with missing payloads as the end of a queue', async (context) => {
      const store = await open(context, [])
      const gone = Array.from({ length: 40 }, (_, at) => queued('client', at + 1, 9))
      await store.commit(put(...gone, queued('client', 41), queued('client', 42)))
      const [first, last] = [queued('client', 41), queued('client', 42)]
      assert.deepEqual(await readQueue(store, 'client', 0, 1), { records: [first], isEnd: false })
      assert.deepEqual(await readQueue(store, 'client', 39, 1), { records: [first], isEnd: false })
      assert.deepEqual(await readQueue(store, 'client', 0, 2), { records: [first, last], isEnd: true })
      await store.commit(put(...gone.map(({ sequence }) => queued('client', sequence + 42, 9))))
      assert.deepEqual(await readQueue(store, 'client', 0, 2), { records: [first, last], isEnd: true })
      assert.deepEqual(await readQueue(store, 'client', 43, 1), { records: [], isEnd: true })
    })

    test('omits a queued record whose payload is missing, and reports it', async (context) => {
      const alarms: StorageAlarm[] = []
      const store = await open(context, alarms)
      await store.commit(put(queued('client', 1, 9), queued('client', 2)))
      assert.deepEqual((await readQueue(store, 'client', 0, 5)).records, [queued('client', 2)])
      assert.deepEqual(alarms, [
        {
          alarm: 'body-missing',
          text: "The stored message of queued record 1 of 'client' (payload 9) was lost: the message is not delivered.",
        },
      ])
    })

    test('returns the first and last sequence number of each queue', async (context) => {
      const store = await open(context, [])
      await store.commit(put(queued('a', 3), queued('a', 9), queued('b', 1), queued('a', 5), session('c')))
      const a = { clientId: 'a', firstSequence: 3, lastSequence: 9, count: 3 }
      const b = { clientId: 'b', firstSequence: 1, lastSequence: 1, count: 1 }
      assert.deepEqual(byText(await gather(readAllQueueBounds(store))), byText([a, b]))
      assert.deepEqual(await readQueueBounds(store, 'a'), a)
      assert.equal(await readQueueBounds(store, 'c'), undefined)
    })

    test('counts the queued records that refer to each payload', async (context) => {
      const store = await open(context, [])
      await store.commit(
        put(
          payloadRecord(1),
          payloadRecord(2),
          payloadRecord(3),
          queued('a', 1, 1),
          queued('b', 1, 1),
          queued('b', 2, 3),
          queued('b', 3),
        ),
      )
      assert.deepEqual((await gather(store.countPayloadReferences())).flat(), [
        [1, 2],
        [2, 0],
        [3, 1],
      ])
    })

    test('works unchanged after it was reopened', async (context) => {
      const store = await open(context, [])
      await store.commit(put(...oneOfEachKind('client')))
      await store.reopen()
      await store.commit([{ change: 'delete', key: { kind: 'payload', id: 77 } }])
      assert.deepEqual(
        byText(await readEverything(store)),
        byText(oneOfEachKind('client').filter(({ kind }) => kind !== 'payload')),
      )
    })

    test('may be closed twice', async (context) => {
      const store = await open(context, [])
      await store.close()
      await store.close()
      await assert.rejects(store.commit([]), /the store is closed/)
    })
  })
}

function deletion(sequence: number): StoredChange {
  return { change: 'delete', key: { kind: 'queued', clientId: 'client', sequence } }
}

function payloadRecord(id: number): StoredRecord {
  return { kind: 'payload', id, message: message('t', String(id)) }
}

async function sequencesOf(store: Store, fromSequence: number, limit?: number): Promise<number[]> {
  const records = await readAll(store, { kind: 'queued', clientId: 'client', fromSequence, limit })
  return records.map((record) => (record.kind === 'queued' ? record.sequence : -1))
}

/** Sorts records independently of the store. */
function byText<Item>(things: readonly Item[]): Item[] {
  return [...things].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
}
