// Finds settings of the configuration file that a change over the API overrules. Without a warning about them, an edited file
// would seem to have no effect.

import { createConfigError, type GodwitConfig, type Warning } from '../../../config/index.ts'
import { AllowedPaths } from './allowed-paths.ts'
import { type ConfigDependencies, type ConfigLayers, loadLayers, nothingChanged } from './config-layers.ts'
import { listSettings } from './setting-paths.ts'

const hint =
  'use the value of the file with "godwit ctl config unset KEY", or make both equal with "godwit ctl config set"'

/** `config`: the result of all layers. `--set` is part of both compared results, because it is not a change over the API. */
export function findOverruledSettings(
  dependencies: ConfigDependencies,
  { document, changes, untilRestart }: ConfigLayers,
  config: GodwitConfig,
): readonly Warning[] {
  if (document === undefined || changes.entries.size + untilRestart.entries.size === 0) return []
  const fileAlone = { document, changes: nothingChanged, untilRestart: nothingChanged }
  const alone = loadLayers(dependencies, fileAlone, { origin: 'file', paths: new AllowedPaths('/') })
  // A file that is valid only with the changes cannot be compared.
  if ('errors' in alone) return []
  return listSettings(document.values, config).flatMap(({ path, value }) => {
    const key = path.join('.')
    const [written, used] = [alone.config.settingTexts.get(key), config.settingTexts.get(key)]
    if (written === undefined || used === undefined || written.text === used.text) return []
    const values = used.isSecret ? '' : `: ${used.text} instead of ${written.text}`
    return [createConfigError(value.at, key, `a change over the API has priority over this file${values}`, hint)]
  })
}
