import type { HeldSetting } from './check/check-settings.ts'
import type { GodwitConfig } from './godwit-config.ts'
import type { Takes } from './schema/setting.ts'

/** What stands in the place of a secret. */
export const mask = '******'

/** One setting that two configurations differ in. Values are as in a file; secrets are masked; undefined: not there. */
export interface Difference {
  readonly key: string
  readonly old: string | undefined
  readonly new: string | undefined
  /** When the new value begins to count. */
  readonly takes: Takes
}

/** The settings that `after` has otherwise than `before`, in the order of the reference. */
export function differences(before: GodwitConfig, after: GodwitConfig): readonly Difference[] {
  const keys = new Set([...before.held.keys(), ...after.held.keys()])
  const found: Difference[] = []
  for (const key of keys) {
    const old = before.held.get(key)
    const now = after.held.get(key)
    if (old?.text === now?.text) continue
    const takes = now?.takes ?? old?.takes ?? 'at-restart'
    found.push({ key, old: show(old), new: show(now), takes })
  }
  return found
}

/** Every setting of a configuration with its value, secrets masked. */
export function describeConfig(config: GodwitConfig): ReadonlyMap<string, string> {
  return new Map([...config.held].map(([key, setting]) => [key, show(setting) ?? '']))
}

function show(setting: HeldSetting | undefined): string | undefined {
  // A secret that is not set is not a secret: it may be seen that there is none.
  return setting === undefined || !setting.isSecret || setting.isDefault ? setting?.text : mask
}
