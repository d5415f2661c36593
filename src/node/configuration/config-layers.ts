// What the configuration is made of, each layer over the one before it:
//
//   defaults < the file < what the API has changed < what holds until the restart < --set
//              text       <data>/changed-settings.conf    memory alone                command line

import { dirname, resolve } from 'node:path'
import {
  type ConfigObject,
  emptyObject,
  type Environment,
  type ConfigError,
  configErrorAt,
  type IncludeReader,
  type LoadedConfig,
  loadConfig,
  parseHocon,
  type PlainValue,
  toPlain,
} from '../../config/index.ts'
import type { AllowedPaths } from './allowed-paths.ts'
import { includeReader, includeTarget, namedFileReader } from './config-files.ts'

/** Where the configuration is from: the same from start to stop. */
export interface ConfigGround {
  /** Where the whole configuration is written when it comes over the API. Absolute. There may be no such file yet. */
  readonly file: string
  /** Where that is kept which the API has changed. Absolute. */
  readonly changesFile: string
  /** Of `--set`. */
  readonly overrides: readonly string[]
  readonly environment: Environment
}

/** A text with what it says. */
export interface ConfigDocument {
  /** Where it stands, or will: faults name it, and includes lie beside it. */
  readonly file: string
  readonly text: string
  readonly values: ConfigObject
}

export interface ConfigLayers {
  /** undefined: there is no file. It may stand elsewhere than where it would be written. */
  readonly document: ConfigDocument | undefined
  readonly changes: ConfigObject
  readonly untilRestart: ConfigObject
}

/**
 * Where a configuration comes from. `file`: the local configuration, which is not restricted. `api`: a request, which may use
 * neither the environment nor any file of the machine. `history`: an earlier configuration that a request goes back to; its
 * paths are checked as those of a request.
 */
export type TextOrigin = 'file' | 'api' | 'history'

/** Of what came in a request: nobody can look it up by line. */
export const requestName = 'request'

export const nothingChanged: ConfigObject = emptyObject({ file: requestName, line: 0, column: 0 })

/** What the text says, or every fault that keeps it from being read. */
export function readDocument(
  { environment }: Pick<ConfigGround, 'environment'>,
  {
    text,
    file,
    origin,
    paths,
  }: { readonly text: string; readonly file: string; readonly origin: TextOrigin; readonly paths: AllowedPaths },
): { readonly document: ConfigDocument } | { readonly faults: readonly ConfigError[] } {
  const asked = new Set<string>()
  const seen = origin === 'api' ? watchedEnvironment(asked) : environment
  const readInclude = checkedIncludes(file, origin, paths)
  const parsed = parseHocon(text, { file, readInclude, environment: seen })
  if ('faults' in parsed) return parsed
  const [name] = asked
  if (name === undefined) return { document: { file, text, values: parsed.value } }
  const message = `a text that comes over the API may not use the environment: \${${name}}`
  return { faults: [configErrorAt({ file, line: 0, column: 0 }, '', message, 'write the value itself')] }
}

/** Includes of the local configuration are noted, those of a request are checked. Both lie below the folder of `file`. */
function checkedIncludes(file: string, origin: TextOrigin, paths: AllowedPaths): IncludeReader {
  const read = includeReader(file)
  return (path, from) => {
    const target = includeTarget(file, path, from)
    if (origin === 'file') paths.allowLocal('include', target)
    const problem = origin === 'file' ? undefined : paths.problemOf({ use: 'include', path: target, isWritten: false })
    return problem === undefined ? read(path, from) : { error: problem }
  }
}

/** An environment with nothing in it, that remembers what it was asked for. */
function watchedEnvironment(asked: Set<string>): Environment {
  return new Proxy<Environment>(
    {},
    {
      getOwnPropertyDescriptor: (_none, name) => {
        asked.add(String(name))
        return undefined
      },
    },
  )
}

/**
 * What the layers come to. Of the local configuration every path is noted in `paths`; a path of a configuration that comes
 * over the API is a fault where `paths` does not allow it.
 */
export function loadLayers(
  dependencies: ConfigGround,
  layers: ConfigLayers,
  options: {
    readonly origin: TextOrigin
    readonly paths: AllowedPaths
    readonly ignoresOverrides?: boolean
    /** Files that are not there yet, by path. */
    readonly texts?: ReadonlyMap<string, string>
    /** Files that cannot be read are taken for ones with nothing in them, and paths are not checked: they may come to be there. */
    readonly passesOverFiles?: boolean
  },
): LoadedConfig {
  const file = layers.document?.file ?? dependencies.file
  const folder = dirname(resolve(file))
  const read = namedFileReader(file)
  const { origin, paths, passesOverFiles = false } = options
  const loaded = loadConfig({
    file,
    values: layers.document?.values,
    changes: [layers.changes, layers.untilRestart],
    overrides: options.ignoresOverrides === true ? [] : dependencies.overrides,
    readFile: (path, key) => {
      const text = options.texts?.get(path)
      if (text !== undefined) return { text }
      if (passesOverFiles) return { text: '' }
      if (origin === 'file') return read(path)
      const used = { use: key.split('.').at(-1) ?? '', path: resolve(folder, path), isWritten: false }
      const problem = paths.problemOf(used)
      return problem === undefined ? read(path) : { error: problem }
    },
  })
  if ('faults' in loaded) return loaded
  if (origin === 'file') paths.takeLocal(loaded.config, folder)
  const faults = origin === 'file' || passesOverFiles ? [] : paths.faultsOf(loaded.config, folder)
  return faults.length === 0 ? loaded : { faults }
}

/** Written down so that it can be read again. */
export function writeSettings(settings: ConfigObject): string {
  return `${JSON.stringify(toPlain(settings), null, 2)}\n`
}

/** Reads settings that were written as plain values. */
export function settingsOf(plain: PlainValue): ConfigObject {
  const parsed = parseHocon(JSON.stringify(plain), { file: 'history' })
  return 'value' in parsed ? parsed.value : nothingChanged
}
