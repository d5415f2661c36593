// Which settings a part of a configuration speaks of, and which of them may not be changed.

import {
  type ConfigObject,
  type ConfigValue,
  type GodwitConfig,
  mask,
  parseOverride,
  putValue,
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

/** Secrets that were sent back as they were shown: what is stored of them, to lie over that. undefined: there are none. */
export function storedSecrets(sent: GodwitConfig, stored: ConfigObject): ConfigObject | undefined {
  let secrets: ConfigObject | undefined
  for (const setting of sent.held.values()) {
    if (!setting.isSecret || setting.text !== JSON.stringify(mask)) continue
    const none: ConfigValue = { kind: 'null', at: stored.at }
    const empty: ConfigObject = { ...stored, entries: new Map() }
    secrets = putValue(secrets ?? empty, setting.path, valueAt(stored, setting.path) ?? none)
  }
  return secrets
}
