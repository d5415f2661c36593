// Settings of plugins, as the module plugins uses them.

import { readDefaultFields, readSettingFields, type SettingFields } from './schema/setting-fields.ts'
import { pluginEntries, pluginsEntries } from './settings/plugins.ts'
import type { SettingValues } from './settings/root.ts'

/** Settings `plugins.NAME`. */
export interface PluginSettingsConfig extends SettingFields<typeof pluginEntries> {
  readonly onFailure: 'ignore' | 'deny'
}

export interface PluginsConfig extends SettingFields<typeof pluginsEntries> {
  /** By the names of plugins, which need not be installed. */
  readonly byName: ReadonlyMap<string, PluginSettingsConfig>
  /** Settings of a plugin that the configuration does not name. */
  readonly defaults: PluginSettingsConfig
}

/** Keys of the section that no plugin can have as its name. */
export const reservedPluginNames: ReadonlySet<string> = new Set(Object.keys(pluginsEntries))

export function toPluginsConfig({ plugins, node }: SettingValues): PluginsConfig {
  const usual = node.security_profile === 'hardened' ? 'deny' : 'ignore'
  const byName = new Map<string, PluginSettingsConfig>()
  for (const [name, values] of plugins.named) {
    byName.set(name, { ...readSettingFields(pluginEntries, values), onFailure: values.on_failure ?? usual })
  }
  const allowedSha256 = plugins.allowed_sha256?.map((digest) => digest.toLowerCase())
  return {
    ...readSettingFields(pluginsEntries, plugins),
    allowedSha256,
    byName,
    defaults: { ...readDefaultFields(pluginEntries), onFailure: usual },
  }
}
