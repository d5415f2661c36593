// The files of a LevelDB directory by name, and copies of them.

import { copyFile, link, mkdir, readdir, readFile, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { StorageFailure } from '../store.ts'

/** Files with records and files that refer to them; not LevelDB's own log and lock. */
const recordFile = /^(CURRENT|MANIFEST-\d+|\d+\.(ldb|sst|log))$/

/** Returns names and sizes in bytes of the database files; empty if there is none. */
export async function listDatabaseFiles(directory: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for (const name of await listDirectory(directory)) {
    if (!recordFile.test(name)) continue
    try {
      sizes.set(name, (await stat(join(directory, name))).size)
    } catch (error) {
      if (!isMissing(error)) throw error // A compaction in the background has deleted it.
    }
  }
  return sizes
}

/** Returns whether this is a table, whose content never changes. */
export function isTable(name: string): boolean {
  return name.endsWith('.ldb') || name.endsWith('.sst')
}

/** Returns whether this is a log, with records that are in no table yet. */
export function isLog(name: string): boolean {
  return name.endsWith('.log')
}

/** Returns the number of a table or a log; NaN for others. */
export function parseFileNumber(name: string): number {
  return Number.parseInt(name, 10)
}

/** Links files into another directory, or copies them if the file system has no hard links. */
export async function linkFiles(names: Iterable<string>, from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const name of names) {
    try {
      await link(join(from, name), join(to, name))
    } catch {
      // No hard links here. If the file is unreadable, the caller handles that.
      await copyFile(join(from, name), join(to, name))
    }
  }
}

/** Returns an unused path next to the database: `messages.1.damaged`, `messages.2.damaged`, ... */
export async function findUnusedDamagedPath(directory: string): Promise<string> {
  const taken = new Set(await listDirectory(dirname(directory)))
  let number = 1
  while (taken.has(`${basename(directory)}.${number}.damaged`)) number += 1
  return `${directory}.${number}.damaged`
}

async function listDirectory(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Returns whether the error says that there is no such file or directory. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Returns what LevelDB dropped at the last opening. LevelDB reports it only in its own log. */
export async function readDropsFromLog(directory: string): Promise<string[]> {
  try {
    const text = await readFile(join(directory, 'LOG'), 'utf8')
    return [...text.matchAll(/dropping (\d+) bytes; (.*)$/gm)].map(([, bytes, why]) => `${bytes} bytes (${why})`)
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/** Rejects if the disk accepts no writes or has less space than another opening may need. */
export async function probeDisk(directory: string): Promise<void> {
  let neededBytes = minFreeBytes
  for (const [name, size] of await listDatabaseFiles(directory)) if (isLog(name)) neededBytes += size
  const { bavail, bsize } = await statfs(dirname(directory))
  if (bavail * bsize < neededBytes) throw new StorageFailure(`less than ${neededBytes} bytes are free on its disk`)
  const path = `${directory}.probe`
  try {
    await writeFile(path, Buffer.alloc(probeBytes, 0x55), { flush: true, mode: 0o600 })
  } finally {
    await rm(path, { force: true })
  }
}

const minFreeBytes = 1_024 * 1_024
const probeBytes = 64 * 1_024
