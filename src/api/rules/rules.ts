// Rules.

import { randomBytes } from 'node:crypto'
import type { ReplyOf } from '../../contract/index.ts'
import type { ruleEndpoints } from './endpoints.ts'
import { refuseFor, type ApiError, type Handlers, JsonText } from '../../management/index.ts'
import { refuseChange } from '../context/setting-writer.ts'
import type { ConfiguredRules, RuleSettings } from './configured-rules.ts'
import type { RuleMetrics } from './rule-reports.ts'
import type { Rule } from './rule-settings.ts'
import { convertSql, listEvents, type SqlTestOutcome } from './rule-sql.ts'

type Known = typeof ruleEndpoints
type Written = ReplyOf<Known['get_rule']>

const idBytes = 4
const defaultLimit = 100

export function createRuleHandlers(rules: ConfiguredRules): Handlers<Known> {
  const findRule = (id: string): Rule | ApiError =>
    rules.listRules().find((rule) => rule.id === id) ?? refuseUnknownRule(id)
  const put = async (...args: Parameters<ConfiguredRules['putRule']>): Promise<Written | ApiError> => {
    const problem = await rules.putRule(...args)
    if (problem !== undefined) return refuseChange(problem)
    const rule = findRule(args[0])
    return 'sql' in rule ? toResponse(rule) : rule
  }
  return {
    get_rules: ({ query: { page = 1, limit = defaultLimit } }) => {
      const all = rules.listRules()
      const rows = all.slice((page - 1) * limit, page * limit)
      return {
        data: rows.map(toResponse),
        meta: { page, limit, count: all.length, hasnext: page * limit < all.length },
      }
    },
    add_rule: ({ body: { id: requestedId, name, ...settings }, caller }) => {
      const id = requestedId ?? name ?? `rule_${randomBytes(idBytes).toString('hex')}`
      if ('sql' in findRule(id)) return refuseFor('CONFLICT', `there is a rule ${id} already: change it with PUT`)
      return put(id, toSettings(settings), caller)
    },
    get_rule: ({ params: { id } }) => {
      const rule = findRule(id)
      return 'sql' in rule ? toResponse(rule) : rule
    },
    change_rule: ({ params: { id }, body: settings, caller }) => {
      const rule = findRule(id)
      return 'sql' in rule ? put(id, toSettings(settings), caller) : rule
    },
    remove_rule: async ({ params: { id }, caller }) => {
      const rule = findRule(id)
      if (!('sql' in rule)) return rule
      const problem = await rules.putRule(id, undefined, caller)
      return problem === undefined ? null : refuseChange(problem)
    },
    get_rule_metrics: async ({ params: { id } }) => {
      const rule = findRule(id)
      if (!('sql' in rule)) return rule
      const metrics = toMetricsResponse(await rules.readRuleMetrics(id))
      return { id, metrics, node_metrics: [{ node: rules.nodeName, metrics }] }
    },
    reset_rule_metrics: async ({ params: { id } }) => {
      const rule = findRule(id)
      if (!('sql' in rule)) return rule
      await rules.resetRule(id)
      return null
    },
    test_rule: ({ body: { sql, context = {} } }) => toTestResponse(rules.test(sql, context)),
    test_stored_rule: ({ params: { id }, body: { context = {} } }) => {
      const rule = findRule(id)
      return 'sql' in rule ? toTestResponse(rules.test(rule.sql, context)) : rule
    },
    explain_rule: ({ params: { id }, body: { context = {} } }) => {
      const rule = findRule(id)
      if (!('sql' in rule)) return rule
      const explained = rules.explain(rule.sql, context)
      return typeof explained === 'string' ? refuseFor('BAD_REQUEST', explained) : explained
    },
    convert_rule: ({ body: { rawsql } }) => {
      const converted = convertSql(rawsql)
      if (typeof converted === 'string') return refuseFor('BAD_REQUEST', converted)
      return { rawsql: converted.sql, warnings: [...converted.warnings] }
    },
    get_rule_events: listEvents,
  }
}

function toTestResponse(outcome: SqlTestOutcome): JsonText | ApiError {
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

function refuseUnknownRule(id: string): ApiError {
  return refuseFor('NOT_FOUND', `there is no rule ${JSON.stringify(id)}`)
}

type Sent = Omit<RuleSettings, 'onActionFailed'> & { readonly on_action_failed?: RuleSettings['onActionFailed'] }

function toSettings({ on_action_failed: onActionFailed, ...settings }: Sent): RuleSettings {
  return { ...settings, onActionFailed }
}

function toResponse({
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
    created_at: formatOptionalTime(createdAtMs),
    last_modified_at: formatOptionalTime(modifiedAtMs),
  }
}

function formatOptionalTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString()
}

function toMetricsResponse(metrics: RuleMetrics): ReplyOf<Known['get_rule_metrics']>['metrics'] {
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
