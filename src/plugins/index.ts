// Entry point of the module plugins: hooks in processes of their own, and the packages that plugins are.

export {
  decidingHooks,
  hookNames,
  notifyingHooks,
  pluginApiVersion,
  type DecidingHook,
  type HookName,
  type NotifyingHook,
  type PluginManifest,
  type PluginPermission,
} from './manifest/plugin-manifest.ts'
export { defaultPluginSettings, type InstalledPlugin, type PluginSettings } from './manifest/installed-plugin.ts'
export type { NetworkAccess, PluginRuntime, PluginState, StartResult } from './plugin-runtime.ts'
export { unpackPlugin, deleteDrafts, type UnpackedPlugin, type UnpackOutcome } from './archives/unpack-plugin.ts'
export { digestDirectory } from './archives/directory-digest.ts'
export {
  createDefaultConfig,
  findConfigProblem,
  maskPasswords,
  restorePasswords,
  type PluginConfig,
} from './manifest/config-schema.ts'
export { findNewPermissions, formatPermission, parsePermission } from './manifest/plugin-permissions.ts'
export { orderNames, parsePosition, type PluginPosition } from './installation/move-plugin.ts'
export {
  findStoredConfigProblem,
  PluginLibrary,
  type LibraryPlugin,
  type PluginRefusal,
  type PluginRefusalReason,
  type PreparedPlugin,
} from './installation/plugin-library.ts'
export { formatVersionedName } from './installation/plugin-record.ts'
export { HookedPlugin } from './channel/hooked-plugin.ts'
export {
  parseAuthentication,
  parseAuthorization,
  type AuthenticationAnswer,
  type AuthorizationAnswer,
} from './channel/parse-access-answers.ts'
export type { PluginRequest } from './channel/plugin-channel.ts'
export { PluginHooks, type PluginHooksDependencies } from './channel/plugin-hooks.ts'
export {
  createPluginCounters,
  sumPluginCell,
  type PlannedPlugin,
  type PluginFilters,
  type PluginPlan,
} from './channel/plugin-plan.ts'
export { PluginSupervisor, type PluginShards } from './supervisor/plugin-supervisor.ts'
