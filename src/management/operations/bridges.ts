import type { DiskCacheConfig, MqttBridgeConfig } from '../../config/index.ts'
import type { Caller } from '../../contract/index.ts'

/** Which of a bridge's files: its certificate, its key, the authorities that it believes. */
export type BridgeFile = 'certfile' | 'keyfile' | 'cacertfile'

/** How a bridge is. Times are milliseconds since 1970. */
export interface BridgeReport {
  readonly name: string
  readonly state: 'off' | 'preparing' | 'connecting' | 'connected' | 'draining' | 'waiting'
  readonly sinceMs: number
  /** The URL that it is connected to, or tries. */
  readonly server: string
  /** The version of MQTT that it speaks with that. */
  readonly version: number
  /** Since the last connection. */
  readonly attempts: number
  readonly lastError: string | undefined
  readonly lastErrorAtMs: number | undefined
  /** Sent and not acknowledged. */
  readonly inFlight: number
  readonly spooled: number
  /** Of what is in the spool; undefined: it is empty, or nobody knows. */
  readonly oldestAtMs: number | undefined
  /** Messages that the spool had no room for, or that were too old. */
  readonly spoolDropped: number
  /** The same by reason. */
  readonly spoolDrops: Readonly<Record<string, number>>
  /** Filters of clients here that it has subscribed to there, or that lie within those. */
  readonly passedOn: number
  /** Those that were too many, or that the remote broker refused. */
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
  /** Messages in a second, lately. */
  readonly sentRate: number
  readonly receivedRate: number
}

/** What the management asks of the node about bridges. */
export interface BridgeOperations {
  /** By name, in the order of the configuration; those to AWS IoT come last. */
  list(): ReadonlyMap<string, MqttBridgeConfig>
  cache(): DiskCacheConfig
  /** By name. One whose shard is away at the moment is not among them. */
  reports(): Promise<ReadonlyMap<string, BridgeReport>>
  /** The certificates in a file of a bridge, as PEM; undefined: there is none that can be read. */
  certificatesIn(file: string): Promise<string | undefined>
  /** Writes PEM of a bridge that exists into the data directory. Gives the name of the file. */
  storePem(bridge: string, file: BridgeFile, pem: string): Promise<string>
  /** Adds a bridge to the configuration. A name that exists is a problem. */
  create(bridge: string, settings: Settings, caller: Caller): Promise<BridgeProblem | undefined>
  /** Removes a bridge that exists from the configuration. */
  remove(bridge: string, caller: Caller): Promise<BridgeProblem | undefined>
  /** What is not named stays. */
  change(bridge: string, settings: NewBridgeSettings, caller: Caller): Promise<BridgeProblem | undefined>
}

type Settings = Readonly<Record<string, unknown>>

/**
 * By the names of the configuration; null: the default. A function is given the bridge as the changes before this one have left
 * it: two that add to a list at the same time would else take each other's items away.
 */
export type NewBridgeSettings = Settings | ((bridge: MqttBridgeConfig) => Settings)

export interface BridgeProblem {
  readonly problem: string
  /** The settings are wrong, or they could not be written. */
  readonly isAbout: 'settings' | 'disk'
}
