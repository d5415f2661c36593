// Whether a data directory was used before. The history of the configuration is the witness: each first run adds a version, after it has opened the
// database.

import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { dataEntries } from './data-entries.ts'

/** The history of the configuration, in the data directory. */
export const historyFolder = dataEntries.configurationHistory
/** Name of the file of a version of the configuration. */
export const versionFile = /^\d{8}\.json$/

/** Returns whether a broker has run with this data directory. */
export async function wasUsed(dataDirectory: string): Promise<boolean> {
  return (await listFiles(join(dataDirectory, historyFolder))).some((name) => versionFile.test(name))
}

const databaseFile = /^(CURRENT|MANIFEST-\d+|\d+\.(ldb|log|sst))$/

/**
 * Returns what an alarm says if the database of an earlier run is missing with everything beside it that would tell; undefined: it is there, or there
 * was none.
 */
export async function findLostDatabase(dataDirectory: string): Promise<string | undefined> {
  const directory = join(dataDirectory, dataEntries.store)
  if ((await listFiles(directory)).some((name) => databaseFile.test(name))) return undefined
  // The storage itself reports what these files know.
  if ((await listFiles(dataDirectory)).some((name) => name.startsWith(`${dataEntries.store}.`))) return undefined
  if (!(await wasUsed(dataDirectory))) return undefined
  return `The database in ${directory} is missing, but ${join(dataDirectory, historyFolder)} shows that this data directory was used before: all sessions, messages, users, rules and bans of the database are lost, and the broker starts with an empty one. Stop the broker and put the directory back, or restore a backup.`
}

async function listFiles(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return []
    throw error
  }
}
