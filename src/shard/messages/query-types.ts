// What the node may ask a shard, and what it gets for an answer. Everything here survives a structured clone.

import type { Decision } from '../../access/index.ts'
import type {
  ClientFilter,
  ClientView,
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
import type { DeadLetterReport, RuleEngineReport } from './rule-plan.ts'

/** A part of a list: where it begins and how much of it. A shard gives less where it is much. */
export interface SliceRequest {
  readonly from: WalkPosition
  /** Rows that are passed before the first one is given. */
  readonly skip: number
  /** Rows at most; 0: they are only counted. */
  readonly most: number
}

/** By the name of the question: what is said, and what comes back. */
export interface ShardQueries {
  /** What a page watches: the messages since the last time. The first time begins it. */
  'take-watch': {
    asked: { readonly watch: string; readonly filter: TopicFilter; readonly maxBytes: number }
    answered: LiveBatch
  }
  'end-watch': { asked: { readonly watch: string }; answered: true }
  /** How rules and actions are. */
  rules: {
    asked: object
    answered: RuleEngineReport
  }
  /** Sockets of gateways that this shard has. */
  gateways: { asked: object; answered: readonly GatewayReport[] }
  /** Something for one client of a gateway. Undefined: it is not here. */
  'gateway-request': {
    asked: { readonly type: GatewayType; readonly clientId: string; readonly request: GatewayRequest }
    answered: { readonly response: GatewayResponse | undefined }
  }
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
  /** What is stored for an action that is not configured is given up. */
  'discard-action': { asked: { readonly action: string }; answered: object }
  'dead-letters': { asked: { readonly action: string }; answered: readonly DeadLetterReport[] }
  /** `letter`: undefined: all that can be seen. The answer is how many. */
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
  /** How many sessions there are, of clients that are there or not. */
  'session-count': { asked: object; answered: number }
  /** Of a client that is connected; undefined: it is not. */
  verdicts: {
    asked: { readonly clientId: string }
    answered: { readonly found: readonly CachedAuthorization[] | undefined }
  }
  /** Something is done to a client that is connected; false: it is not. */
  'change-client': { asked: { readonly command: ClientCommand }; answered: boolean }
  /** The client with its session, where this shard has it: one item or none. */
  client: { asked: { readonly clientId: string }; answered: readonly ClientView[] }
  /** Retained messages here whose topics match: at most `most`, and one more where there are more. */
  retained: { asked: { readonly filter: TopicFilter; readonly most: number }; answered: readonly RetainedView[] }
  /** The retained message of one topic, where this shard has it. null: it has none. */
  'retained-message': { asked: { readonly topic: TopicName }; answered: RetainedMessageView | null }
  /** How many delayed messages are stored here, and some of them. */
  'delayed-messages': {
    asked: { readonly skip: number; readonly most: number }
    answered: { readonly count: number; readonly rows: readonly DelayedView[] }
  }
  /** The delayed message of that ID, where this shard has it. null: it has none. */
  'delayed-message': { asked: { readonly id: string }; answered: DelayedView | null }
  /** Answered when that is on disk. */
  'delete-delayed': { asked: { readonly id: string }; answered: CommandResult }
  /** Clients that are behind by so much or more: the slowest. */
  slow: {
    asked: { readonly atLeastMs: number; readonly most: number; readonly namespace?: string | undefined }
    answered: readonly SlowSession[]
  }
  /** Those that hold most of the memory: so many for each use. */
  'memory-users': { asked: { readonly most: number }; answered: readonly MemoryUser[] }
  /** A message of the operator, to all of the topics or to none; answered when it is safe. */
  publish: { asked: PublishQuery; answered: CommandResult }
  /** In the name of a client that is there; where one filter can not be, why. */
  subscribe: {
    asked: { readonly clientId: string; readonly filters: readonly TopicFilter[]; readonly qos: QoS }
    answered: CommandResult
  }
  /** What the sessions here would do with such a message: nothing is changed. Shared subscriptions are left out. */
  foresee: {
    asked: { readonly topics: readonly string[]; readonly qos: QoS }
    answered: DeliveryEstimate
  }
  /** Whether a client may, and why; asked of the shard of the client. */
  explain: { asked: ExplainQuery; answered: Explanation }
  /** The subscriptions of sessions here that match a publication. */
  matching: {
    asked: {
      readonly publication: { readonly topic: string; readonly qos: QoS; readonly publisher: string }
      readonly limit: number
    }
    answered: MatchingFound
  }
  /** Clients that are kept out here for flapping: of a namespace, or of none. */
  flapping: { asked: { readonly namespace: string | undefined }; answered: readonly BanRecord[] }
  /** The newest of the messages that were dropped here. */
  dropped: { asked: { readonly query: DroppedQuery; readonly limit: number }; answered: DroppedFound }
  /** How the bridges of this shard are. */
  bridges: { asked: object; answered: readonly BridgeReport[] }
  /** What a client has not acknowledged, as far as it is in memory. null: there is no session. */
  'client-queue': {
    asked: { readonly clientId: string; readonly limit: number }
    answered: ClientQueueView | null
  }
  /** What has happened to a client lately, in order. */
  timeline: { asked: { readonly clientId: string }; answered: readonly TimelineEntry[] }
  /** Retained messages of topics that this shard keeps, out of a backup; answered when they are on disk. */
  'keep-retained': {
    asked: {
      readonly messages: readonly RetainedToImport[]
      /** One behind the other, in memory of their own: it is copied as a whole. */
      readonly payloads: Uint8Array
    }
    answered: CommandResult
  }
  /** Clients of a namespace are sent away and their sessions end; answered when that is on disk. */
  'end-sessions': {
    asked: { readonly namespace: string; readonly clientIds: readonly string[] }
    answered: CommandResult
  }
  /** Topics that this shard keeps are to remember nothing any more; answered when that is on disk. */
  'forget-retained': { asked: { readonly topics: readonly string[] }; answered: CommandResult }
  unsubscribe: {
    asked: { readonly clientId: string; readonly filters: readonly TopicFilter[] }
    answered: CommandResult
  }
}

/** A message without its payload, which lies with those of the others. */
export interface RetainedToImport extends Omit<StoredMessage, 'payload' | 'properties'> {
  readonly payloadBytes: number
  readonly properties: (Omit<MessageProperties, 'correlationData'> & { correlationData?: Uint8Array }) | undefined
}

export interface PublishQuery {
  readonly topics: readonly [first: string, ...rest: string[]]
  /** With a memory of its own: it is copied as a whole. */
  readonly payload: Uint8Array
  readonly qos: QoS
  readonly retain: boolean
  readonly properties: (Omit<MessageProperties, 'correlationData'> & { correlationData?: Uint8Array }) | undefined
  /** In whose name. */
  readonly clientId: string
  readonly wantsDeliveries: boolean
}

export type ClientCommand = Extract<Command, { readonly name: 'kick' | 'keep-alive' | 'forget-verdicts' }>

export type QueryName = keyof ShardQueries

/** What is asked, with its name. */
export type QueryOf<Name extends QueryName> = { readonly question: Name } & ShardQueries[Name]['asked']

export type ShardQuery = { [Name in QueryName]: QueryOf<Name> }[QueryName]

export type QueryResult<Name extends QueryName> = ShardQueries[Name]['answered']

export interface ExplainQuery {
  /** The name of its session. */
  readonly clientId: string
  readonly action: 'publish' | 'subscribe'
  /** A topic, or a filter. */
  readonly topic: string
  /** Of a client that has no session here: what to take it for. */
  readonly username: string | undefined
  readonly address: string | undefined
}

export interface Explanation {
  readonly client: {
    readonly hasSession: boolean
    readonly isConnected: boolean
    readonly username: string | undefined
    readonly address: string | undefined
    /** What let it in; undefined: it is not in, or was let in before a restart. */
    readonly authenticatedBy: string | undefined
    readonly isSuperuser: boolean
  }
  /** undefined: a service elsewhere decides, and is not asked for this. */
  readonly decision: Decision | undefined
  /** What stands in the way beside that. */
  readonly obstacle: string | undefined
  /** The topic as the broker knows it, with the client's mount point. */
  readonly topicHere: string
  readonly quotas: readonly Quota[]
}

export interface DroppedMessage {
  /** Wall clock. */
  readonly atMs: number
  readonly topic: string
  readonly qos: number
  readonly reason: DropReason
  /** '' where it was no client. */
  readonly publisher: string
  /** '' where it was dropped for all: the publisher may not, or there is no room to remember it. */
  readonly subscriber: string
}

/** What is looked for; undefined: any. */
export interface DroppedQuery {
  /** Undefined: whatever lies in it or not. */
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
  /** Of those that are remembered, looked for or not but for the namespace. Undefined: no namespace was said. */
  readonly byReason?: Readonly<Partial<Record<DropReason, number>>> | undefined
}

export interface TimelineEntry {
  /** Wall clock; of several in a row the last. */
  atMs: number
  readonly event:
    | 'connected'
    | 'refused'
    | 'taken-over'
    | 'keep-alive-gap'
    | 'message-dropped'
    | 'disconnected'
    | 'session-ended'
  /** Why, in words; for dropped messages the name of the reason. */
  readonly text: string
  /** Of MQTT 5.0, where there is one. */
  readonly reasonCode: number | undefined
  /** Of the client, where it has to do with it. */
  readonly address: string | undefined
  /** The same so many times in a row. */
  count: number
}
