// The data directory of a node.

import { randomUUID } from 'node:crypto'
import { lstat, mkdir, rmdir, stat, unlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isDiskFull } from './disk-reserve.ts'
import { makeDirectory } from '../../telemetry/index.ts'

/** The installation of this program: a package or a clone of the repository. */
export interface Installation {
  /** The folder with `bin/`, absolute. */
  readonly root: string
  /** A clone of the repository, not an installed package. */
  readonly isCheckout: boolean
  /** Configuration of an installed package for the whole machine: /etc/godwit/godwit.conf. */
  readonly systemConfig?: string
}

export interface Account {
  /** Undefined if the system has none. */
  readonly userId: number | undefined
  readonly homeDirectory: string
}

/** Returns the default data directory. Absolute. */
export function resolveDefaultDataDirectory(installation: Installation, account: Account): string {
  if (installation.isCheckout) return join(installation.root, 'data')
  if (account.userId === 0) return '/var/lib/godwit'
  return join(account.homeDirectory, '.local', 'share', 'godwit')
}

export type PreparedDirectory =
  | {
      readonly path: string
      /** Other accounts of this machine can read it: it existed before with such permissions. */
      readonly isOpenToOthers: boolean
    }
  | { readonly problem: string; readonly isDiskFull: boolean }

/** Creates the directory if missing (for its owner only) and checks that this process can write there. */
export async function prepareDataDirectory(path: string): Promise<PreparedDirectory> {
  const directory = resolve(path)
  const probe = join(directory, `.write-probe-${randomUUID()}`)
  try {
    await makeDirectory(directory)
    await writeFile(probe, '')
    await unlink(probe)
    const { mode } = await stat(directory)
    return { path: directory, isOpenToOthers: (mode & 0o077) !== 0 }
  } catch (error) {
    // For any error the administrator must choose another directory or repair this one.
    return {
      problem: `data directory ${directory}: ${describeDirectoryError(error)}; choose another with --data DIR or node.data_dir`,
      isDiskFull: isDiskFull(error),
    }
  }
}

/**
 * Rejects with the error of the operating system if this process could not create the directory or write there. Leaves nothing
 * behind: a start by another account must not find directories that are not its own.
 */
export async function tryDirectory(path: string): Promise<void> {
  const directory = resolve(path)
  const nearest = await findNearestExisting(directory)
  const probe = join(nearest, `.write-probe-${randomUUID()}`)
  if (nearest === directory) {
    await writeFile(probe, '')
    await unlink(probe)
  } else {
    await mkdir(probe)
    await rmdir(probe)
  }
}

/** Returns `path` or its first parent that exists. */
async function findNearestExisting(path: string): Promise<string> {
  try {
    if ((await stat(path)).isDirectory()) return path
  } catch (error) {
    // A link to nothing exists, so no directory can be created in its place.
    const isThere = await lstat(path).then(
      () => true,
      () => false,
    )
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || isThere) throw error
    return findNearestExisting(dirname(path))
  }
  throw Object.assign(new Error(`${path} is not a directory`), { code: 'EEXIST' })
}

const reasons: Record<string, string> = {
  EACCES: 'this account may not write there',
  EPERM: 'this account may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota of this account is used up',
  ENOTDIR: 'a part of the path is not a directory',
  EEXIST: 'it is not a directory',
  ENOENT: 'no directory can be made there',
}

/** Returns why a directory cannot be used. */
export function describeDirectoryError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return reasons[code ?? ''] ?? message
}
