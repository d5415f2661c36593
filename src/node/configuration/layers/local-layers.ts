// Settings that only the local configuration decides: the configuration file and --set. A request that changes one of them
// is refused, and a text without them leaves them as they are.

import {
  type ConfigObject,
  type ConfigError,
  createConfigError,
  type GodwitConfig,
  localSettings,
  putValues,
  findConfigValue,
  omitValues,
} from '../../../config/index.ts'
import { type ConfigDocument, nothingChanged } from './config-layers.ts'

const noPosition = { file: 'configuration', line: 0, column: 0 }

/** Returns an error for each local setting of `config` that differs from `before`. */
export function findLocalErrors(config: GodwitConfig, before: GodwitConfig): readonly ConfigError[] {
  return localSettings.flatMap((path) => {
    const key = path.join('.')
    if (config.settingTexts.get(key)?.text === before.settingTexts.get(key)?.text) return []
    const message = 'the API may not change it'
    return [
      createConfigError(
        config.places.get(key) ?? noPosition,
        key,
        message,
        'set it in the configuration file or with --set',
      ),
    ]
  })
}

/** Returns the local settings of `written` that are missing in the text of a request: they stay unchanged. */
export function selectKeptLocal(document: ConfigDocument, written: ConfigObject): ConfigObject {
  const kept = localSettings.flatMap((path) => {
    const value = findConfigValue(document.values, path) === undefined ? findConfigValue(written, path) : undefined
    return value === undefined ? [] : [{ path, value }]
  })
  return putValues(nothingChanged, kept)
}

/** Returns `changes` without those local settings that the configuration file contains, because the file decides about them. */
export function omitLocal(changes: ConfigObject, file: ConfigObject | undefined): ConfigObject {
  const inFile = localSettings.filter((path) => file !== undefined && findConfigValue(file, path) !== undefined)
  return inFile.length === 0 ? changes : omitValues(changes, inFile)
}
