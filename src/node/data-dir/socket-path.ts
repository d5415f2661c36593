// Unix sockets in the data directory, for this account only: for `godwit ctl`, and for MQTT clients of the dashboard, which the API passes
// on.
//
//   <data dir>/ctl.sock                                       if the path is short enough for a socket
//   <data dir>/ctl.sock -> <temporary folder>/godwit-ctl-…/ctl.sock     otherwise
//
// The lock of the data directory is held, so an existing socket belongs to a node that has ended.

import { lstat, mkdtemp, readlink, rm, symlink, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { dataEntries } from './data-entries.ts'

/** The name in the data directory. */
export const controlSocketName = dataEntries.controlSocket

/** Maximum that every system accepts, in bytes. */
const maxSocketPathBytes = 100
const folderPrefix = join(tmpdir(), 'godwit-ctl-')

export interface SocketPath {
  /** Path for listening. */
  readonly path: string
  /** Deletes what was created, after listening has ended. */
  remove(): Promise<void>
}

/** For MQTT clients of the dashboard. */
export const dashboardSocketName = dataEntries.dashboardSocket

/** Prepares a socket of this data directory. Rejects for errors of the file system. */
export async function prepareSocketPath(dataDirectory: string, name: string): Promise<SocketPath> {
  const entry = join(dataDirectory, name)
  await removeStale(entry)
  if (Buffer.byteLength(entry) <= maxSocketPathBytes) return { path: entry, remove: () => removeStale(entry) }
  const folder = await mkdtemp(folderPrefix)
  const path = join(folder, name)
  await symlink(path, entry)
  return { path, remove: () => removeStale(entry) }
}

async function removeStale(entry: string): Promise<void> {
  try {
    const found = await lstat(entry)
    const target = found.isSymbolicLink() ? dirname(await readlink(entry)) : undefined
    await unlink(entry)
    if (target?.startsWith(folderPrefix) === true) await rm(target, { recursive: true, force: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
