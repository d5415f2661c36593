// What the handlers of the API use of a running node.

import type { GodwitConfig } from '../../config/index.ts'
import type {
  AccessRecords,
  Alarms,
  AuditLog,
  Backups,
  BridgeConfig,
  ClusterNode,
  ConfigManager,
  GatewayConfig,
  ListenerManager,
  Monitoring,
  NodeDrain,
  NamespaceLimitsInForce,
  PluginManager,
  ShadowedCredentials,
  ShardSupervisor,
  WatchedFiles,
} from '../../node/index.ts'
import type { Store } from '../../storage/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { Names } from './names.ts'

/** Parts of a running node. */
export interface NodeParts {
  readonly config: GodwitConfig
  readonly nodeName: string
  readonly version: string
  /** Monotonic clock. */
  readonly startedAtMs: number
  /** Absolute. */
  readonly dataDirectory: string
  readonly counters: SharedArrayBuffer
  readonly histograms: SharedArrayBuffer
  readonly supervisor: ShardSupervisor
  readonly accessRecords: AccessRecords
  readonly log: Logger
  readonly listeners: ListenerManager
  readonly bridges: BridgeConfig
  readonly gateways: GatewayConfig
  /** Maximum connections of the machine. */
  readonly maxFileConnections: number
  readonly configuration: ConfigManager
  readonly alarms: Alarms
  readonly observation: Monitoring
  readonly shadowedCredentials: ShadowedCredentials
  /** The store of the main thread. */
  readonly ownStore: Store
  readonly audit: AuditLog
  readonly backups: Backups
  /** Undefined: the node is alone. */
  readonly cluster: Pick<ClusterNode, 'describe' | 'runCommand'> | undefined
  readonly drain: NodeDrain
  readonly watchedFiles: WatchedFiles
  readonly namespaceLimits: NamespaceLimitsInForce
  readonly plugins: PluginManager
}

/** What the handlers for one namespace, or for the whole broker, use. Handlers of a subject take a `Pick` of it. */
export interface ApiContext extends NodeParts {
  readonly names: Names
}
