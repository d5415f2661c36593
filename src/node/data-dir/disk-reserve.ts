// Disk space that a start can free. LevelDB needs space to open a database: it writes a list of files, and a table from its log. Without any, no start
// would succeed on a full disk, though a running broker goes on there. So the data directory has a file that a start deletes if the disk is full.

import { randomFillSync } from 'node:crypto'
import { rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataEntries } from './data-entries.ts'

const reserveFile = dataEntries.diskReserve
/** Its size at first, which takes a few milliseconds. */
const smallBytes = 1_048_576
/** Its later size: twice the log of a database, which becomes a table, and the list of files. */
const fullBytes = 24 * 1_048_576
/** The file takes at most this part of the free space. */
const maxShare = 1 / 8
const minBytes = 65_536
/** The file is not written again for less. */
const minGrowth = 2
const intervalMs = 10_000

const noSpace = /\b(ENOSPC|EDQUOT)\b|[Nn]o space left on device|[Qq]uota exceeded|bytes are free on its disk/

/** Returns whether an error of the file system or of the database says that the disk, or the quota of the account, is full. */
export function isDiskFull(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'ENOSPC' || code === 'EDQUOT' || noSpace.test(message) || isDiskFull(error.cause)
}

/** Frees the reserved space. False: there is none. */
export async function releaseReserve(directory: string): Promise<boolean> {
  try {
    await rm(join(directory, reserveFile))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

export interface DiskReserve {
  stop(): void
}

/** Reserves space now, and more space later, so that a short run writes little. Reserves it again after a start has freed it. */
export function keepReserve(directory: string): DiskReserve {
  void reserveSpace(directory, smallBytes)
  const timer = setInterval(() => void reserveSpace(directory, fullBytes), intervalMs).unref()
  return { stop: () => clearInterval(timer) }
}

/** Reserves up to `wantedBytes`. A failure changes nothing: the next call tries again. */
async function reserveSpace(directory: string, wantedBytes: number): Promise<void> {
  const path = join(directory, reserveFile)
  const draft = `${path}.new`
  try {
    const reservedBytes = (await stat(path).catch(() => undefined))?.size ?? 0
    const { bavail, bsize } = await statfs(directory)
    const bytes = Math.min(wantedBytes, Math.floor((bavail * bsize + reservedBytes) * maxShare))
    if (bytes < minBytes || bytes < reservedBytes * minGrowth) return
    // Random bytes: a file system that compresses would reserve nothing for others. The name comes last: the file is whole or missing.
    await writeFile(draft, randomFillSync(Buffer.allocUnsafe(bytes)), { mode: 0o600 })
    await rename(draft, path)
  } catch (error) {
    if (typeof (error as NodeJS.ErrnoException).code !== 'string') throw error
    await rm(draft, { force: true }).catch(() => {})
  }
}
