// The modules, and the settings that they are. A module has no state of its own, so it is right after a restart and an import.

import type { GodwitConfig } from '../../config/index.ts'

export interface Module {
  readonly name: string
  readonly description: string
  /** All are true if the module is active. */
  readonly settings: readonly string[]
  /** The one that is set to false to turn it off. */
  readonly switch: string
}

function defineModule(name: string, description: string, setting: string): Module {
  return { name, description, settings: [setting], switch: setting }
}

export const modules: readonly Module[] = [
  defineModule('acl_internal', 'Access rules of the configuration', 'modules.acl_internal'),
  defineModule('presence', 'Messages about clients that connect and disconnect', 'sys_topics.client_events'),
  defineModule('delayed', 'Delayed messages', 'delayed.enable'),
  defineModule('rewrite', 'Topic rewrite', 'modules.rewrite'),
  defineModule('subscription', 'Automatic subscriptions', 'modules.subscription'),
  defineModule('topic_metrics', 'Numbers of messages of topics', 'modules.topic_metrics'),
  defineModule('retainer', 'Retained messages', 'mqtt.retain_available'),
  {
    name: 'psk_file',
    description: 'Authentication by pre-shared keys',
    settings: ['auth.psk.enable', 'modules.psk_file'],
    switch: 'modules.psk_file',
  },
  defineModule('slow_subs', 'List of clients that receive slowly', 'modules.slow_subs'),
  defineModule('dashboard', 'Dashboard', 'dashboard.enable'),
]

/** Returns the module; undefined: there is none. Other brokers write `emqx_mod_presence`, `emqx_retainer` and `internal_acl`. */
export function findModule(name: string): Module | undefined {
  const bare = name.replace(/^emqx_(?:mod_)?/, '')
  const own = bare === 'internal_acl' ? 'acl_internal' : bare
  return modules.find((module) => module.name === own)
}

export function isModuleActive({ settings }: Module, { settingTexts }: Pick<GodwitConfig, 'settingTexts'>): boolean {
  return settings.every((key) => settingTexts.get(key)?.text === 'true')
}

/** Returns the settings that turn the module on or off, as an object of sections. */
export function createModuleSettings(module: Module, isOn: boolean): Readonly<Record<string, unknown>> {
  const settings: Record<string, unknown> = {}
  for (const key of isOn ? module.settings : [module.switch]) addSetting(settings, key.split('.'), isOn)
  return settings
}

function addSetting(section: Record<string, unknown>, [first = '', ...rest]: readonly string[], value: boolean): void {
  if (rest.length === 0) section[first] = value
  else addSetting((section[first] ??= {}) as Record<string, unknown>, rest, value)
}
