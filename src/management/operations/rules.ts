import type { Caller } from '../../contract/index.ts'

/** A rule with its settings. */
export interface Rule {
  readonly id: string
  readonly sql: string
  readonly from: readonly string[]
  /** As in the configuration: names, functions with arguments, and `{action, fallbacks}` with one of these. */
  readonly actions: readonly unknown[]
  readonly isEnabled: boolean
  /** Whether a result for which an action fails is passed to further actions. */
  readonly onActionFailed: 'continue' | 'stop'
  readonly description: string
  /** Warnings about SQL that compiles but cannot work. */
  readonly warnings: readonly string[]
  /** undefined: it is in a file. */
  readonly createdAtMs: number | undefined
  /** undefined: it is in a file. */
  readonly modifiedAtMs: number | undefined
}

export interface RuleMetrics {
  readonly matched: number
  readonly rate: number
  readonly rateMax: number
  readonly rateLast5m: number
  readonly passed: number
  readonly exceptions: number
  readonly noResult: number
  readonly actionsTotal: number
  readonly actionsSuccess: number
  readonly actionsFailed: number
  readonly actionsDiscarded: number
  /** Counters of those actions that are functions, by their index in the list of actions. */
  readonly functions: readonly FunctionMetrics[]
  readonly lastError: string
}

export interface FunctionMetrics {
  readonly taken: number
  readonly success: number
  readonly failed: number
}

export interface ActionMetrics {
  readonly status: 'connected' | 'connecting' | 'disconnected' | 'inconsistent'
  readonly statusReason: string
  readonly matched: number
  /** Matched messages per second: in the last second, maximum, and average of five minutes. */
  readonly rate: number
  readonly rateMax: number
  readonly rateLast5m: number
  readonly success: number
  readonly failed: number
  readonly droppedQueueFull: number
  readonly droppedOther: number
  readonly retried: number
  readonly queuing: number
  readonly inflight: number
  readonly deadLetters: number
  readonly oldestAgeMs: number | undefined
  readonly lastError: string
}

/** Rules for Prometheus. */
export interface RuleScrape {
  readonly rules: ReadonlyMap<string, RuleMetrics>
  readonly actions: ReadonlyMap<string, ActionMetrics>
  /** Actions that use each connector, by `type:name`. Connectors without actions are omitted. */
  readonly connectors: ReadonlyMap<string, readonly string[]>
}

export interface SourceMetrics extends Pick<ActionMetrics, 'status' | 'statusReason' | 'lastError'> {
  readonly received: number
  /** Messages that the broker cannot accept. */
  readonly dropped: number
}

/** A connector, an action or a source with its settings, as plain values; secrets are masked. */
export interface Resource {
  readonly type: string
  readonly name: string
  readonly settings: Readonly<Record<string, unknown>>
}

export type ResourceKind = 'connectors' | 'actions' | 'sources'

export interface NodeDeadLetter {
  readonly id: string
  readonly why: string
  readonly atMs: number
  readonly rule: string
  readonly attributes: readonly (readonly [string, string])[]
  readonly payload: Uint8Array
}

/** Reason why a change failed: the request is invalid, or the write failed. */
export interface RuleProblem {
  readonly problem: string
  readonly isAbout: 'settings' | 'disk' | 'in-use'
}

export type SqlTestOutcome =
  /** JSON. */
  | { readonly outcome: 'passed'; readonly json: string }
  | { readonly outcome: 'no-match' }
  | { readonly outcome: 'failed'; readonly message: string }

export interface ExplainedRule {
  readonly outcome: string
  readonly summary: string
  readonly sources: { text: string; matches: boolean }[]
  readonly condition: { text: string; depth: number; value: string; line: number; column: number }[]
  readonly outputs: unknown[]
  readonly error: string | null
}

export interface RuleSettings {
  readonly sql: string
  readonly actions?: readonly unknown[] | undefined
  readonly enable?: boolean | undefined
  readonly description?: string | undefined
  /** Undefined: as it is, and `continue` for a new rule. */
  readonly onActionFailed?: 'continue' | 'stop' | undefined
}

/** Rules, connectors and actions, for the API. */
export interface RuleOperations {
  readonly nodeName: string
  rules(): readonly Rule[]
  /** Creates or replaces it; `settings` undefined: deletes it. Undefined: success. */
  putRule(id: string, settings: RuleSettings | undefined, by: Caller): Promise<RuleProblem | undefined>
  ruleMetrics(id: string): Promise<RuleMetrics>
  /** Returns the metrics of all rules, by ID. */
  metricsOfRules(): Promise<ReadonlyMap<string, RuleMetrics>>
  /** Returns the metrics of rules and actions. Shards that do not respond within a second are omitted. */
  scrape(): Promise<RuleScrape>
  resetRule(id: string): Promise<void>
  test(sql: string, context: Readonly<Record<string, unknown>>): SqlTestOutcome
  /** A text: the SQL is invalid. */
  explain(sql: string, context: Readonly<Record<string, unknown>>): ExplainedRule | string
  /** Returns why the SQL is invalid, with line and column; undefined: it is valid. */
  problemOfSql(sql: string): string | undefined
  /** Keys of each field that the SQL selects; undefined: it selects everything. The SQL must be valid. */
  selectedFields(sql: string): readonly (readonly string[])[] | undefined
  convert(sql: string): { readonly sql: string; readonly warnings: readonly string[] } | string
  events(): {
    event: string
    title: string
    description: string
    test_columns: Record<string, string>
    columns: string[]
    sql_example: string
  }[]
  /** Available types of connectors and actions. */
  serviceTypes(): readonly string[]
  resources(kind: ResourceKind): readonly Resource[]
  /** Like `putRule`. A masked setting that is sent back is unchanged. */
  putResource(
    kind: ResourceKind,
    at: { readonly type: string; readonly name: string },
    settings: Readonly<Record<string, unknown>> | undefined,
    by: Caller,
  ): Promise<RuleProblem | undefined>
  /** Connects to the service without storing anything. Undefined: success. */
  probe(
    kind: ResourceKind,
    at: { readonly type: string; readonly name: string },
    settings: Readonly<Record<string, unknown>>,
    by: Pick<Caller, 'namespace'>,
  ): Promise<string | undefined>
  /** Returns the names of its users. */
  usersOf(kind: ResourceKind, at: { readonly type: string; readonly name: string }): readonly string[]
  actionMetrics(): Promise<ReadonlyMap<string, ActionMetrics>>
  /** By `type:name`. A source that no shard runs is missing. */
  sourceMetrics(): Promise<ReadonlyMap<string, SourceMetrics>>
  resetSource(source: string): Promise<void>
  controlSource(source: string, what: 'start' | 'stop' | 'restart'): Promise<void>
  resetAction(action: string): Promise<void>
  controlAction(action: string, what: 'start' | 'stop' | 'restart'): Promise<void>
  /** Deletes what is stored for an action that is not configured. */
  discardAction(action: string): Promise<void>
  deadLetters(action: string): Promise<readonly NodeDeadLetter[]>
  /** `letter` undefined: all. Returns the number. */
  deleteDeadLetters(action: string, letter: string | undefined): Promise<number>
  retryDeadLetters(action: string, letter: string | undefined): Promise<number>
}
