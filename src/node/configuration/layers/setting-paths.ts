// Finds the settings in a part of a configuration, and those that cannot be changed.

import {
  type ConfigObject,
  type ConfigValue,
  type GodwitConfig,
  hasMaskedUrl,
  mask,
  maskUrlSecrets,
  parseOverride,
  putValues,
  toPlain,
  findConfigValue,
} from '../../../config/index.ts'

export interface WrittenSetting {
  readonly path: readonly string[]
  readonly value: ConfigValue
}

const formatPath = (path: readonly string[]): string => JSON.stringify(path)

/** Returns every setting in `written`: values of settings of `config`, null, and empty groups. */
export function listSettings(written: ConfigObject, config: GodwitConfig): readonly WrittenSetting[] {
  const known = new Set([...config.settingTexts.values()].map(({ path }) => formatPath(path)))
  const found: WrittenSetting[] = []
  const walk = (value: ConfigValue, path: readonly string[]): void => {
    if (value.kind !== 'object' || value.entries.size === 0 || known.has(formatPath(path))) found.push({ path, value })
    else for (const [key, part] of value.entries) walk(part, [...path, key])
  }
  for (const [key, part] of written.entries) walk(part, [key])
  return found
}

/** Returns the paths of `--set`. */
export function listPinnedPaths(overrides: readonly string[]): readonly (readonly string[])[] {
  return overrides.flatMap((override) => {
    const parsed = parseOverride(override)
    return 'error' in parsed ? [] : [parsed.path]
  })
}

/** Returns whether one path contains the other. */
export function isPinned(path: readonly string[], pinned: readonly (readonly string[])[]): boolean {
  return pinned.some((other) => other.every((part, index) => index >= path.length || part === path[index]))
}

/** Returns the paths in `written` of masked secrets. */
export function listMaskedPaths(written: ConfigObject, config: GodwitConfig): readonly (readonly string[])[] {
  return listSettings(written, config).flatMap(({ path, value }) => {
    const setting = config.settingTexts.get(path.join('.'))
    if (setting === undefined) return []
    const sent = toPlain(value)
    const isMasked = setting.isSecret ? sent === mask : isShownText(JSON.stringify(sent), setting.text)
    return isMasked ? [path] : []
  })
}

const maskText = JSON.stringify(mask)
const spaces = /(?<=[,[])\s+/g

/** Returns whether `sent`, as JSON, is the text with masked URLs that the API shows for a setting. `text`: as in a configuration file. */
function isShownText(sent: string, text: string): boolean {
  return hasMaskedUrl(sent) && sent.replaceAll(spaces, '') === maskUrlSecrets(text).replaceAll(spaces, '')
}

/** Returns the stored values at `paths`, if there are any. */
export function selectStored(stored: ConfigObject, paths: readonly (readonly string[])[]): ConfigObject {
  const none: ConfigValue = { kind: 'null', at: stored.at }
  const empty: ConfigObject = { ...stored, entries: new Map() }
  const kept = paths.map((path) => ({ path, value: findConfigValue(stored, path) ?? none }))
  return putValues(empty, kept)
}

/** Returns settings with a mask, which is well known, in the place of a secret. */
export function listMaskedKeys(config: GodwitConfig): readonly string[] {
  const masked: string[] = []
  for (const [key, { isSecret, text }] of config.settingTexts)
    if ((isSecret && text === maskText) || hasMaskedUrl(text)) masked.push(key)
  return masked
}
