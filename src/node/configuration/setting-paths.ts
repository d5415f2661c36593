// Which settings a part of a configuration speaks of, and which of them may not be changed.

import {
  type ConfigObject,
  type ConfigValue,
  type GodwitConfig,
  mask,
  parseOverride,
  putValues,
  valueAt,
} from '../../config/index.ts'

export interface WrittenSetting {
  readonly path: readonly string[]
  readonly value: ConfigValue
}

const nameOf = (path: readonly string[]): string => JSON.stringify(path)

/** Every setting that `written` speaks of: values of settings of `config`, nothing (null), and empty groups. */
export function settingsIn(written: ConfigObject, config: GodwitConfig): readonly WrittenSetting[] {
  const known = new Set([...config.held.values()].map(({ path }) => nameOf(path)))
  const found: WrittenSetting[] = []
  const walk = (value: ConfigValue, path: readonly string[]): void => {
    if (value.kind !== 'object' || value.entries.size === 0 || known.has(nameOf(path))) found.push({ path, value })
    else for (const [key, part] of value.entries) walk(part, [...path, key])
  }
  for (const [key, part] of written.entries) walk(part, [key])
  return found
}

/** What the path of each `--set` is. */
export function pinnedPaths(overrides: readonly string[]): readonly (readonly string[])[] {
  return overrides.flatMap((override) => {
    const parsed = parseOverride(override)
    return 'fault' in parsed ? [] : [parsed.path]
  })
}

/** Whether one lies in the other. */
export function isPinned(path: readonly string[], pinned: readonly (readonly string[])[]): boolean {
  return pinned.some((other) => other.every((part, index) => index >= path.length || part === path[index]))
}

/** Where in `written` secrets stand as they were shown, and not as they are. */
export function maskedPaths(written: ConfigObject, config: GodwitConfig): readonly (readonly string[])[] {
  return settingsIn(written, config).flatMap(({ path, value }) => {
    const isMask = value.kind === 'text' && value.text === mask
    return isMask && config.held.get(path.join('.'))?.isSecret === true ? [path] : []
  })
}

/** What is stored where `paths` lead, and nothing where nothing is. */
export function storedAt(stored: ConfigObject, paths: readonly (readonly string[])[]): ConfigObject {
  const none: ConfigValue = { kind: 'null', at: stored.at }
  const empty: ConfigObject = { ...stored, entries: new Map() }
  const kept = paths.map((path) => ({ path, value: valueAt(stored, path) ?? none }))
  return putValues(empty, kept)
}

/** Secrets that would be the mask itself: everybody would know them. */
export function maskedKeys(config: GodwitConfig): readonly string[] {
  return [...config.held].flatMap(([key, { isSecret, text }]) =>
    isSecret && text === JSON.stringify(mask) ? [key] : [],
  )
}
