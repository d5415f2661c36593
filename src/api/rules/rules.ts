// Rules: operations of the node on rules, connectors, actions and sources, and the handlers of rules.

import type { ResourceKind, Resource } from '../../actions/index.ts'
import { randomBytes } from 'node:crypto'
import type { ReplyOf, Caller } from '../../contract/index.ts'
import type { ruleEndpoints } from './endpoints.ts'
import { refuseFor, type ApiError, type Handlers, JsonText } from '../../management/index.ts'
import { refuseChange, type SettingProblem } from '../context/setting-writer.ts'
import type { DeadLetterOperations } from './dead-letters.ts'

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
  readonly droppedDeadLetters: number
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

/** A result that waits in an action queue. */
export interface NodeQueuedResult {
  readonly id: string
  readonly refusals: number
  readonly why: string
  readonly rule: string
  readonly attributes: readonly (readonly [string, string])[]
  readonly payload: Uint8Array
  /** Columns of the result as JSON; '': there is none. */
  readonly result: string
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
export interface RuleOperations extends DeadLetterOperations {
  readonly nodeName: string
  rules(): readonly Rule[]
  /** Creates or replaces it; `settings` undefined: deletes it. Undefined: success. */
  putRule(id: string, settings: RuleSettings | undefined, by: Caller): Promise<SettingProblem | undefined>
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
  ): Promise<SettingProblem | undefined>
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
  queuedResults(action: string): Promise<readonly NodeQueuedResult[]>
  /** Moves a result of the action queue to the dead letters; `entry` undefined: all that are listed. Returns the number. */
  discardQueuedResults(action: string, entry: string | undefined): Promise<number>
}

type Known = typeof ruleEndpoints
type Written = ReplyOf<Known['get_rule']>

const idBytes = 4
const defaultLimit = 100

export function ruleHandlers(rules: RuleOperations): Handlers<Known> {
  const found = (id: string): Rule | ApiError => rules.rules().find((rule) => rule.id === id) ?? absent(id)
  const put = async (...given: Parameters<RuleOperations['putRule']>): Promise<Written | ApiError> => {
    const problem = await rules.putRule(...given)
    if (problem !== undefined) return refuseChange(problem)
    const rule = found(given[0])
    return 'sql' in rule ? written(rule) : rule
  }
  return {
    get_rules: ({ query: { page = 1, limit = defaultLimit } }) => {
      const all = rules.rules()
      const rows = all.slice((page - 1) * limit, page * limit)
      return { data: rows.map(written), meta: { page, limit, count: all.length, hasnext: page * limit < all.length } }
    },
    add_rule: ({ body: { id: given, name, ...settings }, caller }) => {
      const id = given ?? name ?? `rule_${randomBytes(idBytes).toString('hex')}`
      if ('sql' in found(id)) return refuseFor('CONFLICT', `there is a rule ${id} already: change it with PUT`)
      return put(id, settingsOf(settings), caller)
    },
    get_rule: ({ params: { id } }) => {
      const rule = found(id)
      return 'sql' in rule ? written(rule) : rule
    },
    change_rule: ({ params: { id }, body: settings, caller }) => {
      const rule = found(id)
      return 'sql' in rule ? put(id, settingsOf(settings), caller) : rule
    },
    remove_rule: async ({ params: { id }, caller }) => {
      const rule = found(id)
      if (!('sql' in rule)) return rule
      const problem = await rules.putRule(id, undefined, caller)
      return problem === undefined ? null : refuseChange(problem)
    },
    get_rule_metrics: async ({ params: { id } }) => {
      const rule = found(id)
      if (!('sql' in rule)) return rule
      const metrics = writtenMetrics(await rules.ruleMetrics(id))
      return { id, metrics, node_metrics: [{ node: rules.nodeName, metrics }] }
    },
    reset_rule_metrics: async ({ params: { id } }) => {
      const rule = found(id)
      if (!('sql' in rule)) return rule
      await rules.resetRule(id)
      return null
    },
    test_rule: ({ body: { sql, context = {} } }) => tested(rules.test(sql, context)),
    test_stored_rule: ({ params: { id }, body: { context = {} } }) => {
      const rule = found(id)
      return 'sql' in rule ? tested(rules.test(rule.sql, context)) : rule
    },
    explain_rule: ({ params: { id }, body: { context = {} } }) => {
      const rule = found(id)
      if (!('sql' in rule)) return rule
      const explained = rules.explain(rule.sql, context)
      return typeof explained === 'string' ? refuseFor('BAD_REQUEST', explained) : explained
    },
    convert_rule: ({ body: { rawsql } }) => {
      const converted = rules.convert(rawsql)
      if (typeof converted === 'string') return refuseFor('BAD_REQUEST', converted)
      return { rawsql: converted.sql, warnings: [...converted.warnings] }
    },
    get_rule_events: () => rules.events(),
  }
}

function tested(outcome: SqlTestOutcome): JsonText | ApiError {
  switch (outcome.outcome) {
    case 'passed':
      return new JsonText(outcome.json)
    case 'no-match':
      return refuseFor('NOT_MATCH', 'the SQL gives no result for this message or event')
    case 'failed':
      return refuseFor('BAD_REQUEST', outcome.message)
    default:
      throw outcome satisfies never
  }
}

function absent(id: string): ApiError {
  return refuseFor('NOT_FOUND', `there is no rule ${JSON.stringify(id)}`)
}

type Sent = Omit<RuleSettings, 'onActionFailed'> & { readonly on_action_failed?: RuleSettings['onActionFailed'] }

function settingsOf({ on_action_failed: onActionFailed, ...settings }: Sent): RuleSettings {
  return { ...settings, onActionFailed }
}

function written({
  id,
  sql,
  from,
  actions,
  onActionFailed,
  isEnabled,
  description,
  warnings,
  createdAtMs,
  modifiedAtMs,
}: Rule): Written {
  return {
    id,
    name: id,
    sql,
    from: [...from],
    actions: actions as Written['actions'],
    on_action_failed: onActionFailed,
    enable: isEnabled,
    description,
    warnings: [...warnings],
    created_at: timeOrNull(createdAtMs),
    last_modified_at: timeOrNull(modifiedAtMs),
  }
}

function timeOrNull(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

function writtenMetrics(metrics: RuleMetrics): ReplyOf<Known['get_rule_metrics']>['metrics'] {
  return {
    matched: metrics.matched,
    'matched.rate': metrics.rate,
    'matched.rate.max': metrics.rateMax,
    'matched.rate.last5m': metrics.rateLast5m,
    passed: metrics.passed,
    failed: metrics.exceptions + metrics.noResult,
    'failed.exception': metrics.exceptions,
    'failed.no_result': metrics.noResult,
    'actions.total': metrics.actionsTotal,
    'actions.success': metrics.actionsSuccess,
    'actions.failed': metrics.actionsFailed,
    'actions.discarded': metrics.actionsDiscarded,
    last_error: metrics.lastError,
  }
}
