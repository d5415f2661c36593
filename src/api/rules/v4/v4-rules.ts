// Rules in version 4 of the API.

import type { ReplyOf } from '../../../contract/index.ts'
import type { v4RuleEndpoints } from './rule-endpoints.ts'
import { type ApiError, refuse, type Handlers, JsonText } from '../../../management/index.ts'
import type { ConfiguredRules } from '../configured-rules.ts'
import type { ActionMetrics, RuleMetrics } from '../rule-reports.ts'
import type { Rule } from '../rule-settings.ts'
import { convertSql, listEvents, type SqlTestOutcome } from '../rule-sql.ts'
import { listConfiguredActionIds, splitFallbacks, toV4Action } from './v4-actions.ts'
import { isForNanoMq } from './nanomq-actions.ts'
import { RuleWriter, toV4Id } from './rule-writer.ts'

type Known = typeof v4RuleEndpoints
type Written = ReplyOf<Known['show_rule']>['data']

/** Handlers of rules in the form of version 4. */
export function createV4RuleHandlers(rules: ConfiguredRules): Handlers<Known> {
  const writer = new RuleWriter(rules)
  const toResponses = async (all: readonly Rule[]): Promise<Written[]> => {
    const [ofRules, ofServices] = await Promise.all([rules.readAllRuleMetrics(), rules.readActionMetrics()])
    return all.map((rule) => toResponse(rule, { rules, writer, ofRules, ofServices }))
  }
  const respondWithRule = async (rule: Rule | ApiError): Promise<{ code: 0; data: Written } | ApiError> => {
    if (!('sql' in rule)) return rule
    const [data] = await toResponses([rule])
    return data === undefined ? refuse('unknownError', 'the rule was deleted meanwhile') : { code: 0, data }
  }
  return {
    list_rules: async () => ({ code: 0, data: await toResponses(rules.listRules()) }),
    create_rule: async ({ query: { test = false }, body: { id, ctx = {}, ...sent }, caller }) => {
      if (test) return toTestResponse(rules.test(sent.rawsql, ctx))
      const rule = await writer.create(id, sent, caller)
      if (!('sql' in rule) || !isForNanoMq(sent.actions)) return respondWithRule(rule)
      return { code: 0, data: { rawsql: rule.sql, id: Number(rule.id), enabled: rule.isEnabled }, actions: [] }
    },
    show_rule: ({ params: { id } }) => respondWithRule(writer.find(id)),
    update_rule: async ({ params: { id }, body, caller }) => {
      const rule = writer.find(id)
      return 'sql' in rule ? respondWithRule(await writer.change(rule, body, caller)) : rule
    },
    delete_rule: async ({ params: { id }, query: { force = false }, caller }) => {
      const rule = writer.find(id)
      if (!('sql' in rule)) return rule
      return (await writer.remove(rule, force, caller)) ?? { code: 0 }
    },
    reset_metrics: async ({ params: { id } }) => {
      const rule = writer.find(id)
      if (!('sql' in rule)) return rule
      const actions = listConfiguredActionIds(rule.actions)
      await Promise.all([rules.resetRule(rule.id), ...actions.map((action) => rules.resetAction(action))])
      return { code: 0 }
    },
    convert_sql: ({ body: { rawsql } }) => {
      const converted = convertSql(rawsql)
      if (typeof converted === 'string') return refuse('invalidParameter', converted)
      return { code: 0, data: { rawsql: converted.sql, warnings: [...converted.warnings] } }
    },
    list_events: () => ({ code: 0, data: listEvents() }),
  }
}

function toTestResponse(outcome: SqlTestOutcome): JsonText | ApiError {
  switch (outcome.outcome) {
    case 'passed':
      return new JsonText(`{"code":0,"data":${outcome.json}}`)
    case 'no-match':
      return refuse('invalidParameter', 'the SQL gives no result for this message or event', 404).withReason(
        'NOT_MATCH',
      )
    case 'failed':
      return refuse('invalidParameter', outcome.message)
    default:
      throw outcome satisfies never
  }
}

interface RuleContext {
  readonly rules: ConfiguredRules
  readonly writer: RuleWriter
  readonly ofRules: ReadonlyMap<string, RuleMetrics>
  readonly ofServices: ReadonlyMap<string, ActionMetrics>
}

function toResponse(rule: Rule, { rules, writer, ofRules, ofServices }: RuleContext): Written {
  const metrics = ofRules.get(rule.id)
  return {
    id: toV4Id(rule.id),
    rawsql: rule.sql,
    for: [...rule.from],
    enabled: rule.isEnabled,
    description: rule.description,
    warnings: [...rule.warnings],
    on_action_failed: rule.onActionFailed,
    created_at: rule.createdAtMs ?? 0,
    metrics: metrics === undefined ? [] : [{ node: rules.nodeName, ...toMetricsResponse(metrics) }],
    actions: toV4Actions(rule.actions, (action, index) => ({
      ...toV4Action(action, index, { rules, resources: writer.resources }),
      metrics: [{ node: rules.nodeName, ...findActionMetrics(action, index, { metrics, ofServices }) }],
    })),
  }
}

type WrittenFallback = Written['actions'][number]['fallbacks'][number]

/** Counters of fallbacks are behind those of all actions. */
function toV4Actions(
  actions: readonly unknown[],
  write: (action: unknown, index: number) => Omit<WrittenFallback, 'fallbacks'>,
): Written['actions'] {
  let nextPlace = actions.length
  return actions.map(splitFallbacks).map(({ action, fallbacks }, index) => ({
    ...write(action, index),
    fallbacks: fallbacks.map((fallback) => ({ ...write(fallback, nextPlace++), fallbacks: [] })),
  }))
}

function toMetricsResponse(metrics: RuleMetrics): Omit<Written['metrics'][number], 'node'> {
  return {
    matched: metrics.matched,
    passed: metrics.passed,
    failed: metrics.exceptions + metrics.noResult,
    exception: metrics.exceptions,
    no_result: metrics.noResult,
    speed: metrics.rate,
    speed_max: metrics.rateMax,
    speed_last5m: metrics.rateLast5m,
  }
}

/** An action that sends to a service has its own counters, for all rules that use it. */
function findActionMetrics(
  action: unknown,
  index: number,
  {
    metrics,
    ofServices,
  }: { readonly metrics: RuleMetrics | undefined; readonly ofServices: ReadonlyMap<string, ActionMetrics> },
): { success: number; failed: number; taken: number } {
  if (typeof action !== 'string') return metrics?.functions[index] ?? { success: 0, failed: 0, taken: 0 }
  const { success = 0, failed = 0, matched: taken = 0 } = ofServices.get(action) ?? {}
  return { success, failed, taken }
}
