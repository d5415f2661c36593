// The node's book of who may come in and what they may do.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { BanRecord, RuleRecord, StoredChange } from '../../src/core/index.ts'
import { openMemoryStore, StorageFailure, type Store } from '../../src/storage/index.ts'
import { openAccessRecords, type AccessChange, type AccessRecords } from '../../src/node/access-records.ts'

function ban(who: string, reason = 'a test'): BanRecord {
  return { kind: 'ban', as: 'clientid', who, reason, by: 'user', atMs: 1, untilMs: undefined }
}

const rule: RuleRecord = {
  kind: 'rule',
  about: 'all',
  who: '',
  topic: 'a/#',
  action: 'publish',
  permit: 'deny',
  createdAtMs: 1,
}

/** A store whose disk may fail, before or after it has written. */
class Disk {
  readonly store: Store
  fails: 'never' | 'before' | 'after' = 'never'
  reopened = 0

  constructor(inner: Store = openMemoryStore()) {
    const commit = async (changes: readonly (StoredChange | undefined)[]): Promise<void> => {
      if (this.fails !== 'before') await inner.commit(changes)
      if (this.fails !== 'never') throw new StorageFailure('the disk is full')
    }
    const reopen = async (): Promise<void> => void this.reopened++
    this.store = {
      commit,
      reopen,
      read: (range) => inner.read(range),
      scanQueues: () => inner.scanQueues(),
      countBodyReferences: () => inner.countBodyReferences(),
      close: () => inner.close(),
    }
  }
}

interface Stage {
  readonly disk: Disk
  readonly told: AccessChange[]
  readonly records: AccessRecords
}

async function stage(): Promise<Stage> {
  const disk = new Disk()
  const told: AccessChange[] = []
  const records = await openAccessRecords({ store: disk.store, tell: async (change) => void told.push(change) })
  return { disk, told, records }
}

const bansIn = (records: AccessRecords): string[] => [...records.all('ban')].map(({ who }) => who)

describe('a change of access records', () => {
  test('is on disk, in the book and told to the shards when it resolves', async () => {
    const { disk, told, records } = await stage()
    const change = { put: [ban('a'), rule], delete: [] }
    await records.change(change)
    assert.deepEqual(records.find({ kind: 'ban', as: 'clientid', who: 'a' }), ban('a'))
    assert.deepEqual([...records.all('rule')], [rule])
    assert.deepEqual(told, [change])
    const again = await openAccessRecords({ store: disk.store, tell: async () => undefined })
    assert.deepEqual([bansIn(again), [...again.all('rule')]], [['a'], [rule]])
  })

  test('replaces the record of the same name and takes others away', async () => {
    const { records } = await stage()
    await records.change({ put: [ban('a'), ban('b')], delete: [] })
    await records.change({ put: [ban('b', 'another')], delete: [{ kind: 'ban', as: 'clientid', who: 'a' }] })
    assert.deepEqual([...records.all('ban')], [ban('b', 'another')])
  })

  test('waits for the one before it: the shards hear of them in their order', async () => {
    const disk = new Disk()
    const heard: string[] = []
    const { promise: firstMayEnd, resolve: endFirst } = Promise.withResolvers<undefined>()
    const records = await openAccessRecords({
      store: disk.store,
      tell: async ({ put: [record] }) => {
        assert.ok(record?.kind === 'ban')
        heard.push(record.who)
        if (record.who === 'first') await firstMayEnd
      },
    })
    const both = [ban('first'), ban('second')].map((record) => records.change({ put: [record], delete: [] }))
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    assert.deepEqual(heard, ['first'])
    endFirst(undefined)
    await Promise.all(both)
    assert.deepEqual(heard, ['first', 'second'])
  })
})

describe('a disk that fails', () => {
  test('once costs nothing: what may be there or not is written again', async () => {
    const { disk, told, records } = await stage()
    const { store } = disk
    disk.fails = 'after'
    const reopen = store.reopen.bind(store)
    store.reopen = async () => {
      disk.fails = 'never'
      await reopen()
    }
    await records.change({ put: [ban('a')], delete: [] })
    assert.deepEqual([bansIn(records), told.length, disk.reopened], [['a'], 1, 1])
  })

  test('for longer refuses changes, and none holds before it is on disk', async () => {
    const { disk, told, records } = await stage()
    disk.fails = 'before'
    await assert.rejects(records.change({ put: [ban('a')], delete: [] }), StorageFailure)
    await assert.rejects(records.change({ put: [ban('b')], delete: [] }), StorageFailure)
    assert.deepEqual([bansIn(records), told], [[], []])
    disk.fails = 'never'
    await records.change({ put: [ban('c')], delete: [] })
    assert.deepEqual(
      bansIn(records),
      ['a', 'c'],
      'what may have been written is written first, what was not tried is not',
    )
    assert.equal(told.length, 2)
  })
})
