// Drops stored changes of settings, so that the configuration file, or the default, applies again. A named entry of the
// file, such as a bridge, is removed instead: the change says that there is none.
//
//   file              changes before         unset                   changes after
//   mqtt.x = 1        mqtt.x = 2             mqtt.x                  (nothing)
//   (nothing)         bridges.mqtt.b {...}   bridges.mqtt.b          (nothing)
//   bridges.mqtt.b    (nothing)              bridges.mqtt.b          bridges.mqtt.b = null

import {
  createConfigError,
  type ConfigError,
  type ConfigObject,
  type ConfigValue,
  type GodwitConfig,
  type LoadedConfig,
  mergeObjects,
  parseOverride,
  putValue,
  findConfigValue,
  type Warning,
  omitValue,
} from '../../config/index.ts'
import type { ConfigAuthor } from './config-history.ts'
import { type ConfigLayers, nothingChanged } from './layers/config-layers.ts'
import { type ConfigRefusal, refuseErrors } from './config-refusals.ts'

type Path = readonly string[]

export interface UnsetOptions {
  readonly author: ConfigAuthor
  /** Returns the changes without applying them. */
  readonly isDryRun: boolean
}

export interface UnsetLayers {
  readonly layers: ConfigLayers
  /** Warnings about settings that only the file can change. */
  readonly warnings: readonly Warning[]
}

interface Dependencies {
  /** The result of the layers. */
  readonly config: GodwitConfig
  readonly load: (layers: ConfigLayers) => LoadedConfig
}

/** Returns the paths of dotted keys. */
export function parseKeys(keys: readonly string[]): readonly Path[] | ConfigRefusal {
  const errors: ConfigError[] = []
  const paths: Path[] = []
  for (const key of keys) {
    const parsed = parseOverride(`${key}=null`)
    if ('error' in parsed) errors.push({ ...parsed.error, file: 'request', hint: 'write the key of a setting' })
    else paths.push(parsed.path)
  }
  return errors.length === 0 ? paths : refuseErrors('invalid', errors)
}

/** Returns the layers without the stored changes at `paths`, or why a path names no setting. */
export function removeFromLayers(
  before: ConfigLayers,
  paths: readonly Path[],
  { config, load }: Dependencies,
): UnsetLayers | ConfigRefusal {
  let layers = before
  const warnings: Warning[] = []
  for (const path of paths) {
    const { document, changes, untilRestart } = layers
    const isStored = [changes, untilRestart].some((part) => findConfigValue(part, path) !== undefined)
    const removed = load({ ...layers, untilRestart: putValue(untilRestart, path, none) })
    if (!isStored && !hasSettings(config, path) && 'errors' in removed) return refuseErrors('invalid', removed.errors)
    const inFile = findConfigValue(document?.values ?? nothingChanged, path)
    const isEntry = 'config' in removed && !hasSettings(removed.config, path)
    const rest = removePath(changes, path)
    layers = {
      document,
      changes: inFile !== undefined && isEntry ? mergeObjects(rest, putValue(nothingChanged, path, none)) : rest,
      untilRestart: removePath(untilRestart, path),
    }
    if (inFile !== undefined && !isEntry && !isStored) warnings.push(warnOnlyInFile(path, inFile))
  }
  return { layers, warnings }
}

const none: ConfigValue = { kind: 'null', at: nothingChanged.at }

function warnOnlyInFile(path: Path, { at }: ConfigValue): Warning {
  return createConfigError(at, path.join('.'), 'the configuration file sets this value', 'edit the file and reload it')
}

/** Returns whether the configuration has a setting at `path` or below. */
function hasSettings({ settingTexts }: GodwitConfig, path: Path): boolean {
  for (const { path: found } of settingTexts.values())
    if (path.every((part, index) => part === found[index])) return true
  return false
}

/** Also without sections that become empty: an empty section of listeners would be a listener with defaults. */
function removePath(object: ConfigObject, path: Path): ConfigObject {
  let rest = omitValue(object, path)
  for (let length = path.length - 1; length > 0; length -= 1) {
    const section = findConfigValue(rest, path.slice(0, length))
    if (section?.kind !== 'object' || section.entries.size > 0) break
    rest = omitValue(rest, path.slice(0, length))
  }
  return rest
}
