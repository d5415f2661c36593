// A directory for a database during one test, and stores on it.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { type LevelStoreOptions, openLevelStore, type StorageAlarm, type Store } from '../../src/storage/index.ts'

/** A new directory. After the test, the stores are closed and it is deleted. */
export class LevelStage {
  /** The directory of the database, which does not exist at first. */
  readonly directory = join(mkdtempSync(join(tmpdir(), 'godwit-storage-')), 'messages')
  readonly alarms: StorageAlarm[] = []
  readonly #stores: Store[] = []

  constructor(context: TestContext) {
    context.after(async () => {
      for (const store of this.#stores) await store.close()
      rmSync(dirname(this.directory), { recursive: true, force: true })
    })
  }

  async open(options: Partial<LevelStoreOptions> = {}): Promise<Store> {
    const store = await openLevelStore({
      directory: this.directory,
      sync: 'never',
      syncIntervalMs: 1_000,
      onAlarm: (alarm) => this.alarms.push(alarm),
      ...options,
    })
    this.#stores.push(store)
    return store
  }
}
