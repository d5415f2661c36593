// Changes the configuration, in the same way for all callers: the whole new configuration is checked, new files are staged on disk, each
// consumer applies its part, and then the files are put in place; or everything stays as it was.
//
//   layers ──► loaded ──► files staged ──► consumers, in order ──► files in place ──► history
//              │ errors   │ disk           │ one fails              │ disk
//              ▼          ▼                ▼                        ▼
//              refused: nothing has changed, or changes are undone
//
// Changes run one after the other. Settings that apply at the next start are only written and reported.

import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  type ConfigObject,
  type ConfigValue,
  type Difference,
  differences,
  type GodwitConfig,
  type LoadedConfig,
  mergeObjects,
  putValue,
  putValues,
  applyResultOf,
  toPlain,
  valueAt,
  type Warning,
  withoutValue,
  withoutValues,
} from '../../config/index.ts'
import { withStoredAccount, refusalOfAccountChange } from './account-settings.ts'
import { readConfigFile } from './config-files.ts'
import type { ConfigAuthor, ConfigHistory, ConfigState } from './config-history.ts'
import type { ConfigManagerOptions } from './config-manager-options.ts'
import type { ConfigChange, ConfigOutcome, PreviewedChange } from './config-outcome.ts'
import {
  type ConfigRefusal,
  refuseDisk,
  refuseErrors,
  refuseMasked,
  refusePinned,
  refuseProblem,
  refuseUntilRestart,
} from './config-refusals.ts'
import {
  type ConfigLayers,
  loadLayers,
  nothingChanged,
  readDocument,
  requestName,
  settingsOf,
  type TextOrigin,
  writeSettings,
  writtenAt,
} from './config-layers.ts'
import { applyEverywhere, type ConfigConsumer } from './config-consumers.ts'
import { keptLocal, localErrors } from './local-settings.ts'
import { isPinned, maskedKeys, maskedPaths, pinnedPaths, settingsIn, storedAt } from './setting-paths.ts'
import { layersOver } from './layers-over.ts'
import { overruledSettings } from './overruled-settings.ts'
import { readSentText } from './sent-text.ts'
import { layersWithout, pathsOfKeys, type UnsetOptions } from './unset-settings.ts'
import { commitAll, discardAll, type StagedFile, stageFile } from './staged-file.ts'

export type { ConfigAuthor } from './config-history.ts'
export type { ConfigManagerOptions } from './config-manager-options.ts'
export type { ConfigChange, ConfigOutcome, PreviewedChange } from './config-outcome.ts'
export type { ConfigRefusal } from './config-refusals.ts'

interface Act {
  /** Name in the history. */
  readonly name: string
  readonly author: ConfigAuthor
  readonly origin: TextOrigin
  readonly writesFile: boolean
}

export class ConfigManager {
  readonly #options: ConfigManagerOptions
  #consumers: readonly ConfigConsumer[]
  #layers: ConfigLayers
  /** The configuration of the layers. */
  #wanted: GodwitConfig
  /** The applied configuration. */
  #running: GodwitConfig
  #last: Promise<unknown>

  constructor(options: ConfigManagerOptions) {
    this.#options = options
    this.#consumers = options.consumers
    this.#layers = options.layers
    this.#wanted = options.config
    this.#running = options.config
    this.#last = Promise.resolve()
  }

  /** Adds a consumer, which is called before the existing ones. */
  addConsumer(consumer: ConfigConsumer): void {
    this.#consumers = [consumer, ...this.#consumers]
  }

  /** The configuration of the layers: parts of it may wait for the next start. */
  get config(): GodwitConfig {
    return this.#wanted
  }

  get history(): ConfigHistory {
    return this.#options.history
  }

  /** Adds the configuration of the start to the history if it differs from the newest version. */
  async noteStart(): Promise<void> {
    const { history } = this.#options
    const settings = history.settingsOf(this.#wanted)
    if (history.newest !== undefined && JSON.stringify(history.newest.settings) === JSON.stringify(settings)) return
    await this.#remember({ name: 'start', author: { name: '', by: 'start', address: '' } }, true)
  }

  /** Replaces the whole configuration by `text`. Earlier changes of the API are dropped. */
  replaceText(text: string, author: ConfigAuthor): Promise<ConfigOutcome> {
    return this.#inTurn(async () => {
      const act: Act = { name: 'config_update', author, origin: 'api', writesFile: true }
      // An accepted text becomes the file, so that its positions are those of the file. A refused one is only in the request.
      const { file } = this.#options.dependencies
      const layers = this.#layersOf(text, false, file)
      const outcome = 'isDone' in layers ? layers : await this.#carryOut(layers, act)
      if (outcome.isDone || outcome.why === 'not-written') return outcome
      return { ...outcome, message: outcome.message.replaceAll(`${file}:`, `${requestName}:`) }
    })
  }

  /** Returns the effect of `replaceText` (or with `merges`, `mergeText`) without changing anything. */
  async tryText(text: string, { merges }: { readonly merges: boolean }): Promise<ConfigOutcome> {
    return this.#toOutcome(this.previewText(text, merges))
  }

  #toOutcome(found: readonly Difference[] | ConfigRefusal): ConfigOutcome {
    if ('isDone' in found) return found
    const [changed, needsRestart] = [true, false].map((isLive) => found.filter((one) => this.#isLive(one) === isLive))
    return { isDone: true, changed, needsRestart, withoutEffect: [], pinned: [], warnings: [] }
  }

  /** Changes the settings in `text`; others stay. */
  async mergeText(text: string, author: ConfigAuthor): Promise<ConfigOutcome> {
    const read = readSentText(text, this.#options)
    return 'isDone' in read ? read : this.change(read.values, { author, persists: true, name: 'config_update' })
  }

  /** Returns what `text` would change, without changing anything. */
  previewText(text: string, merges = false): readonly Difference[] | ConfigRefusal {
    const layers = this.#layersOf(text, merges)
    return 'isDone' in layers ? layers : this.#preview(layers)
  }

  #preview(layers: ConfigLayers): readonly Difference[] | ConfigRefusal {
    const loaded = this.#load(layers, { origin: 'api' })
    if ('errors' in loaded) return refuseErrors('invalid', loaded.errors)
    const why = this.#options.problemOf(loaded.config)
    return why === undefined ? differences(this.#wanted, loaded.config) : refuseProblem(why, loaded.config)
  }

  #layersOf(text: string, merges = false, name = requestName): ConfigLayers | ConfigRefusal {
    const read = readSentText(text, this.#options, name)
    if ('isDone' in read) return read
    if (merges) return { ...this.#layers, changes: mergeObjects(this.#layers.changes, read.values) }
    const stored = this.#written()
    const kept = mergeObjects(withStoredAccount(read, stored), keptLocal(read, stored))
    const changes = mergeObjects(kept, storedAt(stored, maskedPaths(read.values, this.#wanted)))
    return { document: read, changes, untilRestart: nothingChanged }
  }

  /** Changes settings. `persists`: the change still applies after a restart. A function gets the configuration before the change. */
  change(
    wanted: ConfigObject | ((config: GodwitConfig) => ConfigObject | ConfigRefusal),
    { author, persists, name }: { readonly author: ConfigAuthor; readonly persists: boolean; readonly name: string },
  ): Promise<ConfigOutcome> {
    return this.#inTurn(async () => {
      const settings = typeof wanted === 'function' ? wanted(this.#wanted) : wanted
      if ('isDone' in settings) return settings
      const act: Act = { name, author, origin: 'api', writesFile: false }
      const over = (part: ConfigObject): ConfigLayers => ({
        ...this.#layers,
        untilRestart: mergeObjects(this.#layers.untilRestart, part),
      })
      const sent = withoutValues(settings, maskedPaths(settings, this.#wanted))
      const tried = this.#load(over(sent), act)
      if ('errors' in tried) return refuseErrors('invalid', tried.errors)
      // The caller expects the setting to be applied. Only the change that requires a restart may be deferred.
      const waitsFor = this.#settingThatNeedsRestart(tried.config)
      if (waitsFor !== undefined && (!persists || this.#settingThatNeedsRestart(this.#wanted) !== undefined)) {
        return refuseUntilRestart(waitsFor)
      }
      const pinned = this.#pinnedIn(sent, over(sent), act)
      if (pinned.length > 0) return refusePinned(pinned)
      const news = this.#newIn(sent, over(sent), act)
      if (!persists) return this.#carryOut(over(news), act)
      const { document, changes } = this.#layers
      const newPaths = settingsIn(news, this.#wanted).map(({ path }) => path)
      const untilRestart = withoutValues(this.#layers.untilRestart, newPaths)
      return this.#carryOut({ document, changes: mergeObjects(changes, news), untilRestart }, act)
    })
  }

  /** Drops stored changes of the settings of `keys`: see `layersWithout`. `isDryRun`: only returns the changes. */
  unset(keys: readonly string[], { author, isDryRun }: UnsetOptions): Promise<ConfigOutcome> {
    return this.#inTurn(async () => {
      const act: Act = { name: 'config_unset', author, origin: 'api', writesFile: false }
      const paths = pathsOfKeys(keys)
      if ('isDone' in paths) return paths
      const pinned = paths.filter((path) => this.isPinned(path))
      if (pinned.length > 0) return refusePinned(pinned.map((path) => path.join('.')))
      const load = (layers: ConfigLayers): LoadedConfig => this.#load(layers, act)
      const unset = layersWithout(this.#layers, paths, { config: this.#wanted, load })
      if ('isDone' in unset) return unset
      const outcome = isDryRun ? this.#toOutcome(this.#preview(unset.layers)) : await this.#carryOut(unset.layers, act)
      return outcome.isDone ? { ...outcome, warnings: [...outcome.warnings, ...unset.warnings] } : outcome
    })
  }

  /** Replaces the item at `path` by `value`; undefined: deletes it. The change still applies after a restart. */
  putNamed(
    path: readonly string[],
    value: ConfigObject | undefined,
    { author, name }: { readonly author: ConfigAuthor; readonly name: string },
  ): Promise<ConfigOutcome> {
    return this.#inTurn(async () => {
      const { document, changes, untilRestart } = this.#layers
      if (this.isPinned(path)) return refusePinned([path.join('.')])
      const isInFile = valueAt(document?.values, path) !== undefined
      const wanted = value ?? (isInFile ? { kind: 'null' as const, at: nothingChanged.at } : undefined)
      const rest = withoutValue(changes, path)
      const layers = {
        document,
        changes: wanted === undefined ? rest : putValue(rest, path, wanted),
        untilRestart: withoutValue(untilRestart, path),
      }
      return this.#carryOut(layers, { name, author, origin: 'api', writesFile: false })
    })
  }

  /** All written settings, with `--set` and without settings until the restart. `folder`: base of relative file names. */
  get written(): { readonly values: ConfigObject; readonly folder: string } {
    const { dependencies } = this.#options
    const loaded = this.#load({ ...this.#layers, untilRestart: nothingChanged }, { origin: 'file' })
    const values = 'written' in loaded ? loaded.written : this.#written()
    return { values, folder: dirname(this.#layers.document?.file ?? dependencies.file) }
  }

  /** Returns what `written` has at a path. */
  writtenAt(path: readonly string[]): ConfigValue | undefined {
    return writtenAt(this.#layers, this.#options.dependencies.overrides, path)
  }

  /** Returns whether `--set` has a setting of that path. */
  isPinned(path: readonly string[]): boolean {
    return isPinned(path, pinnedPaths(this.#options.dependencies.overrides))
  }

  /**
   * Returns the effect of a change of these settings, without changing anything. `texts`: files that do not exist yet, by path.
   * `passesOverFiles`: other files are assumed to be valid.
   */
  previewSettings(
    settings: ConfigObject,
    { texts, passesOverFiles = false }: { texts: ReadonlyMap<string, string>; passesOverFiles?: boolean },
  ): PreviewedChange | ConfigRefusal {
    const layers = { ...this.#layers, untilRestart: mergeObjects(this.#layers.untilRestart, settings) }
    const { dependencies, paths } = this.#options
    const files = { paths, texts, passesOverFiles }
    const loaded = loadLayers(dependencies, layers, { origin: 'api', ...files })
    if ('errors' in loaded) return refuseErrors('invalid', loaded.errors)
    const local = localErrors(loaded.config, this.#wanted)
    if (local.length > 0) return refuseErrors('invalid', local)
    // `problemOf` reads files as well.
    const problem = passesOverFiles ? undefined : this.#options.problemOf(loaded.config)
    if (problem !== undefined) return refuseProblem(problem, loaded.config)
    const found = differences(this.#wanted, loaded.config)
    const waits = this.#settingThatNeedsRestart(loaded.config) !== undefined
    const live = waits ? [] : found.filter((difference) => this.#isLive(difference))
    const needsRestart = waits ? found : found.filter((difference) => !this.#isLive(difference))
    return { isDone: true, config: loaded.config, live, needsRestart }
  }

  /** Reads the file again. */
  reload(author: ConfigAuthor): Promise<ConfigOutcome> {
    return this.#inTurn(async () => {
      const { dependencies, paths } = this.#options
      const act: Act = { name: 'reload', author, origin: 'file', writesFile: false }
      const file = this.#layers.document?.file ?? dependencies.file
      if (this.#layers.document === undefined && !existsSync(file)) return this.#carryOut(this.#layers, act)
      const source = readConfigFile(file)
      if ('error' in source) return refuseProblem({ problem: `configuration ${file}: ${source.error}` })
      const read = readDocument(dependencies, { text: source.text, file, origin: 'file', paths })
      if ('errors' in read) return refuseErrors('not-hocon', read.errors)
      const { document } = read
      const { layers, warnings: gone } = layersOver(document, this.#layers, dependencies.overrides)
      const outcome = await this.#carryOut(layers, act)
      if (!outcome.isDone) return outcome
      const overruled = overruledSettings(dependencies, layers, this.#wanted)
      const warnings = [...outcome.warnings, ...gone, ...overruled]
      return { ...outcome, pinned: this.#pinnedIn(document.values, layers, act), warnings }
    })
  }

  /** Restores a version of the history. */
  rollback(number: number, author: ConfigAuthor): Promise<ConfigOutcome> {
    return this.#inTurn(async () => {
      const version = this.#options.history.find(number)
      if (version === undefined) {
        return { isDone: false, why: 'unknown-version', message: `configuration ${number} is not in the history` }
      }
      const { dependencies, paths } = this.#options
      const { file } = dependencies
      const read = readDocument(dependencies, { text: version.text ?? '', file, origin: 'history', paths })
      if ('errors' in read) return refuseErrors('invalid', read.errors)
      const act: Act = { name: `rollback to ${number}`, author, origin: 'history', writesFile: true }
      const changes = settingsOf(version.changes)
      return this.#carryOut({ document: read.document, changes, untilRestart: settingsOf(version.untilRestart) }, act)
    })
  }

  /** Runs changes one after the other, so that each starts from the result of the previous one. */
  #inTurn(work: () => Promise<ConfigOutcome>): Promise<ConfigOutcome> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {
      // The caller gets the error, and the next change runs anyway.
    })
    return done
  }

  #load(layers: ConfigLayers, { origin }: Pick<Act, 'origin'>, ignoresOverrides = false): LoadedConfig {
    const { dependencies, paths } = this.#options
    const loaded = loadLayers(dependencies, layers, { origin, paths, ignoresOverrides })
    if (origin === 'file' || ignoresOverrides || 'errors' in loaded) return loaded
    const errors = localErrors(loaded.config, this.#wanted)
    return errors.length === 0 ? loaded : { errors }
  }

  /** All written settings, except those of `--set`. */
  #written(): ConfigObject {
    const { document, changes, untilRestart } = this.#layers
    return mergeObjects(mergeObjects(document?.values ?? nothingChanged, changes), untilRestart)
  }

  /** Returns keys of `written` that `--set` overrides with another value. */
  #pinnedIn(written: ConfigObject, layers: ConfigLayers, act: Pick<Act, 'origin'>): readonly string[] {
    const pinned = pinnedPaths(this.#options.dependencies.overrides)
    if (pinned.length === 0 || written.entries.size === 0) return []
    const [free, complete] = [this.#load(layers, act, true), this.#load(layers, act)]
    if ('errors' in complete) return []
    return settingsIn(written, complete.config).flatMap(({ path }) => {
      const key = path.join('.')
      if (!isPinned(path, pinned)) return []
      // If the configuration is invalid without `--set`, a comparison is impossible.
      if ('errors' in free) return [key]
      return free.config.settingTexts.get(key)?.text === complete.config.settingTexts.get(key)?.text ? [] : [key]
    })
  }

  /** Returns the parts of `sent` that differ from the current values. Values sent back unchanged are not written. */
  #newIn(sent: ConfigObject, layers: ConfigLayers, act: Pick<Act, 'origin'>): ConfigObject {
    const tried = this.#load(layers, act)
    const after = 'config' in tried ? tried.config : this.#wanted
    const news = settingsIn(sent, after).filter(({ path }) => {
      const key = path.join('.')
      const [old, now] = [this.#wanted.settingTexts.get(key), after.settingTexts.get(key)]
      const isSame = old !== undefined && old.text === now?.text
      return !isSame || valueAt(this.#layers.untilRestart, path) !== undefined
    })
    return putValues(nothingChanged, news)
  }

  async #carryOut(layers: ConfigLayers, act: Act): Promise<ConfigOutcome> {
    const consumers = this.#consumers
    const loaded = this.#load(layers, act)
    if ('errors' in loaded) return refuseErrors('invalid', loaded.errors)
    const { config } = loaded
    const masked = act.origin === 'api' ? maskedKeys(config) : []
    if (masked.length > 0) return refuseMasked(masked)
    const problem = this.#options.problemOf(config)
    if (problem !== undefined) return refuseProblem(problem, config)
    const found = differences(this.#running, config)
    const forbidden = refusalOfAccountChange(() => differences(this.#wanted, config), act)
    if (forbidden !== undefined) return forbidden
    const waits = this.#settingThatNeedsRestart(config) !== undefined
    const live = waits ? [] : found.filter((difference) => this.#isLive(difference))
    const after = waits ? this.#running : config
    const staged = await this.#stage(layers, act)
    if ('isDone' in staged) return staged
    const keys = live.map(({ key }) => key)
    const refused = await applyEverywhere(consumers, keys, { before: this.#running, after })
    if (refused !== undefined) {
      await discardAll(staged.files)
      return refuseProblem(refused, config)
    }
    const unwritten = await commitAll(staged.files)
    if (unwritten !== undefined) {
      await applyEverywhere(consumers, keys, { before: after, after: this.#running })
      return refuseDisk(unwritten.error)
    }
    return this.#conclude({ layers, config, found, live, waits, warnings: loaded.warnings }, act)
  }

  async #conclude(
    done: {
      readonly layers: ConfigLayers
      readonly config: GodwitConfig
      readonly found: readonly Difference[]
      readonly live: readonly Difference[]
      readonly waits: boolean
      readonly warnings: readonly Warning[]
    },
    act: Act,
  ): Promise<ConfigChange> {
    const { layers, config, found, live, waits, warnings } = done
    const written = layers.document === undefined || !act.writesFile ? nothingChanged : layers.document.values
    const pinned = this.#pinnedIn(written, layers, act)
    const isNew = differences(this.#wanted, config).length > 0
    this.#layers = layers
    this.#wanted = config
    if (!waits) this.#running = { ...config, settingTexts: this.#appliedTexts(config, found) }
    const { changed, needsRestart, withoutEffect } = applyResultOf(found, live)
    await this.#remember(act, isNew)
    this.#log(act, { live: changed, needsRestart })
    const allWarnings = [...warnings, ...this.#options.warningsOf(config)]
    return { isDone: true, changed, needsRestart, withoutEffect, pinned, warnings: allWarnings }
  }

  #settingThatNeedsRestart(config: GodwitConfig): string | undefined {
    return this.#options.settingThatNeedsRestart(config, this.#running)
  }

  #isLive({ key, appliesOn, hasEffect }: Pick<Difference, 'key' | 'appliesOn' | 'hasEffect'>): boolean {
    return appliesOn !== 'at-restart' && hasEffect && this.#consumers.some((owner) => owner.owns(key))
  }

  /** Returns the applied values: settings that apply at the next start keep their earlier values. */
  #appliedTexts(config: GodwitConfig, found: readonly Difference[]): GodwitConfig['settingTexts'] {
    const waiting = found.filter((difference) => !this.#isLive(difference))
    if (waiting.length === 0) return config.settingTexts
    const texts = new Map(config.settingTexts)
    for (const { key } of waiting) {
      const earlier = this.#running.settingTexts.get(key)
      if (earlier === undefined) texts.delete(key)
      else texts.set(key, earlier)
    }
    return texts
  }

  async #stage(layers: ConfigLayers, act: Act): Promise<{ readonly files: readonly StagedFile[] } | ConfigRefusal> {
    const { dependencies } = this.#options
    const files: StagedFile[] = []
    try {
      if (act.writesFile)
        files.push(await stageFile(dependencies.file, layers.document?.text ?? '', { keepsOld: true }))
      const changes = writeSettings(layers.changes)
      if (layers.changes !== this.#layers.changes && changes !== writeSettings(this.#layers.changes))
        files.push(await stageFile(dependencies.changesFile, changes, { keepsOld: true }))
      return { files }
    } catch (error) {
      await discardAll(files)
      return refuseDisk(error)
    }
  }

  #log({ name, author }: Act, { live, needsRestart }: Record<'live' | 'needsRestart', readonly Difference[]>): void {
    const { log } = this.#options
    const event = name === 'reload' ? 'configuration reloaded' : 'configuration changed'
    const by = { by: author.by, name: author.name, address: author.address }
    log.warn(event, { act: name, ...by, changes: live.length, needRestart: needsRestart.length })
    for (const { key, old, new: now, appliesOn } of [...live, ...needsRestart]) {
      log.warn('setting changed', { key, old: old ?? '', new: now ?? '', takes: appliesOn })
    }
  }

  /** `isNew`: settings differ from the newest version. */
  async #remember({ name, author }: Pick<Act, 'name' | 'author'>, isNew: boolean): Promise<void> {
    const { history, log } = this.#options
    const { document, changes, untilRestart } = this.#layers
    const state: ConfigState = {
      text: document?.text,
      changes: toPlain(changes),
      untilRestart: toPlain(untilRestart),
      settings: history.settingsOf(this.#wanted),
    }
    // A change without effect removes no version from the history.
    if (!isNew && history.isNewest(state)) return
    try {
      const isOwnFile = document !== undefined && document.file === this.#options.dependencies.ownFile
      await history.add({ atMs: Date.now(), author, act: name, ...state, isOwnFile })
    } catch (error) {
      // The change is applied anyway: a failure to write the history does not undo it.
      log.error('configuration history not written', { why: (error as Error).message })
    }
  }
}
