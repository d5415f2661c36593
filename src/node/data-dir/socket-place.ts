// Unix sockets in the data directory, for this account alone: where `godwit ctl` finds its node, and where the API passes on
// the MQTT clients of the dashboard.
//
//   <data dir>/ctl.sock                                       where the path is short enough for a socket
//   <data dir>/ctl.sock -> <temporary folder>/godwit-ctl-…/ctl.sock     where it is not
//
// The lock of the data directory is held: what stands there is of a node that is gone.

import { lstat, mkdtemp, readlink, rm, symlink, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** The name in the data directory. */
export const controlSocketName = 'ctl.sock'

/** What every system takes, in bytes. */
const maxSocketPathBytes = 100
const folderPrefix = join(tmpdir(), 'godwit-ctl-')

export interface SocketPlace {
  /** To listen at. */
  readonly path: string
  /** Takes away what was made, when nobody listens any more. */
  remove(): Promise<void>
}

/** For MQTT clients of the dashboard. */
export const dashboardSocketName = 'dashboard.sock'

/** Makes room for a socket of this data directory. Rejects where the file system fails. */
export async function prepareSocketPlace(dataDirectory: string, name: string): Promise<SocketPlace> {
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
