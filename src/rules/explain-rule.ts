// Explains why a rule did or did not run for one message or event.

import type { CompiledRule } from './compile/compile-rule.ts'
import { takesEvent } from './events/rule-sources.ts'
import type { RuleEvent } from './events/rule-event.ts'
import type { HostFunctions } from './functions/host-functions.ts'
import {
  Budget,
  encodeJson,
  findPosition,
  RuleError,
  type RuleMap,
  type RuleValue,
  type SourcePosition,
} from '../values/index.ts'
import type { Expression } from './sql/sql-syntax.ts'
import { listInnerExpressions } from './sql/tree-depth.ts'

/** One part of the WHERE condition. */
export interface ExplainedPart extends SourcePosition {
  /** The part as written in the SQL. */
  readonly text: string
  /** Depth in the condition: 0 is the whole condition. */
  readonly depth: number
  /** The value as JSON, `undefined`, or the message of an error. */
  readonly value: string
}

export interface RuleExplanation {
  readonly outcome: 'passed' | 'no-source' | 'condition-false' | 'no-items' | 'failed'
  /** One sentence. */
  readonly summary: string
  /** Each entry of FROM and whether it takes the message or event. */
  readonly sources: readonly { readonly text: string; readonly matches: boolean }[]
  /** The condition and its parts. Empty without WHERE, or if no source matches. */
  readonly condition: readonly ExplainedPart[]
  readonly outputs: readonly RuleMap[]
  readonly error: RuleError | undefined
}

/** Parts of a condition that are shown at most. */
const maxParts = 200

/** Characters of a value that are shown at most. */
const maxShownValue = 200

/** Evaluates the rule and its condition. Never throws. */
export function explainRule(rule: CompiledRule, event: RuleEvent, host: HostFunctions): RuleExplanation {
  const topic = event.readColumn('topic')
  const sources = rule.sources.map((source) => ({
    text: source.text,
    matches: takesEvent(source, event.fields.event, topic),
  }))
  const nothing = { sources, condition: [], outputs: [], error: undefined }
  if (!sources.some(({ matches }) => matches)) {
    const subject =
      typeof topic === 'string' ? `event ${event.fields.event}, topic '${topic}'` : `event ${event.fields.event}`
    return { ...nothing, outcome: 'no-source', summary: `No source in FROM matches this: ${subject}.` }
  }
  const result = rule.evaluate(event, host)
  const condition = explainCondition(rule, event, host)
  switch (result.outcome) {
    case 'passed':
      return { ...nothing, condition, outputs: result.outputs, outcome: 'passed', summary: 'The rule passed.' }
    case 'failed': {
      const summary = `The rule failed: ${result.error.message}.`
      return { ...nothing, condition, error: result.error, outcome: 'failed', summary }
    }
    case 'no-result':
      return { ...nothing, condition, ...withoutResult(condition) }
    default:
      throw result satisfies never
  }
}

function withoutResult(condition: readonly ExplainedPart[]): Pick<RuleExplanation, 'outcome' | 'summary'> {
  const whole = condition.at(0)
  if (whole !== undefined && whole.value !== 'true') {
    return { outcome: 'condition-false', summary: `WHERE is ${whole.value}: ${whole.text}` }
  }
  return { outcome: 'no-items', summary: 'FOREACH has no items, or INCASE is true for none of them.' }
}

function explainCondition(rule: CompiledRule, event: RuleEvent, host: HostFunctions): ExplainedPart[] {
  if (rule.condition === undefined) return []
  const parts = listParts(rule.condition.expression)
  const expressions = parts.map(({ expression }) => expression)
  let values: readonly unknown[]
  try {
    values = rule.condition.inspect(expressions, event, host)
  } catch (error) {
    // The fields failed: the condition was not evaluated. The result of the rule has the error.
    if (!(error instanceof RuleError)) throw error
    return []
  }
  return parts.map(({ expression, depth }, index) => ({
    text: rule.sql.slice(expression.start, expression.end),
    depth,
    value: describeValue(values[index]),
    ...findPosition(rule.sql, expression.start),
  }))
}

interface Part {
  readonly expression: Expression
  readonly depth: number
}

/** The condition, its operands and theirs, without literals: their value is their text. */
function listParts(condition: Expression): Part[] {
  const parts: Part[] = []
  const pending: Part[] = [{ expression: condition, depth: 0 }]
  for (let part = pending.pop(); part !== undefined && parts.length < maxParts; part = pending.pop()) {
    if (part.expression.kind === 'literal' && part.depth > 0) continue
    parts.push(part)
    const { depth } = part
    const inner = listInnerExpressions(part.expression).map((expression) => ({ expression, depth: depth + 1 }))
    pending.push(...inner.toReversed())
  }
  return parts
}

function describeValue(value: unknown): string {
  if (value === undefined) return 'undefined'
  if (value instanceof RuleError) return `error: ${value.message}`
  try {
    const json = encodeJson(value as RuleValue, new Budget())
    return json.length > maxShownValue ? `${json.slice(0, maxShownValue)}…` : json
  } catch (error) {
    if (!(error instanceof RuleError)) throw error
    return `error: ${error.message}`
  }
}
