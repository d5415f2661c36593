// Changes the configuration, in the same way for all callers: a request results in layers, which are carried out completely or not
// at all. Changes run one after the other. Settings that apply at the next start are only written and reported.

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  type ConfigObject,
  type ConfigValue,
  type Difference,
  type GodwitConfig,
  type LoadedConfig,
  mergeObjects,
  putValue,
  findConfigValue,
  omitValue,
  omitValues,
} from '../../config/index.ts'
import { carryOutChange, rememberChange } from './carry-out-change.ts'
import { readConfigFile } from './layers/config-files.ts'
import type { ConfigAuthor, ConfigHistory } from './config-history.ts'
import type { ConfigManagerOptions } from './config-manager-options.ts'
import type { ConfigOutcome, PreviewedChange } from './config-outcome.ts'
import { type ConfigRefusal, refuseErrors, refusePinned, refuseProblem, refuseUntilRestart } from './config-refusals.ts'
import {
  type ConfigLayers,
  nothingChanged,
  readDocument,
  requestName,
  parsePlainSettings,
  findWritten,
} from './layers/config-layers.ts'
import type { ConfigConsumer } from './config-consumers.ts'
import { type ChangeRequest, CurrentConfiguration } from './current-configuration.ts'
import { mergeLayers } from './layers/merge-layers.ts'
import { findOverruledSettings } from './layers/find-overruled-settings.ts'
import { previewAsOutcome, previewLayers, previewSettings } from './preview-change.ts'
import { toLayers, readSentText } from './sent-text.ts'
import { isPinned, listMaskedPaths, listPinnedPaths, listSettings } from './layers/setting-paths.ts'
import { removeFromLayers, parseKeys, type UnsetOptions } from './unset-settings.ts'

export type { ConfigAuthor } from './config-history.ts'
export type { ConfigManagerOptions } from './config-manager-options.ts'
export type { ConfigChange, ConfigOutcome, PreviewedChange } from './config-outcome.ts'
export type { ConfigRefusal } from './config-refusals.ts'

export class ConfigManager {
  readonly #options: ConfigManagerOptions
  readonly #current: CurrentConfiguration
  #last: Promise<unknown>

  constructor(options: ConfigManagerOptions) {
    this.#options = options
    this.#current = new CurrentConfiguration(options)
    this.#last = Promise.resolve()
  }

  /** Adds a consumer, which is called before the existing ones. */
  addConsumer(consumer: ConfigConsumer): void {
    this.#current.addConsumer(consumer)
  }

  /** The configuration of the layers: parts of it may wait for the next start. */
  get config(): GodwitConfig {
    return this.#current.wanted
  }

  get history(): ConfigHistory {
    return this.#options.history
  }

  /** Adds the configuration of the start to the history if it differs from the newest version. */
  async recordStart(): Promise<void> {
    const { history } = this.#options
    const settings = history.toSettings(this.config)
    if (history.newest !== undefined && JSON.stringify(history.newest.settings) === JSON.stringify(settings)) return
    await rememberChange(this.#current, { name: 'start', author: { name: '', by: 'start', address: '' } }, true)
  }

  /** Replaces the whole configuration by `text`. Earlier changes of the API are dropped. */
  replaceText(text: string, author: ConfigAuthor): Promise<ConfigOutcome> {
    return this.#runInTurn(async () => {
      const request: ChangeRequest = { name: 'config_update', author, origin: 'api', writesFile: true }
      // An accepted text becomes the file, so that its positions are those of the file. A refused one is only in the request.
      const { file } = this.#options.dependencies
      const layers = toLayers(this.#current, text, { merges: false, name: file })
      const outcome = 'isDone' in layers ? layers : await this.#carryOut(layers, request)
      if (outcome.isDone || outcome.why === 'not-written') return outcome
      return { ...outcome, message: outcome.message.replaceAll(`${file}:`, `${requestName}:`) }
    })
  }

  /** Returns the effect of `replaceText` (or with `merges`, `mergeText`) without changing anything. */
  async tryText(text: string, { merges }: { readonly merges: boolean }): Promise<ConfigOutcome> {
    return previewAsOutcome(this.#current, this.previewText(text, merges))
  }

  /** Changes the settings in `text`; others stay. */
  async mergeText(text: string, author: ConfigAuthor): Promise<ConfigOutcome> {
    const read = readSentText(text, this.#options)
    return 'isDone' in read ? read : this.change(read.values, { author, persists: true, name: 'config_update' })
  }

  /** Returns what `text` would change, without changing anything. */
  previewText(text: string, merges = false): readonly Difference[] | ConfigRefusal {
    const layers = toLayers(this.#current, text, { merges })
    return 'isDone' in layers ? layers : previewLayers(this.#current, layers)
  }

  /** Changes settings. `persists`: the change still applies after a restart. A function gets the configuration before the change. */
  change(
    requested: ConfigObject | ((config: GodwitConfig) => ConfigObject | ConfigRefusal),
    { author, persists, name }: { readonly author: ConfigAuthor; readonly persists: boolean; readonly name: string },
  ): Promise<ConfigOutcome> {
    return this.#runInTurn(async () => {
      const current = this.#current
      const settings = typeof requested === 'function' ? requested(this.config) : requested
      if ('isDone' in settings) return settings
      const request: ChangeRequest = { name, author, origin: 'api', writesFile: false }
      const mergeUntilRestart = (part: ConfigObject): ConfigLayers => ({
        ...current.layers,
        untilRestart: mergeObjects(current.layers.untilRestart, part),
      })
      const sent = omitValues(settings, listMaskedPaths(settings, this.config))
      const tried = current.load(mergeUntilRestart(sent), request)
      if ('errors' in tried) return refuseErrors('invalid', tried.errors)
      // The caller expects the setting to be applied. Only the change that requires a restart may be deferred.
      const waitsFor = current.findRestartSetting(tried.config)
      if (waitsFor !== undefined && (!persists || current.findRestartSetting(this.config) !== undefined)) {
        return refuseUntilRestart(waitsFor)
      }
      const pinned = current.findPinned(sent, mergeUntilRestart(sent), request)
      if (pinned.length > 0) return refusePinned(pinned)
      const news = current.findNew(sent, mergeUntilRestart(sent), request)
      if (!persists) return this.#carryOut(mergeUntilRestart(news), request)
      const { document, changes } = current.layers
      const newPaths = listSettings(news, this.config).map(({ path }) => path)
      const untilRestart = omitValues(current.layers.untilRestart, newPaths)
      return this.#carryOut({ document, changes: mergeObjects(changes, news), untilRestart }, request)
    })
  }

  /** Drops stored changes of the settings of `keys`: see `removeFromLayers`. `isDryRun`: only returns the changes. */
  unset(keys: readonly string[], { author, isDryRun }: UnsetOptions): Promise<ConfigOutcome> {
    return this.#runInTurn(async () => {
      const current = this.#current
      const request: ChangeRequest = { name: 'config_unset', author, origin: 'api', writesFile: false }
      const paths = parseKeys(keys)
      if ('isDone' in paths) return paths
      const pinned = paths.filter((path) => this.isPinned(path))
      if (pinned.length > 0) return refusePinned(pinned.map((path) => path.join('.')))
      const load = (layers: ConfigLayers): LoadedConfig => current.load(layers, request)
      const unset = removeFromLayers(current.layers, paths, { config: this.config, load })
      if ('isDone' in unset) return unset
      const outcome = isDryRun
        ? previewAsOutcome(current, previewLayers(current, unset.layers))
        : await this.#carryOut(unset.layers, request)
      return outcome.isDone ? { ...outcome, warnings: [...outcome.warnings, ...unset.warnings] } : outcome
    })
  }

  /** Replaces the item at `path` by `value`; undefined: deletes it. The change still applies after a restart. */
  putNamed(
    path: readonly string[],
    value: ConfigObject | undefined,
    { author, name }: { readonly author: ConfigAuthor; readonly name: string },
  ): Promise<ConfigOutcome> {
    return this.#runInTurn(async () => {
      const { document, changes, untilRestart } = this.#current.layers
      if (this.isPinned(path)) return refusePinned([path.join('.')])
      const isInFile = findConfigValue(document?.values, path) !== undefined
      const wanted = value ?? (isInFile ? { kind: 'null' as const, at: nothingChanged.at } : undefined)
      const rest = omitValue(changes, path)
      const layers = {
        document,
        changes: wanted === undefined ? rest : putValue(rest, path, wanted),
        untilRestart: omitValue(untilRestart, path),
      }
      return this.#carryOut(layers, { name, author, origin: 'api', writesFile: false })
    })
  }

  /** All written settings, with `--set` and without settings until the restart. `folder`: base of relative file names. */
  get written(): { readonly values: ConfigObject; readonly folder: string } {
    const current = this.#current
    const loaded = current.load({ ...current.layers, untilRestart: nothingChanged }, { origin: 'file' })
    const values = 'written' in loaded ? loaded.written : current.mergeWrittenSettings()
    return { values, folder: dirname(current.layers.document?.file ?? this.#options.dependencies.file) }
  }

  /** Returns what `written` has at a path. */
  findWritten(path: readonly string[]): ConfigValue | undefined {
    return findWritten(this.#current.layers, this.#options.dependencies.overrides, path)
  }

  /** Returns whether `--set` has a setting of that path. */
  isPinned(path: readonly string[]): boolean {
    return isPinned(path, listPinnedPaths(this.#options.dependencies.overrides))
  }

  /** Returns the effect of a change of these settings, without changing anything: see the function of the same name. */
  previewSettings(
    settings: ConfigObject,
    files: { texts: ReadonlyMap<string, string>; passesOverFiles?: boolean },
  ): PreviewedChange | ConfigRefusal {
    return previewSettings(this.#current, settings, files)
  }

  /** Reads the file again. */
  reload(author: ConfigAuthor): Promise<ConfigOutcome> {
    return this.#runInTurn(async () => {
      const current = this.#current
      const { dependencies, paths } = this.#options
      const request: ChangeRequest = { name: 'reload', author, origin: 'file', writesFile: false }
      const file = current.layers.document?.file ?? dependencies.file
      if (current.layers.document === undefined && !existsSync(file)) return this.#carryOut(current.layers, request)
      const source = readConfigFile(file)
      if ('error' in source) return refuseProblem({ problem: `configuration ${file}: ${source.error}` })
      const read = readDocument(dependencies, { text: source.text, file, origin: 'file', paths })
      if ('errors' in read) return refuseErrors('not-hocon', read.errors)
      const { document } = read
      const { layers, warnings: gone } = mergeLayers(document, current.layers, dependencies.overrides)
      const outcome = await this.#carryOut(layers, request)
      if (!outcome.isDone) return outcome
      const overruled = findOverruledSettings(dependencies, layers, this.config)
      const warnings = [...outcome.warnings, ...gone, ...overruled]
      return { ...outcome, pinned: current.findPinned(document.values, layers, request), warnings }
    })
  }

  /** Restores a version of the history. */
  rollBack(number: number, author: ConfigAuthor): Promise<ConfigOutcome> {
    return this.#runInTurn(async () => {
      const version = this.#options.history.find(number)
      if (version === undefined) {
        return { isDone: false, why: 'unknown-version', message: `configuration ${number} is not in the history` }
      }
      const { dependencies, paths } = this.#options
      const { file } = dependencies
      const read = readDocument(dependencies, { text: version.text ?? '', file, origin: 'history', paths })
      if ('errors' in read) return refuseErrors('invalid', read.errors)
      const request: ChangeRequest = { name: `rollback to ${number}`, author, origin: 'history', writesFile: true }
      const changes = parsePlainSettings(version.changes)
      return this.#carryOut(
        { document: read.document, changes, untilRestart: parsePlainSettings(version.untilRestart) },
        request,
      )
    })
  }

  #carryOut(layers: ConfigLayers, request: ChangeRequest): Promise<ConfigOutcome> {
    return carryOutChange(this.#current, layers, request)
  }

  /** Runs changes one after the other, so that each starts from the result of the previous one. */
  #runInTurn(work: () => Promise<ConfigOutcome>): Promise<ConfigOutcome> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {
      // The caller gets the error, and the next change runs anyway.
    })
    return done
  }
}
