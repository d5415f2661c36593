// Decides which files and directories a configuration from the API may name. A path of the local configuration (file and
// --set) is not restricted, and stays allowed when the API sends it unchanged. Any other path lies below the data directory
// or below a directory of `node.allowed_directories`, after links are followed.

import { lstatSync, realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path'
import {
  type ConfigError,
  createConfigError,
  type GodwitConfig,
  type NamedPath,
  type Position,
} from '../../../config/index.ts'
import { isReservedEntry } from '../../data-dir/data-entries.ts'

export interface PathPlaces {
  /** Absolute. */
  readonly dataDirectory: string
  /** Folder of the configuration file. Absolute. */
  readonly configurationFolder: string
}

/** A path and its use: the last part of the key of its setting, or `include`. */
export interface UsedPath extends Omit<NamedPath, 'base'> {
  readonly use: string
}

export class AllowedPaths {
  readonly #dataDirectory: string
  /** Uses with paths that the local configuration names. */
  readonly #local = new Set<string>()
  /** Paths that the local configuration reads, with links followed. A setting from the API must not write there. */
  readonly #readLocally = new Set<string>()
  #directories: readonly string[] = []

  /** `dataDirectory` is absolute. */
  constructor(dataDirectory: string) {
    this.#dataDirectory = dataDirectory
  }

  /** Allows a path, because the local configuration names it. `path` is absolute. */
  allowLocal({ use, path, isWritten }: UsedPath): void {
    this.#local.add(formatKey(use, path))
    if (!isWritten) this.#readLocally.add(resolveRealPath(path) ?? path)
  }

  /** Records all paths of a local configuration, and its allowed directories. */
  setLocal(config: GodwitConfig, configurationFolder: string): void {
    this.#directories = config.node.allowedDirectories
    const places = { configurationFolder, dataDirectory: this.#dataDirectory }
    for (const used of listPaths(config, places)) this.allowLocal(used)
  }

  /** Returns every path of `config` that the API may not name. */
  findErrors(config: GodwitConfig, configurationFolder: string): readonly ConfigError[] {
    const places = { configurationFolder, dataDirectory: this.#dataDirectory }
    return listPaths(config, places).flatMap((used) => {
      const problem = this.findProblem(used)
      return problem === undefined ? [] : [createConfigError(used.at, used.key, problem)]
    })
  }

  /**
   * Returns an error for each setting with which the broker writes a file that the configuration includes: its lines may come from
   * messages, and would be settings after the next reload, also those that the API may not change. `includes`: absolute paths.
   */
  findIncludeErrors(
    config: GodwitConfig,
    configurationFolder: string,
    includes: readonly string[],
  ): readonly ConfigError[] {
    if (includes.length === 0) return []
    const files = includes.map((path) => resolveRealPath(path) ?? path)
    return listPaths(config, { configurationFolder, dataDirectory: this.#dataDirectory }).flatMap((used) => {
      if (!used.isWritten) return []
      // The files of a log are in a directory.
      const named = used.use === 'dir' ? join(used.path, config.log.file) : used.path
      const written = resolveRealPath(named) ?? named
      const included = files.find((file) => isWrittenAs(written, file))
      if (included === undefined) return []
      return [createConfigError(used.at, used.key, `the configuration includes ${included}; write to another file`)]
    })
  }

  /** Returns why the API may not name a path, with the remedy, or undefined. `path` is absolute. */
  findProblem(used: UsedPath): string | undefined {
    const { use, path } = used
    if (this.#local.has(formatKey(use, path))) return undefined
    const outside = `${path} is neither in the data directory nor in a directory of node.allowed_directories; ${remedy}`
    if (path.includes('\0')) return outside
    const real = resolveRealPath(path)
    if (real === undefined) return outside
    if (used.isWritten && this.#readLocally.has(real)) return `${path} is read by the configuration; name another file`
    const inData = findPathBelow(resolveRealPath(this.#dataDirectory) ?? this.#dataDirectory, real)
    if (inData !== undefined) return findReservedProblem(used, inData.split(sep)[0] ?? '')
    const isAllowed = this.#directories.some((directory) => {
      const realDirectory = resolveRealPath(directory)
      return realDirectory !== undefined && (real === realDirectory || findPathBelow(realDirectory, real) !== undefined)
    })
    return isAllowed ? undefined : outside
  }
}

const remedy =
  'name another file, or add its directory to node.allowed_directories in the configuration file or with --set'

interface PlacedPath extends UsedPath {
  readonly key: string
  readonly at: Position
}

/** Returns every path in the settings of `config`, by the type of its setting. Absolute. */
function listPaths(config: GodwitConfig, { dataDirectory, configurationFolder }: PathPlaces): readonly PlacedPath[] {
  const found: PlacedPath[] = []
  const bases = {
    'configuration-folder': configurationFolder,
    'working-directory': '',
    'data-directory': dataDirectory,
  } as const
  for (const [key, { path: names, paths }] of config.settingTexts) {
    if (paths.length === 0) continue
    const at = config.places.get(key) ?? nowhere
    const use = names.at(-1) ?? ''
    for (const { path, base, isWritten } of paths) {
      found.push({ use, key, at, isWritten, path: resolve(bases[base], path) })
    }
  }
  return found
}

const nowhere: Position = { file: 'configuration', line: 0, column: 0 }

function findReservedProblem(used: UsedPath, entry: string): string | undefined {
  if (isReservedEntry(entry, used)) {
    return `${used.path} is reserved for the broker; name another path in the data directory`
  }
  return undefined
}

/**
 * Returns whether a setting with the path `written` writes `file`, possibly under a derived name: of another shard (`lines-shard1.conf`), of
 * an older file (`lines.conf.1`), or of a database (`lines.db-wal`).
 */
function isWrittenAs(written: string, file: string): boolean {
  const { dir, name } = parse(written)
  if (dirname(file) !== dir || !basename(file).startsWith(name)) return false
  const next = basename(file).charAt(name.length)
  return next === '' || next === '.' || next === '-'
}

/** Returns the path of `path` relative to `directory`; undefined if it is not below it. */
function findPathBelow(directory: string, path: string): string | undefined {
  const way = relative(directory, path)
  return way === '' || way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? undefined : way
}

/**
 * Returns the path of its deepest existing part with all links followed. undefined if unknown: a broken link, an
 * unreadable directory.
 */
function resolveRealPath(path: string): string | undefined {
  const missing: string[] = []
  for (let existing = path; ; existing = dirname(existing)) {
    try {
      return join(realpathSync(existing), ...missing)
    } catch (error) {
      const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT' && !isEntry(existing)
      if (!isMissing || dirname(existing) === existing) return undefined
      missing.unshift(basename(existing))
    }
  }
}

function isEntry(path: string): boolean {
  try {
    lstatSync(path)
    return true
  } catch {
    return false
  }
}

function formatKey(use: string, path: string): string {
  return JSON.stringify([use, path])
}
