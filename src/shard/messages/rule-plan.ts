// What the main thread and a shard say to each other of rules and their actions.

import type { RuleActionConfig } from '../../config/index.ts'
import type {
  ActionSettings,
  ActionState,
  ConnectorSettings,
  KafkaSourceConnector,
  KafkaSourceSettings,
  SinkTypeName,
} from '../../sinks/index.ts'

/** A rule as it is configured. */
export interface RuleAssignment {
  readonly id: string
  readonly sql: string
  readonly isEnabled: boolean
  readonly actions: readonly RuleActionConfig[]
}

/** An action as it is configured, with its connector. Each shard has a spool for it. */
export interface ActionAssignment {
  /** `type:name` */
  readonly id: string
  readonly type: SinkTypeName
  readonly action: ActionSettings
  /** Undefined: there is none of that name, or it is disabled. */
  readonly connector: ConnectorSettings | undefined
}

/** A value of `kv_store_*` as JSON; undefined: it was deleted. */
export type StoredValueChange = readonly [key: string, json: string | undefined]

/** Settings of `event_message`, and topics below `$event/`. */
export const eventMessageNames = [
  'client_connected',
  'client_disconnected',
  'client_subscribed',
  'client_unsubscribed',
  'message_delivered',
  'message_acked',
  'message_dropped',
] as const

export type EventMessageName = (typeof eventMessageNames)[number]

/** What rules receive from a service, as it is configured. One shard receives for all. */
export interface SourceAssignment {
  /** `type:name` */
  readonly id: string
  /** Address of the service, for rules. */
  readonly server: string
  /** Undefined: it is a bridge. */
  readonly kafka: { readonly source: KafkaSourceSettings; readonly connector: KafkaSourceConnector } | undefined
}

export interface SourceReport {
  readonly id: string
  readonly state: 'connecting' | 'connected' | 'disconnected'
  readonly stateReason: string
  /** Messages that rules have had. */
  readonly received: number
  /** Those that this broker can not take. */
  readonly dropped: number
  readonly lastError: string
}

/** All of them. Every shard has all. */
export interface RulePlan {
  readonly nodeName: string
  readonly ignoresSysMessages: boolean
  /** Events that are published to `$event/...`. */
  readonly eventMessages: readonly EventMessageName[]
  readonly rules: readonly RuleAssignment[]
  readonly actions: readonly ActionAssignment[]
  readonly sources: readonly SourceAssignment[]
}

/** Counters of one rule in one shard since the start or the last reset. */
export interface RuleCounters {
  /** matched = passed + failed; failed = exceptions + noResult. */
  matched: number
  passed: number
  exceptions: number
  noResult: number
  /** Actions: total = success + failed + discarded, when nothing is under way. */
  actionsTotal: number
  actionsSuccess: number
  actionsFailed: number
  actionsDiscarded: number
}

export interface FunctionCounters {
  taken: number
  success: number
  failed: number
}

export interface RuleReport {
  readonly id: string
  readonly counters: Readonly<RuleCounters>
  /** Of actions that are functions, by their place in the list of actions. */
  readonly functions: readonly FunctionCounters[]
  /** Messages in a second: in the last second, at most, and over five minutes. */
  readonly rate: number
  readonly rateMax: number
  readonly rateLast5m: number
  /** '': none. */
  readonly lastError: string
}

export interface RuleEngineReport {
  readonly rules: readonly RuleReport[]
  readonly actions: readonly ActionReport[]
  /** Beside those that are bridges. */
  readonly sources: readonly SourceReport[]
}

export interface DeadLetterReport {
  /** For `delete` and `retry`, in this shard until it starts anew. */
  readonly id: number
  readonly why: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly rule: string
  readonly attributes: readonly (readonly [string, string])[]
  readonly payload: Uint8Array
}

export interface ActionReport {
  readonly id: string
  readonly state: ActionState
  readonly stateReason: string
  /** Results of rules. matched = success + failed + dropped + queuing + inflight, since the start. */
  readonly matched: number
  /** Of `matched`, per second: now, at most, and on average of five minutes. */
  readonly rate: number
  readonly rateMax: number
  readonly rateLast5m: number
  readonly success: number
  /** Became dead letters. */
  readonly failed: number
  readonly droppedQueueFull: number
  readonly droppedOther: number
  readonly retried: number
  readonly queuing: number
  readonly inflight: number
  /** Age of the oldest that waits in ms; undefined: none waits. */
  readonly oldestAgeMs: number | undefined
  readonly deadLetters: number
  readonly lastError: string
}
