// Certificates, keys and other files in the data directory that the configuration names. The archive contains them, and
// its configuration refers to them as `archive:NAME`. An import puts them into `<data>/restored` with a hash of their
// content in the name, so no file is replaced, and a repeated import changes nothing.

import { createHash } from 'node:crypto'
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { archiveLimits } from '../../backup/index.ts'
import type { PlainValue } from '../../config/index.ts'
import { dataEntries } from '../data-dir/data-entries.ts'

const scheme = 'archive:'
const restoredFolder = dataEntries.restored
const restoredForm = /^[0-9a-f]{16}-/
const archivedForm = /^[A-Za-z0-9_.-]{1,96}$/

/** Folders that the node uses itself. */
const ownFolders: readonly string[] = ['store', 'backup', 'log', 'config-history']

export interface GatheredFiles {
  /** The configuration with the names that the files have in the archive. */
  readonly configuration: PlainValue
  readonly files: ReadonlyMap<string, Buffer>
  /** Named files that are not in the archive. */
  readonly left: readonly string[]
}

/** `folder`: of the configuration file, to which names are relative. */
export function gatherFiles(
  configuration: PlainValue,
  { dataDirectory, folder }: { readonly dataDirectory: string; readonly folder: string },
): GatheredFiles {
  const files = new Map<string, Buffer>()
  const left: string[] = []
  const moved = mapFiles(configuration, (path) => {
    const found = readInsideFile(dataDirectory, [resolve(folder, path), resolve(path)])
    if (found === undefined) {
      left.push(path)
      return path
    }
    const name = formatArchivedName(found.path, found.content)
    files.set(name, found.content)
    return `${scheme}${name}`
  })
  return { configuration: moved, files, left }
}

/** Returns the configuration with the file names on this machine. */
export function placeFiles(
  configuration: PlainValue,
  { dataDirectory, files }: { readonly dataDirectory: string; readonly files: ReadonlyMap<string, Buffer> },
): {
  readonly configuration: PlainValue
  /** Absolute paths with their contents. */
  readonly placed: ReadonlyMap<string, Buffer>
  readonly missing: readonly string[]
} {
  const placed = new Map<string, Buffer>()
  const missing: string[] = []
  const moved = mapFiles(configuration, (path) => {
    if (!path.startsWith(scheme)) return path
    const name = path.slice(scheme.length)
    const content = files.get(name)
    if (content === undefined || !archivedForm.test(name)) {
      missing.push(name)
      return path
    }
    const target = join(dataDirectory, restoredFolder, name)
    placed.set(target, content)
    return target
  })
  return { configuration: moved, placed, missing }
}

/** Durable when it resolves. Rejects with the system's error. */
export async function writePlaced(placed: ReadonlyMap<string, Buffer>): Promise<void> {
  for (const [path, content] of placed) {
    const there = await stat(path).catch(() => undefined)
    if (there?.isFile() === true && readFileSync(path).equals(content)) continue
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const fresh = `${path}.new`
    await rm(fresh, { force: true })
    const handle = await open(fresh, 'wx', 0o600)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(fresh, path)
  }
}

/** Changes settings that name files, except for the log. */
function mapFiles(value: PlainValue, move: (path: string) => string, key = '', above = ''): PlainValue {
  if (typeof value === 'string') {
    return key.endsWith('file') && above !== 'log' && value !== '' ? move(value) : value
  }
  if (Array.isArray(value)) return value.map((item: PlainValue) => mapFiles(item, move, key, above))
  if (value === null || typeof value !== 'object') return value
  const moved = Object.create(null) as Record<string, PlainValue>
  for (const [name, part] of Object.entries(value)) moved[name] = mapFiles(part, move, name, key)
  return moved
}

/** Returns the first path that is a regular file of a user in the data directory. */
function readInsideFile(
  dataDirectory: string,
  paths: readonly string[],
): { readonly path: string; readonly content: Buffer } | undefined {
  for (const path of paths) {
    try {
      const way = relative(realpathSync(dataDirectory), realpathSync(path))
      const [first = ''] = way.split(sep)
      if (way === '' || first === '..' || isAbsolute(way) || ownFolders.includes(first)) continue
      const status = statSync(path)
      if (status.isFile() && status.size <= archiveLimits.maxFileBytes) return { path, content: readFileSync(path) }
    } catch {
      // It is missing or unreadable: then it is not part of the data directory.
    }
  }
  return undefined
}

/** The same content has the same name, here and after the import. */
function formatArchivedName(path: string, content: Buffer): string {
  const sum = createHash('sha256').update(content).digest('hex').slice(0, 16)
  const plain = basename(path).replace(restoredForm, '')
  return `${sum}-${plain.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(-64)}`
}
