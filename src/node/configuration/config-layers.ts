// What the configuration is made of, each layer over the one before it:
//
//   defaults < the file < what the API has changed < what holds until the restart < --set
//              text       <data>/changed-settings.conf    memory alone                command line

import { dirname, isAbsolute, resolve } from 'node:path'
import {
  type ConfigObject,
  emptyObject,
  type Environment,
  type Fault,
  faultAt,
  type LoadedConfig,
  loadConfig,
  parseHocon,
  toPlain,
} from '../../config/index.ts'
import { type FileText, includeReader, namedFileReader } from './config-files.ts'

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

/** Whose text it is. What comes over the API may not look at the environment or at files all over the machine. */
export type TextOrigin = 'file' | 'api'

/** Of what came in a request: nobody can look it up by line. */
export const requestName = 'request'

export const nothingChanged: ConfigObject = emptyObject({ file: requestName, line: 0, column: 0 })

/** What the text says, or every fault that keeps it from being read. */
export function readDocument(
  { environment }: Pick<ConfigGround, 'environment'>,
  { text, file, origin }: { readonly text: string; readonly file: string; readonly origin: TextOrigin },
): { readonly document: ConfigDocument } | { readonly faults: readonly Fault[] } {
  const asked = new Set<string>()
  const seen = origin === 'api' ? watchedEnvironment(asked) : environment
  const parsed = parseHocon(text, { file, readInclude: includeReader(file), environment: seen })
  if ('faults' in parsed) return parsed
  const [name] = asked
  if (name === undefined) return { document: { file, text, values: parsed.value } }
  const message = `a text that comes over the API may not use the environment: \${${name}}`
  return { faults: [faultAt({ file, line: 0, column: 0 }, '', message, 'write the value itself')] }
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

/** What the layers come to. `trustedFiles`: named by the operator before; others must lie beside the configuration. */
export function loadLayers(
  ground: ConfigGround,
  layers: ConfigLayers,
  options: {
    readonly origin: TextOrigin
    readonly trustedFiles: Set<string>
    readonly ignoresOverrides?: boolean
    /** Files that are not there yet, by path. */
    readonly texts?: ReadonlyMap<string, string>
    /** Files that cannot be read are taken for ones with nothing in them: they may come to be there. */
    readonly passesOverFiles?: boolean
  },
): LoadedConfig {
  const file = layers.document?.file ?? ground.file
  const read = namedFileReader(file)
  const { origin, trustedFiles } = options
  return loadConfig({
    file,
    values: layers.document?.values,
    changes: [layers.changes, layers.untilRestart],
    overrides: options.ignoresOverrides === true ? [] : ground.overrides,
    readFile: (path) => {
      const text = options.texts?.get(path)
      if (text !== undefined) return { text }
      if (options.passesOverFiles === true) return { text: '' }
      if (origin === 'api' && !trustedFiles.has(path)) return readBeside(file, path)
      trustedFiles.add(path)
      return read(path)
    },
  })
}

/** Who may write to the API shall not see by our complaints what is in files of the machine. */
function readBeside(file: string, path: string): FileText {
  const folder = dirname(file)
  const target = isAbsolute(path) ? path : resolve(folder, path)
  return includeReader(file)(target, file)
}

/** Written down so that it can be read again. */
export function writeSettings(settings: ConfigObject): string {
  return `${JSON.stringify(toPlain(settings), null, 2)}\n`
}
