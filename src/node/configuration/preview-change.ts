// The effect that a change of the configuration would have. Nothing is changed.

import { type ConfigObject, type Difference, compareConfigs, mergeObjects } from '../../config/index.ts'
import { type ConfigLayers, loadLayers } from './layers/config-layers.ts'
import type { ConfigOutcome, PreviewedChange } from './config-outcome.ts'
import { type ConfigRefusal, refuseErrors, refuseProblem } from './config-refusals.ts'
import type { CurrentConfiguration } from './current-configuration.ts'
import { findLocalErrors } from './layers/local-layers.ts'

/** Returns the differences between the current configuration and that of `layers`, which come over the API. */
export function previewLayers(
  current: CurrentConfiguration,
  layers: ConfigLayers,
): readonly Difference[] | ConfigRefusal {
  const loaded = current.load(layers, { origin: 'api' })
  if ('errors' in loaded) return refuseErrors('invalid', loaded.errors)
  const problem = current.options.findProblem(loaded.config)
  return problem === undefined ? compareConfigs(current.wanted, loaded.config) : refuseProblem(problem, loaded.config)
}

/** Returns a preview in the form of a change that was carried out. */
export function previewAsOutcome(
  current: CurrentConfiguration,
  found: readonly Difference[] | ConfigRefusal,
): ConfigOutcome {
  if ('isDone' in found) return found
  const changed = found.filter((one) => current.isLive(one))
  const needsRestart = found.filter((one) => !current.isLive(one))
  return { isDone: true, changed, needsRestart, withoutEffect: [], pinned: [], warnings: [] }
}

/**
 * Returns the effect of a change of these settings. `texts`: files that do not exist yet, by path. `passesOverFiles`: other files are
 * assumed to be valid.
 */
export function previewSettings(
  current: CurrentConfiguration,
  settings: ConfigObject,
  { texts, passesOverFiles = false }: { texts: ReadonlyMap<string, string>; passesOverFiles?: boolean },
): PreviewedChange | ConfigRefusal {
  const { layers: before, wanted, options } = current
  const layers = { ...before, untilRestart: mergeObjects(before.untilRestart, settings) }
  const files = { paths: options.paths, texts, passesOverFiles }
  const loaded = loadLayers(options.dependencies, layers, { origin: 'api', ...files })
  if ('errors' in loaded) return refuseErrors('invalid', loaded.errors)
  const { config } = loaded
  const local = findLocalErrors(config, wanted)
  if (local.length > 0) return refuseErrors('invalid', local)
  // `problemOf` reads files as well.
  const problem = passesOverFiles ? undefined : options.findProblem(config)
  if (problem !== undefined) return refuseProblem(problem, config)
  const { live, needsRestart } = current.divideByEffect(config, compareConfigs(wanted, config))
  return { isDone: true, config, live, needsRestart }
}
