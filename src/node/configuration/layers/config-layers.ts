// The layers of the configuration, each above the one before it:
//
//   defaults < the file < changes of the API < changes until the restart < --set
//              text       <data>/changed-settings.conf    memory only     command line

import { dirname, resolve } from 'node:path'
import {
  type ConfigObject,
  type ConfigValue,
  createEmptyObject,
  type Environment,
  type ConfigError,
  createConfigError,
  type IncludeReader,
  type LoadedConfig,
  loadConfig,
  mergeObjects,
  parseHocon,
  parseOverride,
  type PlainValue,
  putValue,
  toPlain,
  findConfigValue,
} from '../../../config/index.ts'
import type { AllowedPaths } from './allowed-paths.ts'
import { createIncludeReader, resolveInclude, createNamedFileReader } from './config-files.ts'

/** Files and other sources of the configuration. They are fixed at the start. */
export interface ConfigDependencies {
  /** Absolute path of the file for a complete configuration from the API. It may not exist yet. */
  readonly file: string
  /** Absolute path of the file in the data directory. Undefined: the data directory is not known yet. */
  readonly ownFile?: string
  /** Absolute path of the file for changes of the API. */
  readonly changesFile: string
  /** The values of the option `--set`. */
  readonly overrides: readonly string[]
  readonly environment: Environment
}

/** The text of a configuration with its parsed values. */
export interface ConfigDocument {
  /** Path of the text, for errors and includes. */
  readonly file: string
  readonly text: string
  readonly values: ConfigObject
  /** Absolute paths of the files that the text includes, and that these include. */
  readonly includes: readonly string[]
}

export interface ConfigLayers {
  /** Undefined: there is no file. Its path may differ from `ConfigDependencies.file`. */
  readonly document: ConfigDocument | undefined
  readonly changes: ConfigObject
  readonly untilRestart: ConfigObject
}

/**
 * Origin of a configuration. `file`: the local configuration, which is not restricted. `api`: a request, which may use
 * neither the environment nor files of the machine. `history`: an earlier configuration restored by a request; its
 * paths are checked like those of a request.
 */
export type TextOrigin = 'file' | 'api' | 'history'

/** Name of a request's text in errors, in place of a file name. The line in the text is shown as well. */
export const requestName = 'request'

export const nothingChanged: ConfigObject = createEmptyObject({ file: requestName, line: 0, column: 0 })

/** Returns the values of the text, or all errors. */
export function readDocument(
  { environment }: Pick<ConfigDependencies, 'environment'>,
  {
    text,
    file,
    origin,
    paths,
    name = file,
  }: {
    readonly text: string
    readonly file: string
    readonly origin: TextOrigin
    readonly paths: AllowedPaths
    /** Name of the text in errors. */
    readonly name?: string
  },
): { readonly document: ConfigDocument } | { readonly errors: readonly ConfigError[] } {
  const usedVariables = new Set<string>()
  const seen = origin === 'api' ? createWatchedEnvironment(usedVariables) : environment
  const include = createCheckedIncludes(file, origin, paths)
  const includes: string[] = []
  const readInclude: IncludeReader = (path, from) => {
    const source = from === name ? file : from
    includes.push(resolveInclude(file, path, source))
    return include(path, source)
  }
  const parsed = parseHocon(text, { file: name, readInclude, environment: seen })
  if ('errors' in parsed) return parsed
  const [variable] = usedVariables
  if (variable === undefined) return { document: { file, text, values: parsed.value, includes } }
  const message = `a text that comes over the API may not use the environment: \${${variable}}`
  return { errors: [createConfigError({ file: name, line: 0, column: 0 }, '', message, 'write the value itself')] }
}

/**
 * Includes of the local configuration are recorded, those of a request are checked. Both must be below the folder of
 * `file`.
 */
function createCheckedIncludes(file: string, origin: TextOrigin, paths: AllowedPaths): IncludeReader {
  const read = createIncludeReader(file)
  return (path, from) => {
    const target = resolveInclude(file, path, from)
    if (origin === 'file') paths.allowLocal({ use: 'include', path: target, isWritten: false })
    const problem =
      origin === 'file' ? undefined : paths.findProblem({ use: 'include', path: target, isWritten: false })
    return problem === undefined ? read(path, from) : { error: problem }
  }
}

/** Returns an empty environment that adds the name of each variable that is read to `usedVariables`. */
function createWatchedEnvironment(usedVariables: Set<string>): Environment {
  return new Proxy<Environment>(
    {},
    {
      getOwnPropertyDescriptor: (_none, name) => {
        usedVariables.add(String(name))
        return undefined
      },
    },
  )
}

/**
 * Combines the layers. All paths of the local configuration are recorded in `paths`; a path from the API that `paths`
 * does not allow is an error.
 */
export function loadLayers(
  dependencies: ConfigDependencies,
  layers: ConfigLayers,
  options: {
    readonly origin: TextOrigin
    readonly paths: AllowedPaths
    readonly ignoresOverrides?: boolean
    /** Files that do not exist yet, by path. */
    readonly texts?: ReadonlyMap<string, string>
    /** Files count as empty (access rules as a comment: an empty file is refused), and paths are not checked, because they may exist later. */
    readonly passesOverFiles?: boolean
  },
): LoadedConfig {
  const file = layers.document?.file ?? dependencies.file
  const folder = dirname(resolve(file))
  const read = createNamedFileReader(file)
  const { origin, paths, passesOverFiles = false } = options
  const loaded = loadConfig({
    file,
    values: layers.document?.values,
    changes: [layers.changes, layers.untilRestart],
    overrides: options.ignoresOverrides === true ? [] : dependencies.overrides,
    readFile: (path, key) => {
      const text = options.texts?.get(path)
      if (text !== undefined) return { text }
      if (passesOverFiles) return { text: key === 'auth.acl.file' ? '% not read' : '' }
      if (origin === 'file') return read(path)
      const used = { use: key.split('.').at(-1) ?? '', path: resolve(folder, path), isWritten: false }
      const problem = paths.findProblem(used)
      return problem === undefined ? read(path) : { error: problem }
    },
  })
  if ('errors' in loaded) return loaded
  if (origin === 'file') paths.setLocal(loaded.config, folder)
  const errors = [
    ...(origin === 'file' || passesOverFiles ? [] : paths.findErrors(loaded.config, folder)),
    ...paths.findIncludeErrors(loaded.config, folder, layers.document?.includes ?? []),
  ]
  return errors.length === 0 ? loaded : { errors }
}

/** Returns what the file, the changes of the API and `--set` have at a path, together. Nothing is checked. */
export function findWritten(
  { document, changes }: Pick<ConfigLayers, 'document' | 'changes'>,
  overrides: readonly string[],
  path: readonly string[],
): ConfigValue | undefined {
  let merged = mergeObjects(document?.values ?? nothingChanged, changes)
  for (const override of overrides) {
    const parsed = parseOverride(override)
    if ('path' in parsed) merged = putValue(merged, parsed.path, parsed.value)
  }
  return findConfigValue(merged, path)
}

/** Texts of settings that were written before. */
const writtenTexts = new WeakMap<ConfigObject, string>()

/** Returns the settings as text that can be parsed again. */
export function writeSettings(settings: ConfigObject): string {
  const known = writtenTexts.get(settings)
  if (known !== undefined) return known
  const text = `${JSON.stringify(toPlain(settings), null, 2)}\n`
  writtenTexts.set(settings, text)
  return text
}

/** Parses settings that were written as plain values. */
export function parsePlainSettings(plain: PlainValue): ConfigObject {
  const parsed = parseHocon(JSON.stringify(plain), { file: 'history' })
  return 'value' in parsed ? parsed.value : nothingChanged
}
