// Reads the configuration with which a node starts: its file, later changes of the API, and `--set`.

import { existsSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  type Environment,
  type ConfigError,
  createConfigError,
  type GodwitConfig,
  type Warning,
} from '../../config/index.ts'
import { resolveDefaultDataDirectory, type Installation } from '../data-dir/data-directory.ts'
import { AllowedPaths } from './layers/allowed-paths.ts'
import { readConfigFile } from './layers/config-files.ts'
import {
  type ConfigDocument,
  type ConfigDependencies,
  type ConfigLayers,
  loadLayers,
  nothingChanged,
  readDocument,
  parsePlainSettings,
} from './layers/config-layers.ts'
import { findLostChanges, findLostFileProblem, readNewestVersion } from './find-lost-file-problem.ts'
import { mergeLayers } from './layers/merge-layers.ts'
import { findOverruledSettings } from './layers/find-overruled-settings.ts'
import { dataEntries } from '../data-dir/data-entries.ts'

export interface ConfigurationRequest {
  /** Value of the option `--config`. */
  readonly file: string | undefined
  /** Value of the option `--data`. */
  readonly dataDirectory: string | undefined
  /** Values of the option `--set`. */
  readonly overrides: readonly string[]
  readonly environment: Environment
  readonly installation: Installation
}

/** Everything that is needed to change the configuration later. */
export interface ConfigurationSources {
  readonly dependencies: ConfigDependencies
  readonly layers: ConfigLayers
  readonly paths: AllowedPaths
}

export interface ReadConfiguration extends ConfigurationSources {
  readonly config: GodwitConfig
  readonly warnings: readonly Warning[]
  /** undefined: there is none; the defaults apply. */
  readonly file: string | undefined
  /** Text of the alarm if changes of the API were restored, because their file was missing or empty. */
  readonly restoredSettings: string | undefined
}

export type ConfigurationReading =
  | ReadConfiguration
  | { readonly problem: string }
  | { readonly errors: readonly ConfigError[] }

export const changesFileName = dataEntries.changedSettings
const ownFileName = dataEntries.configuration

/** Reads all layers. Returns only errors, if there are any. */
export function readConfiguration(request: ConfigurationRequest): ConfigurationReading {
  const shipped = request.file ?? findSystemFile(request.installation) ?? findShippedFile(request.installation)
  const first = hasOwnFile(request) ? { document: undefined } : readFileIf(shipped, request, createEmptyPaths())
  if (!('document' in first)) return first
  const found = resolveDataDirectory(request, first.document)
  if ('errors' in found) return found
  const { directory } = found
  const own = join(directory, ownFileName)
  const file = request.file !== undefined || !existsSync(own) ? shipped : own
  const paths = new AllowedPaths(directory)
  const newest = readNewestVersion(directory)
  const lostFile = findLostFileProblem({ isNamed: request.file !== undefined, own, file }, newest)
  if (lostFile !== undefined) return { problem: lostFile }
  const second = readFileIf(file, request, paths)
  if (!('document' in second)) return second
  const changesFile = join(directory, changesFileName)
  const dependencies: ConfigDependencies = {
    file: resolve(request.file ?? own),
    ownFile: own,
    changesFile,
    overrides: request.overrides,
    environment: request.environment,
  }
  const lost = findLostChanges(changesFile, newest)
  if (lost !== undefined && 'problem' in lost) return lost
  const changes =
    lost === undefined && existsSync(changesFile) ? readFileIf(changesFile, request, paths) : { document: undefined }
  if (!('document' in changes)) return changes
  const restored = lost === undefined ? undefined : parsePlainSettings(lost.restored)
  const stored = { changes: restored ?? changes.document?.values ?? nothingChanged, untilRestart: nothingChanged }
  const { layers, warnings: gone } = mergeLayers(second.document, stored, request.overrides)
  const loaded = loadLayers(dependencies, layers, { origin: 'file', paths })
  if ('errors' in loaded) return loaded
  const { config } = loaded
  const overruled = findOverruledSettings(dependencies, layers, config)
  const warnings = [...loaded.warnings, ...gone, ...overruled, ...warnOfNewer(shipped, file)]
  const dataDir = request.dataDirectory ?? config.node.dataDir
  const read = { warnings, file, dependencies, layers, paths, restoredSettings: lost?.text }
  return { config: { ...config, node: { ...config.node, dataDir } }, ...read }
}

/** Before the data directory is known. */
function createEmptyPaths(): AllowedPaths {
  return new AllowedPaths('/')
}

type FileReading =
  | { readonly document: ConfigDocument | undefined }
  | { readonly problem: string }
  | { readonly errors: readonly ConfigError[] }

function readFileIf(file: string | undefined, { environment }: ConfigurationRequest, paths: AllowedPaths): FileReading {
  if (file === undefined) return { document: undefined }
  const source = readConfigFile(file)
  if ('error' in source) {
    return { problem: `configuration ${file}: ${source.error}; name another with --config FILE` }
  }
  return readDocument({ environment }, { text: source.text, file, origin: 'file', paths })
}

/** Returns the data directory, whose files are part of the configuration. */
function resolveDataDirectory(
  request: ConfigurationRequest,
  document: ConfigDocument | undefined,
): { readonly directory: string } | { readonly errors: readonly ConfigError[] } {
  const { dataDirectory, installation, overrides } = request
  if (dataDirectory !== undefined) return { directory: resolve(dataDirectory) }
  const loaded = loadLayers(
    { file: ownFileName, changesFile: '', overrides, environment: {} },
    { document, changes: nothingChanged, untilRestart: nothingChanged },
    { origin: 'file', paths: createEmptyPaths() },
  )
  if ('errors' in loaded) return loaded
  const account = { userId: process.getuid?.(), homeDirectory: homedir() }
  return { directory: resolve(loaded.config.node.dataDir ?? resolveDefaultDataDirectory(installation, account)) }
}

/** The data directory is known and has the file that counts, so the one of the machine need not be readable. */
function hasOwnFile({ file, dataDirectory }: ConfigurationRequest): boolean {
  return file === undefined && dataDirectory !== undefined && existsSync(join(resolve(dataDirectory), ownFileName))
}

/** Path of the configuration of the system. Upgrades replace files of the package, but not this file. */
function findSystemFile({ systemConfig }: Installation): string | undefined {
  return systemConfig !== undefined && isThere(systemConfig) ? systemConfig : undefined
}

/** Also true for a file in a directory that this account may not enter: the defaults must not replace it silently. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    // Reading it reports the error.
    return true
  }
}

/** Returns the file of the installation, if it exists. */
function findShippedFile(installation: Installation): string | undefined {
  const file = join(installation.root, 'etc', ownFileName)
  return existsSync(file) ? file : undefined
}

/** A shipped file that is edited after the API has written its own has no effect, which is unexpected. */
function warnOfNewer(shipped: string | undefined, file: string | undefined): readonly Warning[] {
  if (shipped === undefined || file === undefined || shipped === file) return []
  if (!isNewer(shipped, file)) return []
  const message = `${shipped} is newer, but this file counts: the API has written it`
  return [
    createConfigError({ file, line: 0, column: 0 }, '', message, 'name the other with --config, or remove this one'),
  ]
}

/** False if this account cannot read the one or the other. */
function isNewer(one: string, other: string): boolean {
  try {
    return statSync(one).mtimeMs > statSync(other).mtimeMs
  } catch {
    // The files are read elsewhere, with errors.
    return false
  }
}
