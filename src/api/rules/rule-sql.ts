// Tests, explanations and conversions of the SQL of rules, and the events that it can read.

import type { ReplyOf } from '../../contract/index.ts'
import {
  listColumns,
  compileRule,
  convertRuleSql,
  eventDefinitions,
  explainRule,
  type HostFunctions,
  RuleCompileError,
  createSampleEvent,
  testRule,
  toJsonText,
} from '../../rules/index.ts'
import { decodeJson, RuleError, type RuleMap } from '../../values/index.ts'
import type { ruleEndpoints } from './endpoints.ts'

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

type Context = Readonly<Record<string, unknown>>

export function testSql(sql: string, context: Context, host: HostFunctions): SqlTestOutcome {
  try {
    return toOutcome(testRule(sql, toContext(context), host))
  } catch (error) {
    return { outcome: 'failed', message: formatRuleError(error) }
  }
}

/** A text: the SQL is invalid. */
export function explainSql(sql: string, context: Context, host: HostFunctions): ExplainedRule | string {
  try {
    const rule = compileRule(sql)
    const event = createSampleEvent(rule, toContext(context))
    if (event instanceof RuleError) return event.message
    const { sources, condition, outputs, error, ...rest } = explainRule(rule, event, host)
    return {
      ...rest,
      sources: [...sources],
      condition: [...condition],
      // All outputs together have the limit of one text.
      outputs: JSON.parse(toJsonText(outputs)) as unknown[],
      error: error === undefined ? null : error.message,
    }
  } catch (error) {
    return formatRuleError(error)
  }
}

/** Returns the SQL with what was changed; a text: it is invalid. */
export function convertSql(sql: string): { readonly sql: string; readonly warnings: readonly string[] } | string {
  try {
    const converted = convertRuleSql(sql)
    return { sql: converted.sql, warnings: converted.notes }
  } catch (error) {
    return formatRuleError(error)
  }
}

/** Errors in SQL, and of values that cannot be converted. Others are internal errors. */
function formatRuleError(error: unknown): string {
  if (error instanceof RuleCompileError || error instanceof RuleError) return error.message
  throw error
}

function toContext(context: Context): RuleMap {
  return decodeJson(JSON.stringify(context)) as RuleMap
}

function toOutcome(result: ReturnType<typeof testRule>): SqlTestOutcome {
  if (result.outcome === 'passed') return { outcome: 'passed', json: toJsonText(result.output) }
  return result.outcome === 'failed' ? { outcome: 'failed', message: result.error.message } : { outcome: 'no-match' }
}

export function listEvents(): ReplyOf<(typeof ruleEndpoints)['get_rule_events']> {
  return [...eventDefinitions.values()].map(({ name, topic, title, description, testColumns, sqlExample }) => ({
    event: topic.startsWith('$events/') ? topic : name,
    title,
    description,
    test_columns: { ...testColumns },
    columns: [...listColumns(name)],
    sql_example: sqlExample,
  }))
}
