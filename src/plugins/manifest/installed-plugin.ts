// A plugin as it is installed, with its settings: the runtime starts it from this.

import type { PluginManifest } from './plugin-manifest.ts'

/** Settings `plugins.NAME.*`. Times are in milliseconds, sizes in bytes. */
export interface PluginSettings {
  /** A call that takes longer fails; a process that is silent for as long is killed. */
  readonly timeoutMs: number
  /** Maximum of the JavaScript heap of its process. */
  readonly maxHeapBytes: number
  /** Maximum resident memory of its process. */
  readonly maxMemoryBytes: number
  /** Result of a hook that fails. Authentication and authorization are always denied. */
  readonly onFailure: 'ignore' | 'deny'
  /** After so many failures in a row, `onFailure` applies without a call. */
  readonly maxFailures: number
  /** Then one call decides whether the plugin works again. */
  readonly retryAfterMs: number
  /** Maximum number of calls of the node at once. */
  readonly maxPending: number
  /** Filters in addition to those of the manifest: both must match. Empty: they match everything. */
  readonly topics: readonly string[]
  readonly clients: readonly string[]
  readonly listeners: readonly string[]
}

export const defaultPluginSettings: PluginSettings = {
  timeoutMs: 1_000,
  maxHeapBytes: 134_217_728,
  maxMemoryBytes: 268_435_456,
  onFailure: 'ignore',
  maxFailures: 5,
  retryAfterMs: 10_000,
  maxPending: 1_000,
  topics: [],
  clients: [],
  listeners: [],
}

export interface InstalledPlugin {
  readonly manifest: PluginManifest
  /** Absolute path of the unpacked archive. */
  readonly directory: string
  /** Configuration of the plugin, as its schema allows: JSON. */
  readonly config: unknown
  readonly settings: PluginSettings
}
