// Files of the backup directory: `<data>/backup` for the whole broker, `<data>/backup/ns/<namespace>` for each
// namespace. A name is a single path component; only regular files are used.
//
// A file is written under a temporary name and renamed when it is complete, so every listed file is complete. The next
// start deletes temporary files left by a crash.

import { randomUUID } from 'node:crypto'
import { constants, type Dirent } from 'node:fs'
import { type FileHandle, link, lstat, mkdir, open, readdir, rm, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isNamespaceName } from '../../core/index.ts'
import type { Caller } from '../../contract/index.ts'
import { dataEntries } from '../data-dir/data-entries.ts'

/** The caller's rights for backups. */
export interface BackupScope {
  /** A namespace has a folder of its own, with archives of its configuration only. undefined: the whole broker. */
  readonly namespace: string | undefined
  /**
   * Whether archives with administrators and API keys may be read and imported. Otherwise exports omit them, and an
   * archive with them is refused with FORBIDDEN.
   */
  readonly mayManageAccounts: boolean
  readonly by: Caller
}

/** Why an operation was refused or failed. */
export interface BackupRefusal {
  readonly symbol: 'BAD_REQUEST' | 'NOT_FOUND' | 'FORBIDDEN' | 'CONFLICT' | 'INTERNAL_ERROR'
  /** Complete sentences: what is wrong, with what, and what to do. */
  readonly message: string
  /** By part of the archive: what failed while the rest was applied. Empty: nothing was changed. */
  readonly parts: Readonly<Record<string, string>>
}

export interface BackupFile {
  readonly filename: string
  readonly node: string
  readonly createdAtMs: number
  readonly bytes: number
}

/** The suffix of archive names. */
export const archiveSuffix = '.tar.gz'

const nameForm = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,191}\.tar\.gz$/
const unfinishedForm = /^\.unfinished-[0-9a-f-]{36}$/

/** Maximum files of one folder. */
const maxFiles = 10_000

export type Name = { readonly path: string } | BackupRefusal

export class BackupFolder {
  readonly #root: string
  readonly #nodeName: string

  /** `dataDirectory`: absolute. */
  constructor(dataDirectory: string, nodeName: string) {
    this.#root = join(dataDirectory, dataEntries.backup)
    this.#nodeName = nodeName
  }

  /** Deletes incomplete files of a crash. */
  async removeUnfinished(): Promise<void> {
    await this.#tidyFolder(this.#root)
    for (const entry of await listEntries(join(this.#root, 'ns'))) {
      if (entry.isDirectory()) await this.#tidyFolder(join(this.#root, 'ns', entry.name))
    }
  }

  async #tidyFolder(folder: string): Promise<void> {
    for (const { name } of await listEntries(folder)) {
      if (unfinishedForm.test(name)) await rm(join(folder, name), { force: true })
    }
  }

  /** Newest first; with equal times, by name in reverse. */
  async list({ namespace }: BackupScope): Promise<readonly BackupFile[] | BackupRefusal> {
    const folder = this.#resolveFolder(namespace)
    if ('symbol' in folder) return folder
    const found: BackupFile[] = []
    for (const entry of await listEntries(folder.path)) {
      if (!entry.isFile() || !nameForm.test(entry.name) || found.length >= maxFiles) continue
      const file = await this.#describe(join(folder.path, entry.name), entry.name)
      if (file !== undefined) found.push(file)
    }
    return found.toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.filename < b.filename ? 1 : -1))
  }

  /** Returns the path of a file with that name, existing or not. */
  #resolveFile({ namespace }: Pick<BackupScope, 'namespace'>, filename: string): Name {
    const folder = this.#resolveFolder(namespace)
    if ('symbol' in folder) return folder
    if (!filename.endsWith(archiveSuffix)) {
      const how = filename.endsWith('.json') ? '; "godwit ctl data convert FILE" converts a JSON file of EMQX 4' : ''
      return createRefusal(
        'BAD_REQUEST',
        `${quoteName(filename)} is not an archive name: it has to end in ${archiveSuffix}${how}`,
      )
    }
    if (!nameForm.test(filename)) {
      const message = `${quoteName(filename)} is not a safe file name: use up to 192 letters, digits, dots, _ and -`
      return createRefusal('BAD_REQUEST', message)
    }
    return { path: join(folder.path, filename) }
  }

  /** An open file, which the caller must close. */
  async open(
    scope: Pick<BackupScope, 'namespace'>,
    filename: string,
  ): Promise<{ readonly handle: FileHandle; readonly file: BackupFile } | BackupRefusal> {
    const place = this.#resolveFile(scope, filename)
    return 'symbol' in place ? place : this.#openPath(place.path, filename)
  }

  /** Opens a file anywhere on this machine by its absolute path: for users of the control socket. */
  openLocal(path: string): Promise<{ readonly handle: FileHandle; readonly file: BackupFile } | BackupRefusal> {
    return this.#openPath(path, basename(path))
  }

  async #openPath(
    path: string,
    filename: string,
  ): Promise<{ readonly handle: FileHandle; readonly file: BackupFile } | BackupRefusal> {
    let handle: FileHandle | undefined
    try {
      handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
      const { mtimeMs, size } = await handle.stat().then((status) => (status.isFile() ? status : throwNotPlain()))
      return { handle, file: { filename, node: this.#nodeName, createdAtMs: mtimeMs, bytes: size } }
    } catch (error) {
      await handle?.close()
      const { code } = error as NodeJS.ErrnoException
      if (code === undefined || !unreadable.has(code)) throw error
      return createRefusal('NOT_FOUND', `there is no backup file ${quoteName(filename)}: look for its name in the list`)
    }
  }

  async remove(scope: BackupScope, filename: string): Promise<BackupRefusal | undefined> {
    const opened = await this.open(scope, filename)
    if ('symbol' in opened) return opened
    await opened.handle.close()
    const place = this.#resolveFile(scope, filename)
    if ('symbol' in place) return place
    await rm(place.path, { force: true })
    return undefined
  }

  /** Creates a temporary file. `publish` gives it its name, unless a file of that name exists. */
  async begin(scope: Pick<BackupScope, 'namespace'>, filename: string): Promise<UnfinishedFile | BackupRefusal> {
    const place = this.#resolveFile(scope, filename)
    if ('symbol' in place) return place
    const folder = this.#resolveFolder(scope.namespace)
    if ('symbol' in folder) return folder
    await mkdir(folder.path, { recursive: true, mode: 0o700 })
    if ((await lstat(place.path).catch(() => undefined)) !== undefined) return refuseExisting(filename)
    const path = join(folder.path, `.unfinished-${randomUUID()}`)
    const handle = await open(path, 'wx+', 0o600)
    const describe = (): Promise<BackupFile | undefined> => this.#describe(place.path, filename)
    return new UnfinishedFile({ path, handle, target: place.path, folder: folder.path, filename, describe })
  }

  /** Creates a file without a name. */
  async createTemporaryFile(): Promise<{ readonly handle: FileHandle; discard(): Promise<void> }> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 })
    const path = join(this.#root, `.unfinished-${randomUUID()}`)
    const handle = await open(path, 'wx+', 0o600)
    // After a crash of this process no file is left.
    await rm(path, { force: true })
    return { handle, discard: () => handle.close() }
  }

  #resolveFolder(namespace: string | undefined): Name {
    if (namespace === undefined) return { path: this.#root }
    if (!isNamespaceName(namespace))
      return createRefusal('BAD_REQUEST', `${quoteName(namespace)} is not a namespace name`)
    return { path: join(this.#root, 'ns', namespace) }
  }

  /** undefined: it was deleted meanwhile, or is not a regular file. */
  async #describe(path: string, filename: string): Promise<BackupFile | undefined> {
    const status = await lstat(path).catch(() => undefined)
    if (status === undefined || !status.isFile()) return undefined
    return { filename, node: this.#nodeName, createdAtMs: status.mtimeMs, bytes: status.size }
  }
}

interface UnfinishedFileDependencies {
  readonly path: string
  readonly handle: FileHandle
  readonly target: string
  readonly folder: string
  readonly filename: string
  readonly describe: () => Promise<BackupFile | undefined>
}

export class UnfinishedFile {
  readonly #dependencies: UnfinishedFileDependencies

  constructor(dependencies: UnfinishedFileDependencies) {
    this.#dependencies = dependencies
  }

  get handle(): FileHandle {
    return this.#dependencies.handle
  }

  get path(): string {
    return this.#dependencies.path
  }

  /** Makes it durable under its name. Rejects with the system's error. */
  async publish(): Promise<BackupFile | BackupRefusal> {
    const { handle, path, target, folder, filename, describe } = this.#dependencies
    await handle.sync()
    await handle.close()
    try {
      // Unlike rename, this does not replace a file.
      await link(path, target)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      return refuseExisting(filename)
    } finally {
      await unlink(path)
    }
    await syncFolder(folder)
    return (
      (await describe()) ?? createRefusal('NOT_FOUND', `${quoteName(filename)} was deleted at once by another program`)
    )
  }

  async discard(): Promise<void> {
    await this.#dependencies.handle.close().catch(() => {})
    await rm(this.#dependencies.path, { force: true })
  }
}

export function createRefusal(
  symbol: BackupRefusal['symbol'],
  message: string,
  parts: BackupRefusal['parts'] = {},
): BackupRefusal {
  return { symbol, message, parts }
}

/** Quotes an external name for a sentence. */
export function quoteName(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}...` : name)
}

const unreadable: ReadonlySet<string> = new Set(['ENOENT', 'ELOOP', 'EACCES', 'ENOTDIR', 'ENXIO', 'ENAMETOOLONG'])

function throwNotPlain(): never {
  throw Object.assign(new Error('not a plain file'), { code: 'ENOENT' })
}

function refuseExisting(filename: string): BackupRefusal {
  const message = `a backup file ${quoteName(filename)} exists already: delete it first`
  return createRefusal('BAD_REQUEST', message)
}

/** Empty if the folder does not exist. */
async function listEntries(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Makes the new name durable. On systems that cannot sync folders, the system does it later. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => undefined)
  await folder?.sync().catch(() => {})
  await folder?.close()
}
