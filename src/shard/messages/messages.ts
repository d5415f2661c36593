// Messages between the main thread and a shard. All must survive a structured clone.

import type { MessagePort } from 'node:worker_threads'
import type { SyncConfig } from '../../config/index.ts'
import type { RulePlan, StoredValueChange } from '../../actions/index.ts'
import type { AccessSettings, RecordChange } from '../../access/index.ts'
import type {
  AlarmTrigger,
  CoreSettings,
  FilterChange,
  MemoryLevel,
  NamespaceSettings,
  PeerNumber,
  SubscribeCommandOptions,
} from '../../core/index.ts'
import type { PluginPlan } from '../../plugins/index.ts'
import type { QoS } from '../../protocol/index.ts'
import type { StoreAddress, StoreNotice, StoreRequest } from '../../storage/index.ts'
import type { AlarmName, LogFields, LogLevel } from '../../telemetry/index.ts'
import type { BridgeAssignment, BridgeReport } from './bridge-assignment.ts'
import type { GatewayPlan } from './gateway-plan.ts'
import type { ShardListener } from './shard-listener.ts'
import type { ShardQuery } from './query-types.ts'

export type { CertificateField } from '../../config/index.ts'

export type { ShardListener } from './shard-listener.ts'

/** A link to another shard: one port of a `MessageChannel`, whose other port that shard or the link thread has. */
export interface ShardLink {
  readonly peer: PeerNumber
  /** The other shard runs on another node, which has other listeners. */
  readonly isRemote?: boolean | undefined
  /** Must be in the transfer list of the message. */
  readonly port: MessagePort
}

/** Difference between the listeners of two configurations. */
export interface ListenerDifference {
  /** New listeners; one may have the address of a closed one. */
  readonly opened: readonly ShardListener[]
  /** Their new settings. Number, host and port are unchanged, and their clients stay connected. */
  readonly changed: readonly ShardListener[]
  /** Numbers of listeners. Their clients are disconnected with 0x8B. */
  readonly closed: readonly number[]
}

/**
 * `learn`: other shards may relay clients of the new listeners from now on. `open`: everything that can fail is done,
 * and can still be undone. `settle`: the difference applies. `abandon`: it is undone.
 */
export type ListenerStep = 'learn' | 'open' | 'settle' | 'abandon'

/** A message of the broker about itself, below `$SYS/`. */
export interface BrokerMessage {
  readonly topic: string
  readonly payload: string
  /** Retained until the next one. */
  readonly retain: boolean
}

/** Settings of a shard that may change while it runs. */
/** A subscription that clients get when they connect. */
export interface AutoSubscription {
  /** With placeholders. */
  readonly topic: string
  readonly qos: QoS
  readonly options: SubscribeCommandOptions
}

export interface ShardSettings {
  /** Undefined: none. */
  readonly autoSubscriptions?: readonly AutoSubscription[] | undefined
  readonly core: CoreSettings
  readonly access: AccessSettings
  /** mqtt.property_size in bytes: all properties of one packet. */
  readonly maxPropertyBytes: number
  readonly logLevel: LogLevel
  /** Whether connections and disconnections of clients are published, if `clientEventsTopic` is set. Undefined: they are. */
  readonly publishesClientEvents?: boolean | undefined
  /**
   * Maximum connections of all shards over all listeners: the lower of limits.max_connections and the open-file limit.
   */
  readonly maxConnections: number
  /** New connections of this shard per second over all of its listeners; may be a fraction. Undefined: no limit. */
  readonly maxConnectionRate?: number | undefined
  /** Undefined: no traces. */
  readonly traces?: readonly TraceTarget[]
}

/** A trace with its name and its condition. */
export interface TraceTarget {
  readonly name: string
  readonly type: 'clientid' | 'topic' | 'ip_address'
  /** A client ID, a topic filter, or an address. */
  readonly value: string
  /**
   * Client ID and filter are as the clients of this namespace send them. Undefined: clients of all namespaces, with the
   * names inside the broker.
   */
  readonly namespace?: string | undefined
}

/** One line of a trace; its fields are in the order of output. */
export type TraceLine = Readonly<Record<string, string | number | boolean | undefined>>

/** The database of a shard of a cluster, and what makes this node the home of the shard. */
export interface ClusterStore {
  readonly address: StoreAddress
  /** Something below the server replicates it. */
  readonly isReplicated: boolean
  readonly life: string
  readonly epoch: number
  /** See `LeaseCell`. Undefined: the members of the cluster are fixed, and no life ends. */
  readonly lease: SharedArrayBuffer | undefined
}

/** `workerData` of a shard. */
export interface ShardStart extends ShardSettings {
  readonly shardNumber: number
  /** Number of shards of the node. Undefined: this is the only one. */
  readonly shards?: number
  /** The shard has accepted clients before its restart. */
  readonly hasServed?: boolean
  /** Links to shards that are running or start together with this one. Others follow as `link`. */
  readonly links?: readonly ShardLink[]
  /** The PostgreSQL that has the records of this shard. Undefined: the LevelDB of the node. */
  readonly clusterStore?: ClusterStore | undefined
  /** Absolute; the main thread holds its lock. */
  readonly dataDirectory: string
  readonly listeners: readonly ShardListener[]
  /** Addresses that are not called: see `denyAddresses`. Undefined: none. */
  readonly deniedAddresses?: readonly string[]
  /** Undefined: none. */
  readonly bridges?: readonly BridgeAssignment[]
  /** Undefined: none. */
  readonly rules?: RulePlan
  readonly gateways?: GatewayPlan
  /** Undefined: none. */
  readonly plugins?: PluginPlan
  /** Clients are accepted after `plugins-started`, at the first start of the shard. */
  readonly awaitsPlugins?: boolean
  /** The name with which bridges of this node mark messages. */
  readonly brokerName?: string
  /** Offset to the monotonic time of the system, the same in all threads: from `clockBaseMs`. */
  readonly clockBaseMs: number
  readonly storage: SyncConfig
  /** This shard's part of mqtt.max_unsent_bytes_total. */
  readonly maxUnsentBytesTotal: number
  /** This shard's part of mqtt.max_unfinished_bytes_total. */
  readonly maxUnfinishedBytesTotal: number
  /** From `createConnectionSlots`: the shards' parts of `maxConnections`. Undefined: this is the only shard. */
  readonly connectionSlots?: SharedArrayBuffer | undefined
  /** Maximum connections of the node that take a file each: all but those of gateways over UDP and DTLS. Undefined: no limit. */
  readonly maxFileConnections?: number
  /** Like `connectionSlots`, but for `maxFileConnections`. */
  readonly fileConnectionSlots?: SharedArrayBuffer | undefined
  /** File descriptors that connections of all shards may still use: see `ConnectionLimit`. */
  readonly freeDescriptors?: SharedArrayBuffer | undefined
  /** From `createCounterTable`; the shard writes its own row. */
  readonly counters: SharedArrayBuffer
  /** From `createHistogramTable`; the shard writes its own row. Undefined: not collected. */
  readonly histograms?: SharedArrayBuffer | undefined
  /** From `createMemoryTable`; the shard writes its own row. Undefined: not collected. */
  readonly memoryTable?: SharedArrayBuffer | undefined
  /** This shard's part of node.memory_limit. Undefined: no limit. */
  readonly memoryPartBytes?: number | undefined
  /** From `createCrashMarker`: the record that the shard was reading when it failed. Undefined: not recorded. */
  readonly crashMarker?: SharedArrayBuffer | undefined
  /** Undefined: there are no namespaces. */
  readonly namespaces?: NamespaceSettings | undefined
  /** From `createNamespaceTable`: counters and limits of namespaces. Undefined: not counted. */
  readonly namespaceTable?: SharedArrayBuffer | undefined
  /** From `createLoginTable`: failed logins of the node. Undefined: the shard counts its own. */
  readonly loginTable?: SharedArrayBuffer | undefined
  /** Prefix of the topics for connections and disconnections of clients. */
  readonly clientEventsTopic?: string | undefined
}

export type ShardToNode =
  /** Every listener accepts connections, or after a restart those that can be opened. */
  | { readonly kind: 'ready'; readonly listeners: readonly { name: string; host: string; port: number }[] }
  /** The shard cannot start, and its thread has ended. `message` is an error text for administrators. */
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly event: string; readonly fields: LogFields | undefined }
  | { readonly kind: 'trace'; readonly name: string; readonly line: TraceLine }
  /** Raises an alarm. */
  | { readonly kind: 'alarm'; readonly name: AlarmName; readonly message: string }
  /** Filters of clients, for all other shards. */
  | { readonly kind: 'client-filters'; readonly notice: FilterNotice }
  /** The link to the peer ended, because bytes of it could not be read. Both shards need a new one. */
  | { readonly kind: 'link-failed'; readonly peer: PeerNumber }
  /** State of the bridges of this shard; sent every second while there are any. */
  | { readonly kind: 'bridges'; readonly reports: readonly BridgeReport[] }
  /** Values that rules have stored for the node. */
  | { readonly kind: 'stored-values'; readonly changes: readonly StoredValueChange[] }
  /** This node is not the home of the shard any more: the thread ends, and is not started again. */
  | { readonly kind: 'home-lost'; readonly reason: string }
  /** Ends an alarm. */
  | { readonly kind: 'alarm-over'; readonly name: AlarmName; readonly message: string }
  /** To the store owner. */
  | { readonly kind: 'store'; readonly request: StoreRequest }
  /** Response to a query of the node, with its number. */
  | { readonly kind: 'query-result'; readonly number: number; readonly result: unknown }
  /** A change of the node is applied, or failed with a problem. */
  | { readonly kind: 'changed'; readonly change: number; readonly problem?: string | undefined }
  /** Clients are disconnected and the store is closed: the thread may end. */
  | { readonly kind: 'stopped' }

export type NodeToShard =
  | { readonly kind: 'stop' }
  /** Replaces the traces. The response is `changed`. */
  | { readonly kind: 'traces'; readonly change: number; readonly targets: readonly TraceTarget[] }
  /** Certificates, keys and revocation lists are checked now instead of at the next interval. */
  | { readonly kind: 'reload-files' }
  /** Messages of the broker about itself, at QoS 0, for subscribers on all shards. */
  | { readonly kind: 'broker-messages'; readonly messages: readonly BrokerMessage[] }
  /** Values that rules of the node have stored, in their final order. `isOwn`: this shard has sent them. */
  | { readonly kind: 'stored-values'; readonly changes: readonly StoredValueChange[]; readonly isOwn: boolean }
  /** An alarm was raised or has ended: rules for it run on this shard only. */
  | { readonly kind: 'alarm'; readonly trigger: AlarmTrigger }
  /** The response is `query-result` with the same number. */
  | { readonly kind: 'query'; readonly number: number; readonly query: ShardQuery }
  /** Memory level of the node: sent when it changes, and once per second while memory is short. */
  | { readonly kind: 'memory'; readonly level: MemoryLevel; readonly step: number }
  /** Memory is short: run a garbage collection now, unless that would take too much of the thread's time. */
  | { readonly kind: 'collect-garbage' }
  /** From the store owner. */
  | { readonly kind: 'store'; readonly notice: StoreNotice }
  /** Applied from the next turn on. The response is `changed`. */
  | {
      readonly kind: 'settings'
      readonly change: number
      readonly settings: ShardSettings
    }
  /** Replaces the bridges. The response is `changed`. */
  | { readonly kind: 'bridges'; readonly change: number; readonly plans: readonly BridgeAssignment[] }
  /** Replaces rules and actions. The response is `changed`. */
  | { readonly kind: 'rules'; readonly change: number; readonly plan: RulePlan }
  | { readonly kind: 'gateways'; readonly change: number; readonly plan: GatewayPlan }
  /** Enabled plugins have answered, or do not start. */
  | { readonly kind: 'plugins-started' }
  /** Replaces the plugins and the processes that get their calls. The response is `changed`. */
  | { readonly kind: 'plugins'; readonly change: number; readonly plan: PluginPlan }
  /** Filters of clients of another shard. */
  | { readonly kind: 'client-filters'; readonly from: PeerNumber; readonly notice: FilterNotice }
  /** One step of a change of listeners. The response is `changed`. */
  | {
      readonly kind: 'listeners'
      readonly change: number
      readonly step: ListenerStep
      readonly difference: ListenerDifference
    }
  /** Stored access records have changed. The response `changed` says that they are applied. */
  | { readonly kind: 'access'; readonly change: number; readonly records: RecordChange }
  /**
   * A link to a restarted shard, which replaces the broken one. A port closes when the thread at its other end has
   * ended, so no message reports that.
   */
  | ({ readonly kind: 'link' } & ShardLink)

/** Filters of clients of one shard, for the other shards. */
export type FilterNotice =
  /** Requests all filters: the shard has bridges that need them. */
  | { readonly what: 'request' }
  /** `isAll`: replaces everything sent before. `unreported`: number of filters beyond the maximum. */
  | {
      readonly what: 'report'
      readonly isAll: boolean
      readonly changes: readonly FilterChange[]
      readonly unreported: number
    }
