// A commit counts only if the database is still at its path: the files of a directory that was deleted, renamed or replaced can be written as before.

import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type Store, StorageFailure } from '../../src/storage/index.ts'
import { TimeLimit } from '../e2e/time-limit.ts'
import { LevelStage } from './level-stage.ts'
import { put, readAll } from './read-all.ts'
import { session } from './sample-records.ts'
import { SharedStores } from './shared-stores.ts'

interface Change {
  /** `directory`: of the database. Its parent is the data directory. */
  readonly make: (directory: string) => void
  /** Undefined: what was deleted cannot come back. */
  readonly undo?: (directory: string) => void
}

const dataOf = (directory: string): string => dirname(directory)
const away = (path: string): string => `${path}.away`

const changes: Readonly<Record<string, Change>> = {
  'its data directory is deleted': { make: (directory) => rmSync(dataOf(directory), { recursive: true }) },
  'it is deleted': { make: (directory) => rmSync(directory, { recursive: true }) },
  'its files are deleted': {
    make: (directory) => {
      for (const name of readdirSync(directory)) rmSync(join(directory, name))
    },
  },
  'it is deleted, and an empty directory is made': {
    make: (directory) => {
      rmSync(directory, { recursive: true })
      mkdirSync(directory)
    },
  },
  'its data directory is renamed': {
    make: (directory) => renameSync(dataOf(directory), away(dataOf(directory))),
    undo: (directory) => renameSync(away(dataOf(directory)), dataOf(directory)),
  },
  'it is renamed, and an empty one is made': {
    make: (directory) => {
      renameSync(directory, away(directory))
      mkdirSync(directory)
    },
    undo: (directory) => {
      rmSync(directory, { recursive: true })
      renameSync(away(directory), directory)
    },
  },
  'it is replaced by a copy': {
    make: (directory) => {
      renameSync(directory, away(directory))
      cpSync(away(directory), directory, { recursive: true })
    },
    undo: (directory) => {
      rmSync(directory, { recursive: true })
      renameSync(away(directory), directory)
    },
  },
  'its data directory is replaced by a file': {
    make: (directory) => {
      renameSync(dataOf(directory), away(dataOf(directory)))
      writeFileSync(dataOf(directory), '')
    },
    undo: (directory) => {
      rmSync(dataOf(directory))
      renameSync(away(dataOf(directory)), dataOf(directory))
    },
  },
}

async function assertCommits(store: Store): Promise<void> {
  const limit = new TimeLimit(20_000)
  for (;;) {
    try {
      return await store.commit(put(session('second')))
    } catch (error) {
      assert.ok(error instanceof StorageFailure && !limit.isOver, String(error))
      await store.reopen().catch((again: unknown) => assert.ok(again instanceof StorageFailure, String(again)))
    }
  }
}

for (const [name, { make, undo }] of Object.entries(changes)) {
  const loss = undo === undefined ? name : `${name}, and accepts them when it is back`
  for (const sync of ['commit', 'interval', 'never'] as const) {
    test(`a store refuses commits (sync = ${sync}) when ${loss}`, async (t) => {
      const stage = new LevelStage(t)
      t.after(() => rmSync(away(dataOf(stage.directory)), { recursive: true, force: true }))
      const store = await stage.open({ sync })
      await store.commit(put(session('first')))
      make(stage.directory)
      const refused = /was deleted, renamed, unmounted or replaced while it was in use/
      await assert.rejects(
        store.commit(put(session('second'))),
        (error) => error instanceof StorageFailure && refused.test(error.message),
      )
      await assert.rejects(store.reopen(), refused)
      if (undo === undefined) return
      undo(stage.directory)
      await assertCommits(store)
      await store.close()
      const next = await stage.open()
      const found = await readAll(next, { kind: 'session' })
      assert.deepEqual(
        found.map((record) => 'clientId' in record && record.clientId),
        ['first', 'second'],
      )
    })
  }

  test(`stores of two shards refuse commits when ${loss}`, async (t) => {
    const stores = new SharedStores(join(mkdtempSync(join(tmpdir(), 'godwit-storage-')), 'messages'))
    t.after(async () => {
      await stores.end()
      for (const path of [dataOf(stores.directory), away(dataOf(stores.directory))])
        rmSync(path, { recursive: true, force: true })
    })
    await stores.begin(2)
    const { stores: both } = stores
    for (const store of both) await store.commit(put(session('first')))
    make(stores.directory)
    for (const store of both) await assert.rejects(store.commit(put(session('second'))), StorageFailure)
    for (const store of both) await assert.rejects(store.reopen(), StorageFailure)
    for (const store of both) await assert.rejects(store.commit(put(session('second'))), StorageFailure)
    if (undo === undefined) return
    undo(stores.directory)
    for (const store of both) await assertCommits(store)
    assert.deepEqual(stores.alarms, [])
  })
}
