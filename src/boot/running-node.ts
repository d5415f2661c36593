// A node: what it is started with, and what it offers while it runs.

import type { ShutdownRequest } from '../api/index.ts'
import type { GodwitConfig, Warning } from '../config/index.ts'
import type {
  AccessRecords,
  Backups,
  ClusterMembers,
  ConfigManager,
  ConfigOutcome,
  ConfigurationSources,
  Installation,
  ListenerAddress,
  RestartPolicy,
} from '../node/index.ts'
import type { PluginRuntime } from '../plugins/index.ts'
import type { Logger } from '../telemetry/index.ts'
import type { RunningManagement } from './management.ts'

export interface NodeOptions {
  readonly config: GodwitConfig
  /** Warnings of the configuration, for the log. */
  readonly warnings: readonly Warning[]
  readonly installation: Installation
  /** Sources of the configuration; without them only changes of the API are possible. */
  readonly sources?: ConfigurationSources
  /** Text of the alarm if changed settings were restored from the history: they are written to their file again. */
  readonly restoredSettings?: string | undefined
  /** Version of this program. */
  readonly version?: string
  /** The script of a shard; tests use another one. */
  readonly shardEntry?: URL
  readonly restarts?: RestartPolicy
  /** Fixed members of the cluster, for tests; undefined: the database of `cluster.stores` decides. */
  readonly clusterMembers?: ClusterMembers
  /** Time for the shards to stop; less than the ten seconds of the node. */
  readonly shardStopMs?: number
  /** Returns why a restart would fail: called before a request for it is accepted. */
  readonly findRestartProblem?: () => string | undefined
}

export interface RunningNode {
  readonly name: string
  /** Absolute. */
  readonly dataDirectory: string
  /** The open listeners. */
  readonly listeners: readonly ListenerAddress[]
  readonly log: Logger
  /** The management API. */
  readonly management: Pick<RunningManagement, 'address' | 'dashboardAddress' | 'newPassword'>
  /** Shared counters of all shards, for `readCounters`. */
  readonly counters: SharedArrayBuffer
  /** Resolves with an error text when the node cannot continue: then call `stop` and end the process with 1. */
  readonly broken: Promise<string>
  /** Resolves with a request to stop or restart: call `stop`, and for a restart start it again. */
  readonly shutdownRequested: Promise<ShutdownRequest>
  /** Reports an exception of a client library. Returns false if it is one of the node: then end the process. */
  reportLibraryFailure(error: unknown): boolean
  /** Checks certificates, keys and revocation lists now instead of at the next interval. */
  reloadFiles(): void
  /** Stored access records; changes apply to all shards. */
  readonly accessRecords: AccessRecords
  /** Runs plugins. */
  readonly plugins: PluginRuntime
  /** Backups. */
  readonly backup: Backups
  /** Changes the configuration while the node runs. */
  readonly configuration: ConfigManager
  /** Reads the configuration files again on request, and records the request. */
  reloadConfiguration(): Promise<ConfigOutcome>
  /** Disconnects clients with 0x8B, closes the store, releases the data directory. At most 10 seconds. */
  stop(): Promise<void>
}

export type NodeStart =
  | { readonly node: RunningNode }
  /** `isDiskFull`: a later start succeeds when there is space. */
  | { readonly problem: string; readonly isDiskFull?: boolean }
