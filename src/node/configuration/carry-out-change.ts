// Carries out one change of the configuration: it is checked, its files are staged, each consumer applies its part, and the
// files are put in place; or everything stays as it was.
//
//   layers ──► loaded ──► files staged ──► consumers, in order ──► files in place ──► history
//              │ errors   │ disk           │ one fails              │ disk
//              ▼          ▼                ▼                        ▼
//              refused: nothing has changed, or changes are undone

import {
  type Difference,
  compareConfigs,
  type GodwitConfig,
  toApplyResult,
  toPlain,
  type Warning,
} from '../../config/index.ts'
import { checkAccountChange } from './check-account-change.ts'
import { applyEverywhere } from './config-consumers.ts'
import type { ConfigState } from './config-history.ts'
import { type ConfigLayers, nothingChanged, writeSettings } from './layers/config-layers.ts'
import type { ConfigChange, ConfigOutcome } from './config-outcome.ts'
import { type ConfigRefusal, refuseDisk, refuseErrors, refuseMasked, refuseProblem } from './config-refusals.ts'
import type { ChangeRequest, CurrentConfiguration } from './current-configuration.ts'
import { listMaskedKeys } from './layers/setting-paths.ts'
import { commitAll, discardAll, type StagedFile, stageFile } from './staged-file.ts'

/** Applies `layers` and writes them. `current` has them then, unless the change is refused. */
export async function carryOutChange(
  current: CurrentConfiguration,
  layers: ConfigLayers,
  request: ChangeRequest,
): Promise<ConfigOutcome> {
  const { consumers, running } = current
  const loaded = current.load(layers, request)
  if ('errors' in loaded) return refuseErrors('invalid', loaded.errors)
  const { config } = loaded
  const refusal = checkChange(current, config, request)
  if (refusal !== undefined) return refusal
  const found = compareConfigs(running, config)
  const { waits, live } = current.divideByEffect(config, found)
  const after = waits ? running : config
  const staged = await stageFiles(current, layers, request)
  if ('isDone' in staged) return staged
  const keys = live.map(({ key }) => key)
  const refused = await applyEverywhere(consumers, keys, { before: running, after })
  if (refused !== undefined) {
    await discardAll(staged.files)
    return refuseProblem(refused, config)
  }
  const unwritten = await commitAll(staged.files)
  if (unwritten !== undefined) {
    await applyEverywhere(consumers, keys, { before: after, after: running })
    return refuseDisk(unwritten.error)
  }
  return concludeChange(current, { layers, config, found, live, waits, warnings: loaded.warnings }, request)
}

/** Returns why a valid configuration is refused. */
function checkChange(
  { options, wanted }: CurrentConfiguration,
  config: GodwitConfig,
  request: ChangeRequest,
): ConfigRefusal | undefined {
  const masked = request.origin === 'api' ? listMaskedKeys(config) : []
  if (masked.length > 0) return refuseMasked(masked)
  const problem = options.findProblem(config)
  if (problem !== undefined) return refuseProblem(problem, config)
  return checkAccountChange(() => compareConfigs(wanted, config), request)
}

async function stageFiles(
  { options, layers: { changes: before } }: CurrentConfiguration,
  layers: ConfigLayers,
  { writesFile }: ChangeRequest,
): Promise<{ readonly files: readonly StagedFile[] } | ConfigRefusal> {
  const { file, changesFile } = options.dependencies
  const files: StagedFile[] = []
  try {
    if (writesFile) files.push(await stageFile(file, layers.document?.text ?? '', { keepsOld: true }))
    const changes = writeSettings(layers.changes)
    if (layers.changes !== before && changes !== writeSettings(before))
      files.push(await stageFile(changesFile, changes, { keepsOld: true }))
    return { files }
  } catch (error) {
    await discardAll(files)
    return refuseDisk(error)
  }
}

async function concludeChange(
  current: CurrentConfiguration,
  done: {
    readonly layers: ConfigLayers
    readonly config: GodwitConfig
    readonly found: readonly Difference[]
    readonly live: readonly Difference[]
    readonly waits: boolean
    readonly warnings: readonly Warning[]
  },
  request: ChangeRequest,
): Promise<ConfigChange> {
  const { layers, config, found, live, waits, warnings } = done
  const written = layers.document === undefined || !request.writesFile ? nothingChanged : layers.document.values
  const pinned = current.findPinned(written, layers, request)
  const isNew = compareConfigs(current.wanted, config).length > 0
  const running = waits ? current.running : { ...config, settingTexts: readAppliedTexts(current, config, found) }
  current.replace({ layers, wanted: config, running })
  const { changed, needsRestart, withoutEffect } = toApplyResult(found, live)
  await rememberChange(current, request, isNew)
  logChange(current, request, { live: changed, needsRestart })
  const allWarnings = [...warnings, ...current.options.findWarnings(config)]
  return { isDone: true, changed, needsRestart, withoutEffect, pinned, warnings: allWarnings }
}

/** Returns the applied values: settings that apply at the next start keep their earlier values. */
function readAppliedTexts(
  current: CurrentConfiguration,
  config: GodwitConfig,
  found: readonly Difference[],
): GodwitConfig['settingTexts'] {
  const waiting = found.filter((difference) => !current.isLive(difference))
  if (waiting.length === 0) return config.settingTexts
  const texts = new Map(config.settingTexts)
  for (const { key } of waiting) {
    const earlier = current.running.settingTexts.get(key)
    if (earlier === undefined) texts.delete(key)
    else texts.set(key, earlier)
  }
  return texts
}

function logChange(
  { options: { log } }: CurrentConfiguration,
  { name, author }: ChangeRequest,
  { live, needsRestart }: Record<'live' | 'needsRestart', readonly Difference[]>,
): void {
  const event = name === 'reload' ? 'configuration reloaded' : 'configuration changed'
  const by = { by: author.by, name: author.name, address: author.address }
  log.warn(event, { act: name, ...by, changes: live.length, needRestart: needsRestart.length })
  for (const { key, old, new: now, appliesOn } of [...live, ...needsRestart]) {
    log.warn('setting changed', { key, old: old ?? '', new: now ?? '', takes: appliesOn })
  }
}

/** Adds the current configuration to the history. `isNew`: settings differ from the newest version. */
export async function rememberChange(
  { options, layers, wanted }: CurrentConfiguration,
  { name, author }: Pick<ChangeRequest, 'name' | 'author'>,
  isNew: boolean,
): Promise<void> {
  const { history, log, dependencies } = options
  const { document, changes, untilRestart } = layers
  const state: ConfigState = {
    text: document?.text,
    changes: toPlain(changes),
    untilRestart: toPlain(untilRestart),
    settings: history.toSettings(wanted),
  }
  // A change without effect removes no version from the history.
  if (!isNew && history.isNewest(state)) return
  try {
    const isOwnFile = document !== undefined && document.file === dependencies.ownFile
    await history.add({ atMs: Date.now(), author, act: name, ...state, isOwnFile })
  } catch (error) {
    // The change is applied anyway: a failure to write the history does not undo it.
    log.error('configuration history not written', { why: (error as Error).message })
  }
}
