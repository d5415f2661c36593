import type { Caller } from '../../contract/index.ts'

/** A rule with its settings. */
export interface Rule {
  readonly id: string
  readonly sql: string
  readonly from: readonly string[]
  /** As in the configuration: names, and functions with arguments. */
  readonly actions: readonly unknown[]
  readonly isEnabled: boolean
  readonly description: string
  /** undefined: a file configures it. */
  readonly createdAtMs: number | undefined
  /** undefined: a file configures it. */
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
  /** Of actions that are functions, by their place in the list of actions. */
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
  /** Of `matched`, per second: now, at most, and on average of five minutes. */
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

/** What Prometheus is told of rules. */
export interface RuleScrape {
  readonly rules: ReadonlyMap<string, RuleMetrics>
  readonly actions: ReadonlyMap<string, ActionMetrics>
  /** Actions that use each connector, by `type:name`. Connectors without actions are left out. */
  readonly connectors: ReadonlyMap<string, readonly string[]>
}

export interface SourceMetrics extends Pick<ActionMetrics, 'status' | 'statusReason' | 'lastError'> {
  readonly received: number
  /** Those that the broker can not take. */
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

/** Why a change is not made: the request is wrong, or the disk refuses. */
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
}

/** What the management asks of the node about rules, connectors and actions. */
export interface RuleOperations {
  readonly nodeName: string
  rules(): readonly Rule[]
  /** Creates or replaces it; `settings` undefined: deletes it. Undefined: done. */
  putRule(id: string, settings: RuleSettings | undefined, by: Caller): Promise<RuleProblem | undefined>
  ruleMetrics(id: string): Promise<RuleMetrics>
  /** Of all rules, by ID. */
  metricsOfRules(): Promise<ReadonlyMap<string, RuleMetrics>>
  /** Of rules and actions. Shards that do not answer within a second are left out. */
  scrape(): Promise<RuleScrape>
  resetRule(id: string): Promise<void>
  test(sql: string, context: Readonly<Record<string, unknown>>): SqlTestOutcome
  /** The message: the SQL is no rule. */
  explain(sql: string, context: Readonly<Record<string, unknown>>): ExplainedRule | string
  /** Why it is no rule, with line and column; undefined: it is one. */
  problemOfSql(sql: string): string | undefined
  /** Keys of each field that the SQL selects; undefined: it selects everything. The SQL is a rule. */
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
  /** Types of connectors and actions that there are. */
  serviceTypes(): readonly string[]
  resources(kind: ResourceKind): readonly Resource[]
  /** As `putRule`. A setting that is shown masked is sent masked to keep it. */
  putResource(
    kind: ResourceKind,
    at: { readonly type: string; readonly name: string },
    settings: Readonly<Record<string, unknown>> | undefined,
    by: Caller,
  ): Promise<RuleProblem | undefined>
  /** Asks the service whether it is there; nothing is stored. Undefined: it is. */
  probe(
    kind: ResourceKind,
    at: { readonly type: string; readonly name: string },
    settings: Readonly<Record<string, unknown>>,
  ): Promise<string | undefined>
  /** What uses it, by name. */
  usersOf(kind: ResourceKind, at: { readonly type: string; readonly name: string }): readonly string[]
  actionMetrics(): Promise<ReadonlyMap<string, ActionMetrics>>
  /** By `type:name`. One that no shard runs is not there. */
  sourceMetrics(): Promise<ReadonlyMap<string, SourceMetrics>>
  resetSource(source: string): Promise<void>
  controlSource(source: string, what: 'start' | 'stop' | 'restart'): Promise<void>
  resetAction(action: string): Promise<void>
  controlAction(action: string, what: 'start' | 'stop' | 'restart'): Promise<void>
  /** Gives up what is stored for an action that is not configured. */
  discardAction(action: string): Promise<void>
  deadLetters(action: string): Promise<readonly NodeDeadLetter[]>
  /** `letter`: undefined: all. Returns how many. */
  deleteDeadLetters(action: string, letter: string | undefined): Promise<number>
  retryDeadLetters(action: string, letter: string | undefined): Promise<number>
}
