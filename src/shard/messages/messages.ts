// What the main thread and a shard say to each other. Everything here survives a structured clone: it crosses threads.

import type { MessagePort } from 'node:worker_threads'
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
import type { QoS } from '../../protocol/index.ts'
import type { StoreNotice, StoreRequest } from '../../storage/index.ts'
import type { AlarmName, LogFields, LogLevel } from '../../telemetry/index.ts'
import type { BridgeAssignment, BridgeReport } from './bridge-assignment.ts'
import type { GatewayPlan } from './gateway-plan.ts'
import type { RulePlan, StoredValueChange } from './rule-plan.ts'
import type { ShardListener } from './shard-listener.ts'
import type { ShardQuery } from './query-types.ts'

export type { CertificateField } from '../../config/index.ts'

export type { ShardListener } from './shard-listener.ts'

/** A way to another shard of the node: one port of a `MessageChannel`, whose other port that shard has. */
export interface ShardLink {
  readonly peer: PeerNumber
  /** To be named in the transfer list of what carries it. */
  readonly port: MessagePort
}

/** What another configuration makes of the listeners. */
export interface ListenerDifference {
  /** New ones; one of them may be where one that is closed was. */
  readonly opened: readonly ShardListener[]
  /** As they are to be. Number, host and port stay: who is in stays in. */
  readonly changed: readonly ShardListener[]
  /** Numbers. Who came in by them is sent away with 0x8B. */
  readonly closed: readonly number[]
}

/**
 * `learn`: clients of the new listeners may be handed over by other shards from now on. `open`: all that can be done is done
 * and nothing is in force that cannot be taken back. `settle`: the difference holds. `abandon`: it never was.
 */
export type ListenerStep = 'learn' | 'open' | 'settle' | 'abandon'

/** What the broker says of itself, below `$SYS/`. */
export interface BrokerMessage {
  readonly topic: string
  readonly payload: string
  /** For those who come later as well, until the next one. */
  readonly retain: boolean
}

/** What a shard takes a change of while it runs. */
/** A subscription that clients are given when they connect. */
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
  /** mqtt.property_size in bytes: the whole property section of one packet. */
  readonly maxPropertyBytes: number
  readonly logLevel: LogLevel
  /** Connections of all shards over all listeners: by limits.max_connections and by the open-file limit. */
  readonly maxConnections: number
  /** New connections of this shard in a second over all of its listeners; may be a fraction. Undefined: no limit. */
  readonly maxConnectionRate?: number | undefined
  /** Undefined: nobody is traced. */
  readonly traces?: readonly TraceTarget[]
}

/** Whose doings are written to the trace of that name. */
export interface TraceTarget {
  readonly name: string
  readonly type: 'clientid' | 'topic' | 'ip_address'
  /** A client id, a topic filter, or an address. */
  readonly value: string
  /** Whose clients; client id and filter are as these say them. Undefined: of all, by the names that the broker uses. */
  readonly namespace?: string | undefined
}

/** One line of a trace, in the order in which it is written. */
export type TraceLine = Readonly<Record<string, string | number | boolean | undefined>>

/** `workerData` of a shard. */
export interface ShardStart extends ShardSettings {
  readonly shardNumber: number
  /** How many shards the node has. Undefined: this is the only one. */
  readonly shards?: number
  /** An earlier thread of it has let clients in. */
  readonly hasServed?: boolean
  /** To the shards that run already or start together with this one. Others come later as `link`. */
  readonly links?: readonly ShardLink[]
  /** Absolute; the main thread holds its lock. */
  readonly dataDirectory: string
  readonly listeners: readonly ShardListener[]
  /** Where nothing is asked: see `denyAddresses`. Undefined: everywhere. */
  readonly deniedAddresses?: readonly string[]
  /** Undefined: none. */
  readonly bridges?: readonly BridgeAssignment[]
  /** Undefined: none. */
  readonly rules?: RulePlan
  readonly gateways?: GatewayPlan
  /** What bridges of this node mark their messages with. */
  readonly brokerName?: string
  /** What is to be added to the monotonic time of the system, the same in all threads: made by `clockBaseMs`. */
  readonly clockBaseMs: number
  readonly storage: { readonly sync: 'commit' | 'interval' | 'never'; readonly syncIntervalMs: number }
  /** mqtt.max_unsent_bytes_total, this shard's part. */
  readonly maxUnsentBytesTotal: number
  /** mqtt.max_unfinished_bytes_total, this shard's part. */
  readonly maxUnfinishedBytesTotal: number
  /** Made by `createSharedPlaces`: who has how many of `maxConnections`. Undefined: this is the only shard. */
  readonly connectionSlots?: SharedArrayBuffer | undefined
  /** Descriptors that connections of all shards may still take: see `ConnectionBudget`. */
  readonly descriptorRoom?: SharedArrayBuffer | undefined
  /** Made by `createCounterTable`; the shard writes its own row. */
  readonly counters: SharedArrayBuffer
  /** Made by `createMeterTable`; the shard writes its own row. Undefined: nobody looks. */
  readonly histograms?: SharedArrayBuffer | undefined
  /** Made by `createMemoryTable`; the shard writes its own row. Undefined: nobody looks. */
  readonly memoryTable?: SharedArrayBuffer | undefined
  /** node.memory_limit, this shard's part. Undefined: nobody has set one. */
  readonly memoryPartBytes?: number | undefined
  /** Made by `createCrashMarker`: says what of the store the shard died of. Undefined: nobody looks. */
  readonly crashMarker?: SharedArrayBuffer | undefined
  /** How clients are told apart; undefined: nobody belongs to a namespace. */
  readonly namespaces?: NamespaceSettings | undefined
  /** Made by `createNamespaceTable`: what they have and may have. Undefined: nobody counts. */
  readonly namespaceTable?: SharedArrayBuffer | undefined
  /** Below which topic clients that come and go are told of; undefined: they are not. */
  readonly clientEventsTopic?: string | undefined
}

export type ShardToNode =
  /** Every listener accepts connections, or, where an earlier thread has served, those that can be opened. */
  | { readonly kind: 'ready'; readonly listeners: readonly { name: string; host: string; port: number }[] }
  /** It cannot start; `message` is a sentence for the operator. The thread is ended. */
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'log'; readonly level: LogLevel; readonly event: string; readonly fields: LogFields | undefined }
  | { readonly kind: 'trace'; readonly name: string; readonly line: TraceLine }
  /** Something that the operator must know of. */
  | { readonly kind: 'alarm'; readonly name: AlarmName; readonly message: string }
  /** Of what clients are subscribed to, for all other shards. */
  | { readonly kind: 'client-filters'; readonly notice: FilterNotice }
  /** How the bridges of this shard are; every second, while there are any. */
  | { readonly kind: 'bridges'; readonly reports: readonly BridgeReport[] }
  /** Values that rules have stored for the node. */
  | { readonly kind: 'stored-values'; readonly changes: readonly StoredValueChange[] }
  /** It is in order again. */
  | { readonly kind: 'alarm-over'; readonly name: AlarmName; readonly message: string }
  /** To the keeper of the store that all shards share. */
  | { readonly kind: 'store'; readonly request: StoreRequest }
  /** What the node has asked, by its number. */
  | { readonly kind: 'answer'; readonly ask: number; readonly answer: unknown }
  /** A change that the node has sent holds from now on, or, with a problem, cannot be. */
  | { readonly kind: 'changed'; readonly change: number; readonly problem?: string | undefined }
  /** Clients are told, the store is closed: the thread may end. */
  | { readonly kind: 'stopped' }

export type NodeToShard =
  | { readonly kind: 'stop' }
  /** Exactly these are traced from now on. Answered by `changed`. */
  | { readonly kind: 'traces'; readonly change: number; readonly targets: readonly TraceTarget[] }
  /** Certificates, keys and revocations are looked at now and not only at the next interval. */
  | { readonly kind: 'reload-files' }
  /** Messages of the broker about itself, at QoS 0: to whoever has subscribed, on whichever shard. */
  | { readonly kind: 'tell'; readonly messages: readonly BrokerMessage[] }
  /** Values that rules of the node have stored, in the order that holds. `isOwn`: this shard has told them. */
  | { readonly kind: 'stored-values'; readonly changes: readonly StoredValueChange[]; readonly isOwn: boolean }
  /** An alarm was raised or is over: rules run for it, on this shard alone. */
  | { readonly kind: 'alarm'; readonly trigger: AlarmTrigger }
  /** Answered by `answer` with the same number. */
  | { readonly kind: 'ask'; readonly ask: number; readonly question: ShardQuery }
  /** How short the memory of the node is: when that changes, and once a second while it is. `collects`: garbage, at once. */
  | { readonly kind: 'memory'; readonly level: MemoryLevel; readonly step: number; readonly collects: boolean }
  /** From the keeper of the store. */
  | { readonly kind: 'store'; readonly notice: StoreNotice }
  /** From the next turn on. Answered by `changed`. */
  | {
      readonly kind: 'settings'
      readonly change: number
      readonly settings: ShardSettings
    }
  /** The bridges are these from now on. Answered by `changed`. */
  | { readonly kind: 'bridges'; readonly change: number; readonly plans: readonly BridgeAssignment[] }
  /** Rules and actions are these from now on. Answered by `changed`. */
  | { readonly kind: 'rules'; readonly change: number; readonly plan: RulePlan }
  | { readonly kind: 'gateways'; readonly change: number; readonly plan: GatewayPlan }
  /** What another shard says of what its clients are subscribed to. */
  | { readonly kind: 'client-filters'; readonly from: PeerNumber; readonly notice: FilterNotice }
  /** One step of a change of listeners. Answered by `changed`. */
  | {
      readonly kind: 'listeners'
      readonly change: number
      readonly step: ListenerStep
      readonly difference: ListenerDifference
    }
  /** What is stored of who may come in has changed. Answered by `changed` when it holds. */
  | { readonly kind: 'access'; readonly change: number; readonly records: RecordChange }
  /**
   * A shard has been started anew: a link in place of the one that broke with it. A port closes by itself when the
   * thread at its other end is gone, so nobody has to say that a link is over.
   */
  | ({ readonly kind: 'link' } & ShardLink)

/** What clients of one shard are subscribed to, told to the other shards. */
export type FilterNotice =
  /** Everything is to be told: a shard has bridges and does not know it. */
  | { readonly what: 'ask' }
  /** `isAll`: in place of what was told before. `untold`: filters beyond what is told of. */
  | {
      readonly what: 'tell'
      readonly isAll: boolean
      readonly changes: readonly FilterChange[]
      readonly untold: number
    }
