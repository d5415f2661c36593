// Bridges: operations of the node.

import type { DiskCacheConfig, MqttBridgeConfig } from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'

/** Files of a bridge: its certificate, its key, its trusted authorities. */
export type BridgeFile = 'certfile' | 'keyfile' | 'cacertfile'

/** State of a bridge. Times are milliseconds since 1970. */
export interface BridgeReport {
  readonly name: string
  readonly state: 'off' | 'preparing' | 'connecting' | 'connected' | 'draining' | 'waiting'
  readonly sinceMs: number
  /** The current URL. */
  readonly server: string
  /** The current MQTT version. */
  readonly version: number
  /** Since the last connection. */
  readonly attempts: number
  readonly lastError: string | undefined
  readonly lastErrorAtMs: number | undefined
  /** Sent and not acknowledged. */
  readonly inFlight: number
  readonly spooled: number
  /** Publication time of the oldest queued message; undefined: none, or unknown. */
  readonly oldestAtMs: number | undefined
  /** Messages dropped because the queue was full or they expired. */
  readonly spoolDropped: number
  /** Drops by reason. */
  readonly spoolDrops: Readonly<Record<string, number>>
  /** Filters of clients that are subscribed at the remote broker, directly or covered by others. */
  readonly passedOn: number
  /** Filters that exceed the limit, or that the remote broker refused. */
  readonly notPassedOn: number
  readonly counters: {
    readonly sent: number
    readonly sentAgain: number
    readonly sentBytes: number
    readonly acknowledged: number
    readonly received: number
    readonly receivedBytes: number
    readonly connects: number
    readonly failures: number
    readonly unexpected: number
    /** By reason. */
    readonly dropped: Readonly<Record<string, number>>
  }
  /** Recent messages per second. */
  readonly sentRate: number
  readonly receivedRate: number
}

/** Bridges of the node, for the API. */
export interface BridgeOperations {
  /** By name, in the order of the configuration; those to AWS IoT come last. */
  list(): ReadonlyMap<string, MqttBridgeConfig>
  cache(): DiskCacheConfig
  /** By name. Bridges of a restarting shard are missing. */
  reports(): Promise<ReadonlyMap<string, BridgeReport>>
  /** Returns the certificates in a file of a bridge, as PEM; undefined: missing or unreadable. */
  certificatesIn(file: string): Promise<string | undefined>
  /** Writes PEM of an existing bridge into the data directory. Returns the name of the file. */
  storePem(bridge: string, file: BridgeFile, pem: string): Promise<string>
  /** Adds a bridge to the configuration. An existing name is a problem. */
  create(bridge: string, settings: Settings, caller: Caller): Promise<BridgeProblem | undefined>
  /** Removes an existing bridge from the configuration. */
  remove(bridge: string, caller: Caller): Promise<BridgeProblem | undefined>
  /** Absent settings are unchanged. */
  change(bridge: string, settings: NewBridgeSettings, caller: Caller): Promise<BridgeProblem | undefined>
}

type Settings = Readonly<Record<string, unknown>>

/**
 * By the names of the configuration; null: the default. A function gets the bridge after earlier changes: two
 * simultaneous additions to a list would otherwise overwrite each other.
 */
export type NewBridgeSettings = Settings | ((bridge: MqttBridgeConfig) => Settings)

export interface BridgeProblem {
  readonly problem: string
  /** The settings are invalid, or could not be written. */
  readonly isAbout: 'settings' | 'disk'
}
