// Differences between two configurations, and what they need to apply; the whole configuration as text or object.

import type { SettingText } from './check/check-settings.ts'
import type { GodwitConfig } from './godwit-config.ts'
import type { AppliesOn } from './schema/setting.ts'
import { parseHocon } from './hocon/parse-hocon.ts'
import { toPlain, type PlainValue } from './hocon/config-values.ts'
import { mask } from './secrets/mask.ts'
import { maskUrlSecrets } from './secrets/url-secrets.ts'

/**
 * A setting that differs between two configurations. Values are as in a file; secrets are masked; undefined: absent.
 */
export interface Difference {
  readonly key: string
  readonly old: string | undefined
  readonly new: string | undefined
  /** When the new value applies. */
  readonly appliesOn: AppliesOn
  readonly hasEffect: boolean
  /** False: the setting is only the default of a new or removed item, such as a listener. */
  readonly isWritten: boolean
}

/** Returns the settings of `after` that differ from `before`, in the order of the reference. */
export function compareConfigs(before: GodwitConfig, after: GodwitConfig): readonly Difference[] {
  const found: Difference[] = []
  const compare = (key: string, old: SettingText | undefined, now: SettingText | undefined): void => {
    // Sections that were not changed share their texts.
    if (old === now || old?.text === now?.text) return
    const { appliesOn, hasEffect } = now ?? old ?? { appliesOn: 'at-restart', hasEffect: true }
    const exists = old !== undefined && now !== undefined
    const isWritten = exists || (now ?? old)?.isDefault === false
    found.push({ key, old: show(old), new: show(now), appliesOn, hasEffect, isWritten })
  }
  for (const [key, old] of before.settingTexts) compare(key, old, after.settingTexts.get(key))
  for (const [key, now] of after.settingTexts) if (!before.settingTexts.has(key)) compare(key, undefined, now)
  return found
}

/** Enables or disables a whole listener or bridge. */
const enabledKeys = /^(?:listeners|bridges)\.\w+\.[^.]+\.enable$/

/** The effect of differences, for administrators. */
export interface ApplyResult {
  readonly changed: readonly Difference[]
  readonly needsRestart: readonly Difference[]
  readonly withoutEffect: readonly Difference[]
}

/**
 * `live`: those of `found` that apply now. For a new or removed listener or bridge only `enable` and written settings
 * are reported, not its many defaults.
 */
export function toApplyResult(found: readonly Difference[], live: readonly Difference[]): ApplyResult {
  const reported = found.filter(({ isWritten, hasEffect, key }) => isWritten || (hasEffect && enabledKeys.test(key)))
  const applied = new Set(live)
  const others = reported.filter((difference) => !applied.has(difference))
  return {
    changed: reported.filter((difference) => applied.has(difference)),
    needsRestart: others.filter(({ hasEffect }) => hasEffect),
    withoutEffect: others.filter(({ hasEffect }) => !hasEffect),
  }
}

/** Returns every setting of a configuration with its value, secrets masked. */
export function describeConfig(config: GodwitConfig): ReadonlyMap<string, string> {
  return new Map([...config.settingTexts].map(([key, setting]) => [key, show(setting) ?? '']))
}

/** A value as JSON; durations, sizes and so on are text as in a file. Objects have no prototype. */
export type DescribedValue = PlainValue

interface Description {
  [key: string]: DescribedValue | Description
}

/**
 * Returns the whole configuration as one object, each section an object in it, secrets masked. Apart from masked secrets it
 * can be read as a configuration.
 */
export function describeAsObject(config: GodwitConfig): Readonly<Record<string, DescribedValue>> {
  return describeSections(config, () => true)
}

/** Returns what `describeAsObject` has for one section; undefined: nothing. */
export function describeSection(config: GodwitConfig, section: string): DescribedValue | undefined {
  return describeSections(config, (name) => name === section)[section]
}

function describeSections(
  config: GodwitConfig,
  isWanted: (section: string | undefined) => boolean,
): Readonly<Record<string, DescribedValue>> {
  const whole: Description = Object.create(null) as Description
  const listeners = new Set(config.listeners.map(({ kind, name }) => `${kind} ${name}`))
  for (const setting of config.settingTexts.values()) {
    if (!isWanted(setting.path[0])) continue
    if (isUnusedListener(setting, listeners) || isIgnoredServiceSetting(setting)) continue
    const names = setting.path.slice(0, -1)
    let place = whole
    for (const name of names) place = (place[name] ??= Object.create(null) as Description) as Description
    const [last] = setting.path.slice(-1)
    if (last !== undefined) place[last] = toDescribedValue(setting)
  }
  return whole
}

/** Connectors, actions and sources have settings of EMQX that are ignored: they are omitted unless they are written. */
function isIgnoredServiceSetting({ path: [section], hasEffect, isDefault }: SettingText): boolean {
  return isDefault && !hasEffect && (section === 'connectors' || section === 'actions' || section === 'sources')
}

/** Default settings of listeners that are not configured are omitted. */
function isUnusedListener(
  { path: [section, kind, name], isDefault }: SettingText,
  listeners: ReadonlySet<string>,
): boolean {
  if (section !== 'listeners' || !isDefault) return false
  return !listeners.has(`${kind ?? ''} ${name ?? ''}`) && !listeners.has(`${kind ?? ''} default`)
}

/** Values of texts that were described before. */
const describedValues = new WeakMap<SettingText, DescribedValue>()

function toDescribedValue(setting: SettingText): DescribedValue {
  const known = describedValues.get(setting)
  if (known !== undefined) return known
  const value = parseValue(setting)
  describedValues.set(setting, value)
  return value
}

function parseValue(setting: SettingText): DescribedValue {
  const text = show(setting) ?? ''
  if (text === mask) return mask
  const parsed = parseHocon(`value = ${text}`, { file: '' })
  const value = 'value' in parsed ? parsed.value.entries.get('value') : undefined
  return value === undefined ? text : toPlain(value)
}

function show(setting: SettingText | undefined): string | undefined {
  if (setting === undefined) return undefined
  // A secret that is not set is shown as such.
  return setting.isSecret && !setting.isDefault ? mask : maskUrlSecrets(setting.text)
}
