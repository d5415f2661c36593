// Where `godwit ctl` finds the node of a data directory: a Unix socket in it, for this account alone.
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

export interface ControlSocketPlace {
  /** To listen at. */
  readonly path: string
  /** Takes away what was made, when nobody listens any more. */
  remove(): Promise<void>
}

/** Makes room for the socket of this data directory. Rejects where the file system fails. */
export async function prepareControlSocket(dataDirectory: string): Promise<ControlSocketPlace> {
  const entry = join(dataDirectory, controlSocketName)
  await removeStale(entry)
  if (Buffer.byteLength(entry) <= maxSocketPathBytes) return { path: entry, remove: () => removeStale(entry) }
  const folder = await mkdtemp(folderPrefix)
  const path = join(folder, controlSocketName)
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
