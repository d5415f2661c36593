// Queries of the node to a shard, and their results. All must survive a structured clone.

import type { Decision } from '../../access/index.ts'
import type {
  ClientFilter,
  ClientView,
  SubscribeCommandOptions,
  Command,
  CommandResult,
  DelayedView,
  ClientQueueView,
  DropReason,
  MatchingFound,
  MemoryUser,
  DeliveryEstimate,
  Quota,
  CachedAuthorization,
  RetainedMessageView,
  RetainedView,
  Slice,
  SlowSession,
  SubscriptionFilter,
  SubscriptionView,
  WalkPosition,
} from '../../core/index.ts'
import type { MessageProperties, QoS, TopicFilter, TopicName } from '../../protocol/index.ts'
import type { BanRecord, StoredMessage } from '../../records/index.ts'
import type { LiveBatch } from './live-batch.ts'
import type { BridgeReport } from './bridge-assignment.ts'
import type { GatewayRequest, GatewayResponse } from '../../gateways/index.ts'
import type { GatewayReport, GatewayType } from './gateway-plan.ts'
import type { DeadLetterReport, RuleEngineReport, TopicMetricsReport } from './rule-plan.ts'

/** A slice of a list: its start and its maximum length. A shard may return less. */
export interface SliceRequest {
  readonly from: WalkPosition
  /** Number of rows to skip. */
  readonly skip: number
  /** Maximum number of rows; 0: they are only counted. */
  readonly most: number
}

/** Parameters and results by the name of the query. */
export interface ShardQueries {
  /** Messages of a watch since the last query. The first query starts it. */
  'take-watch': {
    asked: { readonly watch: string; readonly filter: TopicFilter; readonly maxBytes: number }
    answered: LiveBatch
  }
  'end-watch': { asked: { readonly watch: string }; answered: true }
  /** State of rules and actions. */
  rules: {
    asked: object
    answered: RuleEngineReport
  }
  /** Sockets of gateways on this shard. */
  gateways: { asked: object; answered: readonly GatewayReport[] }
  /** A request to one client of a gateway. Undefined: it is not on this shard. */
  'gateway-request': {
    asked: { readonly type: GatewayType; readonly clientId: string; readonly request: GatewayRequest }
    answered: { readonly response: GatewayResponse | undefined }
  }
  /** Of topics whose messages are counted. */
  'topic-metrics': { asked: object; answered: readonly TopicMetricsReport[] }
  /** Undefined: of all. */
  'reset-topic-metrics': { asked: { readonly topic: string | undefined }; answered: object }
  'reset-rule': { asked: { readonly rule: string }; answered: object }
  'reset-action': { asked: { readonly action: string }; answered: object }
  'control-action': {
    asked: { readonly action: string; readonly what: 'start' | 'stop' | 'restart' }
    answered: object
  }
  'control-source': {
    asked: { readonly source: string; readonly what: 'start' | 'stop' | 'restart' }
    answered: object
  }
  /** Deletes what is stored for an action that is not configured. */
  'discard-action': { asked: { readonly action: string }; answered: object }
  'dead-letters': { asked: { readonly action: string }; answered: readonly DeadLetterReport[] }
  /** `letter` undefined: all that are listed. The result is their number. */
  'delete-dead-letters': {
    asked: { readonly action: string; readonly letter: number | undefined }
    answered: { readonly count: number }
  }
  'retry-dead-letters': {
    asked: { readonly action: string; readonly letter: number | undefined }
    answered: { readonly count: number }
  }
  clients: { asked: SliceRequest & { readonly filter: ClientFilter }; answered: Slice<ClientView> }
  subscriptions: { asked: SliceRequest & { readonly filter: SubscriptionFilter }; answered: Slice<SubscriptionView> }
  /** Number of sessions, with and without a connected client. */
  'session-count': { asked: object; answered: number }
  /** Cached permissions of a connected client; undefined: it is not connected. */
  decisions: {
    asked: { readonly clientId: string }
    answered: { readonly found: readonly CachedAuthorization[] | undefined }
  }
  /** Changes a connected client; false: it is not connected. */
  'change-client': { asked: { readonly command: ClientCommand }; answered: boolean }
  /** The client with its session: one item, or none if it is not on this shard. */
  client: { asked: { readonly clientId: string }; answered: readonly ClientView[] }
  /** Retained messages of this shard that match: at most `most`, and one more if there are more. */
  /** `skip`: matching messages before the first one. */
  retained: {
    asked: { readonly filter: TopicFilter; readonly most: number; readonly skip?: number }
    answered: readonly RetainedView[]
  }
  /** The retained message of one topic; null: this shard has none. */
  'retained-message': { asked: { readonly topic: TopicName }; answered: RetainedMessageView | null }
  /** Number of delayed messages of this shard, and a slice of them. */
  'delayed-messages': {
    asked: { readonly skip: number; readonly most: number }
    answered: { readonly count: number; readonly rows: readonly DelayedView[] }
  }
  /** The delayed message with that ID; null: this shard has none. */
  'delayed-message': { asked: { readonly id: string }; answered: DelayedView | null }
  /** The result is sent when the deletion is durable. */
  'delete-delayed': { asked: { readonly id: string }; answered: CommandResult }
  /** The slowest clients that are behind by this time or more. */
  slow: {
    asked: { readonly atLeastMs: number; readonly most: number; readonly namespace?: string | undefined }
    answered: readonly SlowSession[]
  }
  /** Clients that use most of the memory: this number for each use. */
  'memory-users': { asked: { readonly most: number }; answered: readonly MemoryUser[] }
  /** Publishes to all of the topics or to none; the result is sent when the message is durable. */
  publish: { asked: PublishQuery; answered: CommandResult }
  /** Subscribes a connected client; if a filter fails, the result says why. */
  subscribe: {
    asked: {
      readonly clientId: string
      readonly filters: readonly TopicFilter[]
      readonly qos: QoS
      readonly options?: SubscribeCommandOptions | undefined
    }
    answered: CommandResult
  }
  /** Estimates the deliveries of such a message without sending it. Shared subscriptions are omitted. */
  foresee: {
    asked: { readonly topics: readonly string[]; readonly qos: QoS }
    answered: DeliveryEstimate
  }
  /** Explains the permission of a client; sent to its owner shard. */
  explain: { asked: ExplainQuery; answered: Explanation }
  /** Subscriptions of this shard that match a publication. */
  matching: {
    asked: {
      readonly publication: { readonly topic: string; readonly qos: QoS; readonly publisher: string }
      readonly limit: number
    }
    answered: MatchingFound
  }
  /** Clients of a namespace, or of none, that are banned on this shard for flapping. */
  flapping: { asked: { readonly namespace: string | undefined }; answered: readonly BanRecord[] }
  /** The newest messages that were dropped on this shard. */
  dropped: { asked: { readonly query: DroppedQuery; readonly limit: number }; answered: DroppedFound }
  /** State of the bridges of this shard. */
  bridges: { asked: object; answered: readonly BridgeReport[] }
  /** Unacknowledged messages of a client that are in memory. null: there is no session. */
  'client-queue': {
    asked: { readonly clientId: string; readonly limit: number }
    answered: ClientQueueView | null
  }
  /** Recent events of a client, in order. */
  timeline: { asked: { readonly clientId: string }; answered: readonly TimelineEntry[] }
  /** Imports retained messages of this shard from a backup; the result is sent when they are durable. */
  'keep-retained': {
    asked: {
      readonly messages: readonly RetainedToImport[]
      /** All payloads one after the other in their own memory, which is copied as a whole. */
      readonly payloads: Uint8Array
    }
    answered: CommandResult
  }
  /** Disconnects clients of a namespace and ends their sessions; the result is sent when that is durable. */
  'end-sessions': {
    asked: { readonly namespace: string; readonly clientIds: readonly string[] }
    answered: CommandResult
  }
  /** Deletes retained messages of this shard; the result is sent when that is durable. */
  'forget-retained': { asked: { readonly topics: readonly string[] }; answered: CommandResult }
  unsubscribe: {
    asked: { readonly clientId: string; readonly filters: readonly TopicFilter[] }
    answered: CommandResult
  }
}

/** A message without its payload, which is in the common buffer. */
export interface RetainedToImport extends Omit<StoredMessage, 'payload' | 'properties'> {
  readonly payloadBytes: number
  readonly properties: (Omit<MessageProperties, 'correlationData'> & { correlationData?: Uint8Array }) | undefined
}

export interface PublishQuery {
  readonly topics: readonly [first: string, ...rest: string[]]
  /** In its own memory, which is copied as a whole. */
  readonly payload: Uint8Array
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: (Omit<MessageProperties, 'correlationData'> & { correlationData?: Uint8Array }) | undefined
  /** The publisher. */
  readonly clientId: string
  readonly wantsDeliveries: boolean
}

export type ClientCommand = Extract<Command, { readonly name: 'kick' | 'keep-alive' | 'clear-authorization-cache' }>

export type QueryName = keyof ShardQueries

/** A query with its name. */
export type QueryOf<Name extends QueryName> = { readonly question: Name } & ShardQueries[Name]['asked']

export type ShardQuery = { [Name in QueryName]: QueryOf<Name> }[QueryName]

export type QueryResult<Name extends QueryName> = ShardQueries[Name]['answered']

export interface ExplainQuery {
  /** The name of its session. */
  readonly clientId: string
  readonly action: 'publish' | 'subscribe'
  /** A topic, or a filter. */
  readonly topic: string
  /** User name to assume if the client has no session on this shard. */
  readonly username: string | undefined
  readonly address: string | undefined
}

export interface Explanation {
  readonly client: {
    readonly hasSession: boolean
    readonly isConnected: boolean
    readonly username: string | undefined
    readonly address: string | undefined
    /** The authenticator; undefined: the client is not connected, or connected before a restart. */
    readonly authenticatedBy: string | undefined
    readonly isSuperuser: boolean
  }
  /** Undefined: a remote service decides, and is not asked for this. */
  readonly decision: Decision | undefined
  /** An obstacle other than permissions. */
  readonly obstacle: string | undefined
  /** The topic inside the broker, with the client's mount point. */
  readonly topicHere: string
  readonly quotas: readonly Quota[]
}

export interface DroppedMessage {
  /** Wall clock. */
  readonly atMs: number
  readonly topic: string
  readonly qos: number
  readonly reason: DropReason
  /** '' if it was not a client. */
  readonly publisher: string
  /**
   * '' if it was dropped for all subscribers: the publisher is not authorized, or a limit of retained messages is
   * reached.
   */
  readonly subscriber: string
}

/** Conditions; undefined: any. */
export interface DroppedQuery {
  /** Undefined: in any namespace or none. */
  readonly namespace?: string | undefined
  /** A topic, or a filter. */
  readonly topic: string | undefined
  readonly reason: DropReason | undefined
  /** Publisher or subscriber. */
  readonly clientId: string | undefined
  readonly sinceMs: number | undefined
}

export interface DroppedFound {
  /** Newest first. */
  readonly newest: readonly DroppedMessage[]
  readonly count: number
  /**
   * Counts of all remembered messages of the namespace, regardless of other conditions. Undefined: the query has no
   * namespace.
   */
  readonly byReason?: Readonly<Partial<Record<DropReason, number>>> | undefined
}

export interface TimelineEntry {
  /** Wall clock; of several in a row, the last. */
  atMs: number
  readonly event:
    | 'connected'
    | 'refused'
    | 'taken-over'
    | 'keep-alive-gap'
    | 'message-dropped'
    | 'disconnected'
    | 'session-ended'
  /** The reason as text; for dropped messages its name. */
  readonly text: string
  /** Of MQTT 5.0, if there is one. */
  readonly reasonCode: number | undefined
  /** Address of the client, if it matters. */
  readonly address: string | undefined
  /** Number of equal events in a row. */
  count: number
}
