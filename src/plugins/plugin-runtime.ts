// What runs plugins, as the registry of installed plugins sees it.

import type { InstalledPlugin } from './manifest/installed-plugin.ts'

/** `reason` is a text for administrators: why the plugin does not start. */
export type StartResult = { readonly started: true } | { readonly started: false; readonly reason: string }

/** Without the permission `net`: whether a network namespace of the system refuses the network, or only the process itself. */
export type NetworkAccess = 'allowed' | 'refused-by-system' | 'refused-by-process'

/** A started or suspended plugin. A plugin that was never started, or was stopped, has no state. */
export interface PluginState {
  readonly name: string
  readonly version: string
  /**
   * `restarting`: its process has ended, or was killed, and starts again after a delay. `suspended`: it cannot start; its hooks fail without
   * a call until it is started or stopped.
   */
  readonly status: 'running' | 'restarting' | 'suspended'
  /** Why its process ended, why it is suspended, or why its calls fail; undefined: it works. */
  readonly problem: string | undefined
  /** 0 while it has none. */
  readonly processId: number
  readonly network: NetworkAccess
  /** Totals of all shards. */
  readonly calls: number
  readonly failures: number
  /** Calls without an answer. */
  readonly pending: number
  readonly restarts: number
  /** Of the plugin itself, by name. */
  readonly metrics: {
    readonly counters: Readonly<Record<string, number>>
    readonly gauges: Readonly<Record<string, number>>
  }
}

/** One for each node. The order of the plugins is the order of their hooks. */
export interface PluginRuntime {
  /** Resolves when the plugin has answered and the hooks call it, or when it does not start: then nothing of it is left. */
  start(plugin: InstalledPlugin): Promise<StartResult>
  /** Resolves when no call is pending and its process has ended. Does nothing if the plugin is not started. */
  stop(name: string): Promise<void>
  /** Starts the new process, switches, and lets the old one finish. If the new one does not start, the old one stays. */
  replace(plugin: InstalledPlugin): Promise<StartResult>
  /** Order of the hooks of started plugins, by name. Names that are missing come last, in the order of their start. */
  setOrder(names: readonly string[]): void
  /**
   * Keeps the hooks of an enabled plugin that cannot start, without a process: each call fails, so that `on_failure` decides and clients are
   * not let in. `reason` is a text for administrators. Resolves when the hooks are in place.
   */
  suspend(plugin: InstalledPlugin, reason: string): Promise<void>
  states(): readonly PluginState[]
}
