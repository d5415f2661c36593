// The configuration of a running node: its layers, and the configurations that they result in.
//
//   layers ──► wanted     what is written: parts of it may wait for the next start
//              running    what is applied

import {
  type ConfigObject,
  type Difference,
  type GodwitConfig,
  type LoadedConfig,
  mergeObjects,
  findConfigValue,
  putValues,
} from '../../config/index.ts'
import type { ConfigAuthor } from './config-history.ts'
import { type ConfigLayers, loadLayers, nothingChanged, type TextOrigin } from './layers/config-layers.ts'
import type { ConfigConsumer } from './config-consumers.ts'
import type { ConfigManagerOptions } from './config-manager-options.ts'
import { findLocalErrors } from './layers/local-layers.ts'
import { isPinned, listPinnedPaths, listSettings } from './layers/setting-paths.ts'

/** A change of the configuration, without its content. */
export interface ChangeRequest {
  /** Name in the history. */
  readonly name: string
  readonly author: ConfigAuthor
  readonly origin: TextOrigin
  /** The change replaces the configuration file. */
  readonly writesFile: boolean
}

interface Configurations {
  readonly layers: ConfigLayers
  /** The configuration of the layers. */
  readonly wanted: GodwitConfig
  /** The applied configuration. */
  readonly running: GodwitConfig
}

export class CurrentConfiguration {
  readonly options: ConfigManagerOptions
  #consumers: readonly ConfigConsumer[]
  #now: Configurations

  constructor(options: ConfigManagerOptions) {
    this.options = options
    this.#consumers = options.consumers
    this.#now = { layers: options.layers, wanted: options.config, running: options.config }
  }

  get layers(): ConfigLayers {
    return this.#now.layers
  }

  get wanted(): GodwitConfig {
    return this.#now.wanted
  }

  get running(): GodwitConfig {
    return this.#now.running
  }

  get consumers(): readonly ConfigConsumer[] {
    return this.#consumers
  }

  /** Adds a consumer, which is called before the existing ones. */
  addConsumer(consumer: ConfigConsumer): void {
    this.#consumers = [consumer, ...this.#consumers]
  }

  /** Called when a change is applied and its files are in place. */
  replace(configurations: Configurations): void {
    this.#now = configurations
  }

  /** Returns the configuration that other layers result in. A change over the API may not change local settings. */
  load(layers: ConfigLayers, { origin }: Pick<ChangeRequest, 'origin'>, ignoresOverrides = false): LoadedConfig {
    const { dependencies, paths } = this.options
    const loaded = loadLayers(dependencies, layers, { origin, paths, ignoresOverrides })
    if (origin === 'file' || ignoresOverrides || 'errors' in loaded) return loaded
    const errors = findLocalErrors(loaded.config, this.wanted)
    return errors.length === 0 ? loaded : { errors }
  }

  /** Returns all written settings, except those of `--set`. */
  mergeWrittenSettings(): ConfigObject {
    const { document, changes, untilRestart } = this.layers
    return mergeObjects(mergeObjects(document?.values ?? nothingChanged, changes), untilRestart)
  }

  isLive({ key, appliesOn, hasEffect }: Pick<Difference, 'key' | 'appliesOn' | 'hasEffect'>): boolean {
    return appliesOn !== 'at-restart' && hasEffect && this.#consumers.some((owner) => owner.canApply(key))
  }

  /** Divides the differences of `config` by when they apply. `waits`: the whole change waits for the next start. */
  divideByEffect(
    config: GodwitConfig,
    found: readonly Difference[],
  ): { readonly waits: boolean; readonly live: readonly Difference[]; readonly needsRestart: readonly Difference[] } {
    if (this.findRestartSetting(config) !== undefined) return { waits: true, live: [], needsRestart: found }
    const [live, needsRestart] = [true, false].map((isLive) => found.filter((one) => this.isLive(one) === isLive))
    return { waits: false, live: live ?? [], needsRestart: needsRestart ?? [] }
  }

  findRestartSetting(config: GodwitConfig): string | undefined {
    return this.options.findRestartSetting(config, this.running)
  }

  /** Returns keys of `written` that `--set` overrides with another value. */
  findPinned(written: ConfigObject, layers: ConfigLayers, request: Pick<ChangeRequest, 'origin'>): readonly string[] {
    const pinned = listPinnedPaths(this.options.dependencies.overrides)
    if (pinned.length === 0 || written.entries.size === 0) return []
    const [free, complete] = [this.load(layers, request, true), this.load(layers, request)]
    if ('errors' in complete) return []
    return listSettings(written, complete.config).flatMap(({ path }) => {
      const key = path.join('.')
      if (!isPinned(path, pinned)) return []
      // If the configuration is invalid without `--set`, a comparison is impossible.
      if ('errors' in free) return [key]
      return free.config.settingTexts.get(key)?.text === complete.config.settingTexts.get(key)?.text ? [] : [key]
    })
  }

  /** Returns the parts of `sent` that differ from the current values. Values sent back unchanged are not written. */
  findNew(sent: ConfigObject, layers: ConfigLayers, request: Pick<ChangeRequest, 'origin'>): ConfigObject {
    const tried = this.load(layers, request)
    const after = 'config' in tried ? tried.config : this.wanted
    const news = listSettings(sent, after).filter(({ path }) => {
      const key = path.join('.')
      const [old, now] = [this.wanted.settingTexts.get(key), after.settingTexts.get(key)]
      const isSame = old !== undefined && old.text === now?.text
      return !isSame || findConfigValue(this.layers.untilRestart, path) !== undefined
    })
    return putValues(nothingChanged, news)
  }
}
