// Queries of the node to a shard, and their results. All must survive a structured clone.

import type {
  DeadLetterReport,
  LiveBatch,
  QueuedResultReport,
  RetryProgress,
  RuleEngineReport,
  TopicMetricsReport,
} from '../../actions/index.ts'
import type { Decision } from '../../access/index.ts'
import type {
  ClientFilter,
  ClientNumber,
  ClientTraffic,
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
import type { BridgeReport } from './bridge-assignment.ts'
import type { GatewayRequest, GatewayResponse } from '../../gateways/index.ts'
import type { GatewayReport, GatewayType } from './gateway-plan.ts'

/** A slice of a list: its start and its maximum length. A shard may return less. */
export interface SliceRequest {
  readonly from: WalkPosition
  /** Number of rows to skip. */
  readonly skip: number
  /** Maximum number of rows; 0: they are only counted. */
  readonly maxRows: number
}

/** Messages and bytes of a client per second. */
export type ClientRates = ClientTraffic

/** Parameters and results by the name of the query. */
export interface ShardQueries {
  /** Messages of a watch since the last query. The first query starts it. */
  'take-watch': {
    parameters: { readonly watch: string; readonly filter: TopicFilter; readonly maxBytes: number }
    result: LiveBatch
  }
  'end-watch': { parameters: { readonly watch: string }; result: true }
  /** State of rules and actions. */
  rules: {
    parameters: object
    result: RuleEngineReport
  }
  /** Opens a channel for the process of a plugin that starts next. The result is the descriptor that it inherits, or a problem. */
  'open-plugin-channel': {
    parameters: { readonly process: number; readonly plugin: string; readonly socketPath: string }
    result: { readonly descriptor: number } | { readonly problem: string }
  }
  /** The process has started, or will not start: the shard closes the end of the process. */
  'release-plugin-channel': { parameters: { readonly process: number }; result: object }
  /** Responds when no call of the process is pending, and closes its channel. */
  'close-plugin-channel': { parameters: { readonly process: number }; result: object }
  /** Sockets of gateways on this shard. */
  gateways: { parameters: object; result: readonly GatewayReport[] }
  /** A request to one client of a gateway. Undefined: it is not on this shard. */
  'gateway-request': {
    parameters: { readonly type: GatewayType; readonly clientId: string; readonly request: GatewayRequest }
    result: { readonly response: GatewayResponse | undefined }
  }
  /** Metrics of topics whose messages are counted. */
  'topic-metrics': { parameters: object; result: readonly TopicMetricsReport[] }
  /** Undefined: of all. */
  'reset-topic-metrics': { parameters: { readonly topic: string | undefined }; result: object }
  'reset-rule': { parameters: { readonly rule: string }; result: object }
  'reset-action': { parameters: { readonly action: string }; result: object }
  'control-action': {
    parameters: { readonly action: string; readonly what: 'start' | 'stop' | 'restart' }
    result: object
  }
  'control-source': {
    parameters: { readonly source: string; readonly what: 'start' | 'stop' | 'restart' }
    result: object
  }
  /** Deletes what is stored for an action that is not configured. */
  'discard-action': { parameters: { readonly action: string }; result: object }
  'queued-results': { parameters: { readonly action: string }; result: readonly QueuedResultReport[] }
  /** `entry` undefined: all that are listed. The result is their number. */
  'discard-queued-results': {
    parameters: { readonly action: string; readonly entry: string | undefined }
    result: { readonly count: number }
  }
  'dead-letters': { parameters: { readonly action: string }; result: readonly DeadLetterReport[] }
  /** `letter` undefined: all that are listed. The result is their number. */
  'delete-dead-letters': {
    parameters: { readonly action: string; readonly letter: number | undefined }
    result: { readonly count: number }
  }
  /** `letter` undefined: all. */
  'retry-dead-letters': {
    parameters: { readonly action: string; readonly letter: number | undefined }
    result: RetryProgress
  }
  'retry-progress': { parameters: { readonly action: string }; result: RetryProgress }
  /** `listClients()`: a slice of the clients of this shard that match. */
  'list-clients': { parameters: SliceRequest & { readonly filter: ClientFilter }; result: Slice<ClientView> }
  /** `listSubscriptions()`: a slice of the subscriptions of this shard that match. */
  'list-subscriptions': {
    parameters: SliceRequest & { readonly filter: SubscriptionFilter }
    result: Slice<SubscriptionView>
  }
  /** Number of sessions, with and without a connected client. */
  'session-count': { parameters: object; result: number }
  /** The command `drain`; the result is the number of clients that are still connected. */
  drain: {
    parameters: { readonly isDraining: boolean; readonly maxClients: number }
    result: { readonly connected: number }
  }
  /** Cached permissions of a connected client; undefined: it is not connected. */
  'cached-authorizations': {
    parameters: { readonly clientId: string }
    result: { readonly found: readonly CachedAuthorization[] | undefined }
  }
  /** Changes a connected client; false: it is not connected. */
  'change-client': { parameters: { readonly command: ClientCommand }; result: boolean }
  /** The client with its session: one item, or none if it is not on this shard. */
  client: { parameters: { readonly clientId: string }; result: readonly ClientView[] }
  /** Retained messages of this shard that match: at most `most`, and one more if there are more. */
  /** `skip`: matching messages before the first one. */
  retained: {
    parameters: { readonly filter: TopicFilter; readonly maxRows: number; readonly skip?: number }
    result: readonly RetainedView[]
  }
  /** The retained message of one topic; null: this shard has none. */
  'retained-message': { parameters: { readonly topic: TopicName }; result: RetainedMessageView | null }
  /** Number of delayed messages of this shard, and a slice of them. */
  'delayed-messages': {
    parameters: { readonly skip: number; readonly maxRows: number }
    result: { readonly count: number; readonly rows: readonly DelayedView[] }
  }
  /** The delayed message with that ID; null: this shard has none. */
  'delayed-message': { parameters: { readonly id: string }; result: DelayedView | null }
  /** The result is sent when the deletion is durable. */
  'delete-delayed': { parameters: { readonly id: string }; result: CommandResult }
  /** The first clients in the order of a number, and the number of those that match the filter. */
  'ranked-clients': {
    parameters: {
      readonly filter: ClientFilter
      readonly by: ClientNumber
      readonly isDescending: boolean
      readonly maxRows: number
    }
    result: {
      readonly rows: readonly { readonly client: ClientView; readonly value: number }[]
      readonly count: number
    }
  }
  /** The connected clients with most traffic, measured for this time: the response comes after it. */
  'busy-clients': {
    parameters: {
      readonly by: keyof Omit<ClientRates, 'clientId'>
      readonly measuredMs: number
      readonly maxRows: number
      /** Undefined: of all. */
      readonly namespace: string | undefined
    }
    result: readonly ClientRates[]
  }
  /** The slowest clients that are behind by this time or more. */
  slow: {
    parameters: { readonly atLeastMs: number; readonly maxRows: number; readonly namespace?: string | undefined }
    result: readonly SlowSession[]
  }
  /** Clients that use most of the memory: this number for each use. */
  'memory-users': { parameters: { readonly maxRows: number }; result: readonly MemoryUser[] }
  /** Publishes to all of the topics or to none; the result is sent when the message is durable. */
  publish: { parameters: PublishQuery; result: CommandResult }
  /** Subscribes a connected client; if a filter fails, the result says why. */
  subscribe: {
    parameters: {
      readonly clientId: string
      readonly filters: readonly TopicFilter[]
      readonly qos: QoS
      readonly options?: SubscribeCommandOptions | undefined
    }
    result: CommandResult
  }
  /** Estimates the deliveries of such a message without sending it. Shared subscriptions are omitted. */
  'estimate-delivery': {
    parameters: { readonly topics: readonly string[]; readonly qos: QoS }
    result: DeliveryEstimate
  }
  /** Explains the permission of a client; sent to its owner shard. */
  explain: { parameters: ExplainQuery; result: Explanation }
  /** Subscriptions of this shard that match a publication. */
  matching: {
    parameters: {
      readonly publication: { readonly topic: string; readonly qos: QoS; readonly publisher: string }
      readonly limit: number
    }
    result: MatchingFound
  }
  /** Clients of a namespace, or of none, that are banned on this shard for flapping. */
  flapping: { parameters: { readonly namespace: string | undefined }; result: readonly BanRecord[] }
  /** The newest messages that were dropped on this shard. */
  dropped: { parameters: { readonly query: DroppedQuery; readonly limit: number }; result: DroppedFound }
  /** State of the bridges of this shard. */
  bridges: { parameters: object; result: readonly BridgeReport[] }
  /** Unacknowledged messages of a client that are in memory. null: there is no session. */
  'client-queue': {
    parameters: { readonly clientId: string; readonly limit: number }
    result: ClientQueueView | null
  }
  /** Recent events of a client, in order. */
  timeline: { parameters: { readonly clientId: string }; result: readonly TimelineEntry[] }
  /** Imports retained messages of this shard from a backup; the result is sent when they are durable. */
  'import-retained': {
    parameters: {
      readonly messages: readonly RetainedToImport[]
      /** All payloads one after the other in their own memory, which is copied as a whole. */
      readonly payloads: Uint8Array
    }
    result: CommandResult
  }
  /** Disconnects clients of a namespace and ends their sessions; the result is sent when that is durable. */
  'end-sessions': {
    parameters: { readonly namespace: string; readonly clientIds: readonly string[] }
    result: CommandResult
  }
  /** Deletes retained messages of this shard; the result is sent when that is durable. */
  'forget-retained': { parameters: { readonly topics: readonly string[] }; result: CommandResult }
  unsubscribe: {
    parameters: { readonly clientId: string; readonly filters: readonly TopicFilter[] }
    result: CommandResult
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
export type QueryOf<Name extends QueryName> = { readonly kind: Name } & ShardQueries[Name]['parameters']

export type ShardQuery = { [Name in QueryName]: QueryOf<Name> }[QueryName]

export type QueryResult<Name extends QueryName> = ShardQueries[Name]['result']

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
  /** Undefined: a remote service decides, and is not queried for this. */
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
  /** Name of the plugin that dropped it. */
  readonly plugin?: string | undefined
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
    | 'packet-refused'
    | 'waits-for-action'
    | 'disconnected'
    | 'session-ended'
  /** The reason as text; for dropped messages its name. */
  readonly text: string
  /** Reason code of MQTT 5.0; undefined: there is none. */
  readonly reasonCode: number | undefined
  /** Address of the client, if it matters. */
  readonly address: string | undefined
  /** Number of equal events in a row. */
  count: number
}
