// What the main thread sends to the shards about rules, actions and sources.

import type { RuleActionConfig } from '../../config/index.ts'
import type { SchemaDefinition } from '../../schemas/index.ts'
import type {
  ActionSettings,
  ConnectorSettings,
  SinkTypeName,
  SourceConnectorSettings,
  SourceSettings,
  SourceTypeName,
} from '../../sinks/index.ts'

/** Why a configuration has no plan: a sentence for administrators, which begins with the key of a setting. */
export interface PlanProblem {
  readonly problem: string
}

export type ResourceKind = 'connectors' | 'actions' | 'sources'

/** A configured rule. */
export interface RuleAssignment {
  readonly id: string
  readonly sql: string
  readonly isEnabled: boolean
  readonly actions: readonly RuleActionConfig[]
  /** A result for which an action fails is passed to no further action. */
  readonly stopsAtFailure: boolean
}

/** A configured action with its connector. Each shard has an action queue for it. */
export interface ActionAssignment {
  /** `type:name` */
  readonly id: string
  readonly type: SinkTypeName
  readonly action: ActionSettings
  /** Undefined: the connector does not exist or is disabled. */
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

/** The service from which a source receives. */
export interface SourceService {
  readonly type: SourceTypeName
  readonly source: SourceSettings
  readonly connector: SourceConnectorSettings
}

/** A configured source. One shard receives its messages for all shards. */
export interface SourceAssignment {
  /** `type:name` */
  readonly id: string
  /** Address of the service, for rules. */
  readonly server: string
  /** Undefined: the source is a bridge. */
  readonly service: SourceService | undefined
}

/** All rules, actions and sources. Every shard gets all of them. */
export interface RulePlan {
  readonly nodeName: string
  readonly ignoresSysMessages: boolean
  /** Events that are published to `$event/...`. */
  readonly eventMessages: readonly EventMessageName[]
  /** Maximum time of one evaluation of a rule. */
  readonly maxEvaluationMs: number
  /** Maximum time of the function jq if the rule names none. */
  readonly jqTimeoutMs: number
  /** Schemas for functions of rules. */
  readonly schemas: readonly SchemaDefinition[]
  readonly rules: readonly RuleAssignment[]
  readonly actions: readonly ActionAssignment[]
  readonly sources: readonly SourceAssignment[]
  /** `topic_metrics`. */
  readonly countedTopics: readonly string[]
}
