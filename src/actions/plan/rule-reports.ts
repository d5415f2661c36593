// What the shards report to the main thread about rules, actions and sources.

/** Counters of one rule on one shard since the start or the last reset. */
export interface RuleCounters {
  /** matched = passed + failed; failed = exceptions + noResult. */
  matched: number
  passed: number
  exceptions: number
  noResult: number
  /** Actions: total = success + failed + discarded, when none is in progress. */
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
  /** Counters of those actions that are functions, by their index in the list of actions. */
  readonly functions: readonly FunctionCounters[]
  /** Messages per second: in the last second, maximum, and average of five minutes. */
  readonly rate: number
  readonly rateMax: number
  readonly rateLast5m: number
  /** '': no error. */
  readonly lastError: string
}

export interface RuleEngineReport {
  readonly rules: readonly RuleReport[]
  readonly actions: readonly ActionReport[]
  /** Sources, except those that are bridges. */
  readonly sources: readonly SourceReport[]
}

/** A result that waits in an action queue. */
export interface QueuedResultReport {
  /** Identifies the result on this shard until its action queue is opened again. */
  readonly id: string
  /** Number of times that the service refused the result. */
  readonly refusals: number
  /** Why the service refused it last; '': it has not refused it. */
  readonly why: string
  readonly rule: string
  readonly attributes: readonly (readonly [string, string])[]
  /** As the present templates of the action render it. */
  readonly payload: Uint8Array
  /** Columns of the result as JSON; '': an earlier version stored the result. */
  readonly result: string
}

export interface DeadLetterReport {
  /** Identifies the dead letter for `delete` and `retry`. Valid on this shard until it restarts. */
  readonly id: number
  readonly why: string
  /** Milliseconds since 1970. */
  readonly atMs: number
  readonly rule: string
  readonly attributes: readonly (readonly [string, string])[]
  readonly payload: Uint8Array
  /** Columns of the result as JSON; '': an earlier version stored the dead letter, or it has the message instead. */
  readonly result: string
}

/** `connecting`: the service has not responded yet to the current attempt. `disconnected`: the last attempt failed. `stopped`: the action is disabled or stopped. */
export type ActionState = 'connecting' | 'connected' | 'disconnected' | 'stopped'

export interface ActionReport {
  readonly id: string
  readonly state: ActionState
  readonly stateReason: string
  /** Counts results of rules since the start: matched = success + failed + dropped + queuing + inflight. */
  readonly matched: number
  /** Results per second: in the last second, maximum, and average of five minutes. */
  readonly rate: number
  readonly rateMax: number
  readonly rateLast5m: number
  readonly success: number
  /** Results that became dead letters. */
  readonly failed: number
  readonly droppedQueueFull: number
  readonly droppedOther: number
  readonly retried: number
  readonly queuing: number
  readonly inflight: number
  /** Age of the oldest queued result in ms; undefined: none is queued. */
  readonly oldestAgeMs: number | undefined
  readonly deadLetters: number
  /** Dead letters that were dropped, because there were too many. */
  readonly droppedDeadLetters: number
  readonly lastError: string
}

export interface SourceReport {
  readonly id: string
  readonly state: 'connecting' | 'connected' | 'disconnected'
  readonly stateReason: string
  /** Messages passed to rules. */
  readonly received: number
  /** Messages that this broker cannot accept. */
  readonly dropped: number
  readonly lastError: string
}

/** Names of the counters of a topic, in the order of `TopicCounts`. */
export const topicCountNames = ['qos0.in', 'qos1.in', 'qos2.in', 'qos0.out', 'qos1.out', 'qos2.out', 'dropped'] as const

/** Counters or rates of a topic, in the order of `topicCountNames`. */
export type TopicCounts = readonly number[]

/** Metrics of one topic in one shard. */
export interface TopicMetricsReport {
  readonly topic: string
  readonly createdAtMs: number
  /** Undefined: the counters were never reset. */
  readonly resetAtMs: number | undefined
  readonly counts: TopicCounts
  /** Messages per second. */
  readonly rates: TopicCounts
}
