// The access records of a node: credentials, bans, rules and accounts.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AccountRecord, BanRecord, CredentialRecord, RuleRecord, StoredChange } from '../../src/records/index.ts'
import { openMemoryStore, StorageFailure, type Store } from '../../src/storage/index.ts'
import {
  openAccessRecords,
  type AccessChange,
  type AccessRecords,
} from '../../src/node/records/stored-access-records.ts'

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

/** A store whose disk may fail, before or after a write. */
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
      keepsSnapshots: inner.keepsSnapshots,
      commit,
      reopen,
      read: (range) => inner.read(range),
      readQueue: (range) => inner.readQueue(range),
      scanQueues: () => inner.scanQueues(),
      countPayloadReferences: () => inner.countPayloadReferences(),
      shareClientIds: () => inner.shareClientIds(),
      close: () => inner.close(),
    }
  }
}

interface Stage {
  readonly disk: Disk
  readonly sentChanges: AccessChange[]
  readonly records: AccessRecords
}

async function stage(): Promise<Stage> {
  const disk = new Disk()
  const sentChanges: AccessChange[] = []
  const records = await openAccessRecords({
    store: disk.store,
    sendToShards: async (change) => void sentChanges.push(change),
  })
  return { disk, sentChanges, records }
}

function credential(id: string, createdAtMs: number): CredentialRecord {
  const hashed = {
    algorithm: 'plain',
    saltPosition: 'prefix',
    salt: new Uint8Array(0),
    hash: new Uint8Array(0),
  } as const
  return { kind: 'credential', by: 'username', id, isSuperuser: false, createdAtMs, ...hashed }
}

const idsIn = (records: AccessRecords): string[] =>
  [...records.list('credential username')].map((record) => (record.kind === 'credential' ? record.id : ''))

const bansIn = (records: AccessRecords): string[] => [...records.listAll('ban')].map(({ who }) => who)

describe('a change of access records', () => {
  test('is durable, in memory and sent to the shards when its promise resolves', async () => {
    const { disk, sentChanges, records } = await stage()
    const change = { put: [ban('a'), rule], delete: [] }
    await records.change(change)
    assert.deepEqual(records.find({ kind: 'ban', as: 'clientid', who: 'a' }), ban('a'))
    assert.deepEqual([...records.listAll('rule')], [rule])
    assert.deepEqual(sentChanges, [change])
    const again = await openAccessRecords({ store: disk.store, sendToShards: async () => undefined })
    assert.deepEqual([bansIn(again), [...again.listAll('rule')]], [['a'], [rule]])
  })

  test('replaces records with the same key, and deletes records', async () => {
    const { records } = await stage()
    await records.change({ put: [ban('a'), ban('b')], delete: [] })
    await records.change({ put: [ban('b', 'another')], delete: [{ kind: 'ban', as: 'clientid', who: 'a' }] })
    assert.deepEqual([...records.listAll('ban')], [ban('b', 'another')])
  })

  test('is computed after earlier changes, and is not written if it is empty', async () => {
    const { sentChanges, records } = await stage()
    const onceOnly = (): AccessChange => {
      const isThere = records.find({ kind: 'ban', as: 'clientid', who: 'a' }) !== undefined
      return { put: isThere ? [] : [ban('a')], delete: [] }
    }
    await Promise.all([records.decide(onceOnly), records.decide(onceOnly)])
    assert.equal(sentChanges.length, 1)
  })

  test('waits for the previous change, so that shards get changes in order', async () => {
    const disk = new Disk()
    const received: string[] = []
    const { promise: firstMayEnd, resolve: endFirst } = Promise.withResolvers<undefined>()
    const records = await openAccessRecords({
      store: disk.store,
      sendToShards: async ({ put: [record] }) => {
        assert.ok(record?.kind === 'ban')
        received.push(record.who)
        if (record.who === 'first') await firstMayEnd
      },
    })
    const both = [ban('first'), ban('second')].map((record) => records.change({ put: [record], delete: [] }))
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    assert.deepEqual(received, ['first'])
    endFirst(undefined)
    await Promise.all(both)
    assert.deepEqual(received, ['first', 'second'])
  })
})

describe('a list of access records', () => {
  test('has the order of creation, also after a restart', async () => {
    const { disk, records } = await stage()
    for (const id of ['b', 'c', 'a']) {
      await records.change({ put: [credential(id, records.createMomentMs())], delete: [] })
    }
    assert.deepEqual(idsIn(records), ['b', 'c', 'a'])
    const again = await openAccessRecords({ store: disk.store, sendToShards: async () => undefined })
    assert.deepEqual(idsIn(again), ['b', 'c', 'a'])
  })

  test('gives each record a later time than all earlier ones, also if the clock is set back', async (t) => {
    const { disk, records } = await stage()
    const times = Array.from({ length: 10_000 }, () => records.createMomentMs())
    assert.ok(times.every((moment, index) => index === 0 || moment > times[index - 1]))
    await records.change({ put: [credential('a', times.at(-1)!)], delete: [] })
    t.mock.timers.enable({ apis: ['Date'], now: 1 })
    const again = await openAccessRecords({ store: disk.store, sendToShards: async () => undefined })
    assert.ok(again.createMomentMs() > times.at(-1)!)
  })

  test('may be changed during an iteration', async () => {
    const { records } = await stage()
    await records.change({ put: ['a', 'b', 'c'].map((id) => credential(id, 1)), delete: [] })
    const seen: string[] = []
    for (const record of records.list('credential username')) {
      if (record.kind !== 'credential') continue
      seen.push(record.id)
      if (seen.length > 1) continue
      await records.change({ put: [credential('d', 2)], delete: [{ kind: 'credential', by: 'username', id: 'b' }] })
    }
    assert.deepEqual(seen, ['a', 'c', 'd'])
  })
})

describe('a disk that fails', () => {
  test('once does not refuse a change: it is written again, because the first write may have succeeded', async () => {
    const { disk, sentChanges, records } = await stage()
    const { store } = disk
    disk.fails = 'after'
    const reopen = store.reopen.bind(store)
    store.reopen = async () => {
      disk.fails = 'never'
      await reopen()
    }
    await records.change({ put: [ban('a')], delete: [] })
    assert.deepEqual([bansIn(records), sentChanges.length, disk.reopened], [['a'], 1, 1])
  })

  test('for a longer time refuses changes, and no change applies before it is durable', async () => {
    const { disk, sentChanges, records } = await stage()
    disk.fails = 'before'
    await assert.rejects(records.change({ put: [ban('a')], delete: [] }), StorageFailure)
    await assert.rejects(records.change({ put: [ban('b')], delete: [] }), StorageFailure)
    assert.deepEqual([bansIn(records), sentChanges], [[], []])
    disk.fails = 'never'
    await records.change({ put: [ban('c')], delete: [] })
    assert.deepEqual(
      bansIn(records),
      ['a', 'c'],
      'a change that may have been written is written first; one that was not attempted is dropped',
    )
    assert.equal(sentChanges.length, 2)
  })
})

const viewer: AccountRecord = {
  kind: 'account',
  name: 'somebody',
  description: '',
  role: 'viewer',
  namespace: undefined,
  password: { algorithm: 'sha256', memory: 0, passes: 0, lanes: 0, salt: Buffer.of(), hash: Buffer.alloc(32) },
  createdAtMs: 1,
}

test('accounts of the management API are in the same store, and are not sent to shards', async () => {
  const { disk, sentChanges, records } = await stage()
  await records.change({ put: [viewer, ban('pump')], delete: [] })
  await records.change({ put: [], delete: [{ kind: 'api-key', id: 'a' }] })
  assert.deepEqual(
    sentChanges.map(({ put }) => put.map(({ kind }) => kind)),
    [['ban']],
  )
  const again = await openAccessRecords({ store: disk.store, sendToShards: async () => {} })
  assert.deepEqual(again.find({ kind: 'account', name: 'somebody' }), viewer)
})
