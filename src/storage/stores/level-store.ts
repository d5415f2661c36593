// The store on disk: LevelDB, and deletion in the background.

import { ReadingInterrupted, type Store } from '../store.ts'
import { BatchWriter } from './batch-writer.ts'
import { DatabaseOpenings } from './database-openings.ts'
import { DatabaseStore } from './database-store.ts'
import { ExclusiveTasks } from './exclusive-tasks.ts'
import type { LevelStoreOptions } from './level-store-options.ts'
import { isDatabaseError, toStorageFailure } from './storage-failures.ts'

/**
 * Opens or creates the database in a directory. Rejects with StorageFailure if another process has it open or it is not
 * writable.
 */
export async function openLevelStore(options: LevelStoreOptions): Promise<Store> {
  const tasks = new ExclusiveTasks()
  const openings = new DatabaseOpenings(options, tasks)
  const writer = new BatchWriter(options, openings)
  const store = new DatabaseStore(
    options,
    {
      get opening() {
        return openings.opening
      },
      keepsSnapshots: true,
      getOpening: () => openings.getOpening(),
      waitUntilOpen: async () => {
        if (openings.isReopening) await openings.waitUntilOpen()
      },
      write: (changes) => writer.write(changes),
      reopen: () => openings.open(),
      close: async () => {
        await openings.close((opening) => writer.finish(opening))
        await writer.closeMark()
      },
      toReadFailure: (error, opening) => {
        if (!isDatabaseError(error)) return error
        return openings.opening === opening
          ? toStorageFailure(`Reading from the database in ${options.directory} failed`, error)
          : new ReadingInterrupted('the database was opened again during a reading', { cause: error })
      },
    },
    tasks,
  )
  await store.reopen()
  return store
}
