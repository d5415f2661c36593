// Compiles SQL once into a rule that can be evaluated for many messages and events.

import type { TopicFilter } from '../../protocol/index.ts'
import type { EventName } from '../events/event-definitions.ts'
import type { RuleEvent } from '../events/rule-event.ts'
import { listSourceColumns, parseSource, type RuleSource } from '../events/rule-sources.ts'
import type { HostFunctions } from '../functions/host-functions.ts'
import { type MapBuilder, RuleError, type RuleMap } from '../../values/index.ts'
import { parseStatement } from '../sql/parse-statement.ts'
import type { Expression, Statement } from '../sql/sql-syntax.ts'
import { Compilation, type RuleWarning } from './compilation.ts'
import { compileExpression } from './compile-expression.ts'
import { compileField } from './compile-fields.ts'
import type { CompiledStatement, RunStatement } from './compiled-statement.ts'
import { compileForeach } from './compile-foreach.ts'
import { type Evaluate, Frame } from './frame.ts'
import { Scope } from './scope.ts'

/** The result of a rule for one message or event. */
export type RuleResult =
  /** SELECT has one output, FOREACH one for each item. */
  | { readonly outcome: 'passed'; readonly outputs: readonly RuleMap[] }
  /** WHERE is not true, or FOREACH has no items. */
  /** `isMatch`: the condition is true, and FOREACH has no items. */
  | { readonly outcome: 'no-result'; readonly isMatch: boolean }
  | { readonly outcome: 'failed'; readonly error: RuleError }

export interface CompileOptions {
  /** Value of `metadata.rule_id`. */
  readonly ruleId?: string
}

/** A rule that was compiled. It has no state: one instance serves all messages of a shard. */
export interface CompiledRule {
  readonly sql: string
  readonly sources: readonly RuleSource[]
  /** Filters for the topic matcher of the broker. The rule must only be evaluated for messages that match one. */
  readonly topicFilters: readonly TopicFilter[]
  readonly events: readonly EventName[]
  readonly isForeach: boolean
  readonly warnings: readonly RuleWarning[]
  /** Schemas that the rule names. */
  readonly schemas: readonly string[]
  /** Never throws. */
  evaluate(event: RuleEvent, host: HostFunctions): RuleResult
  /** For explanations: evaluates expressions of the WHERE condition in the state after the fields. Never throws. */
  readonly condition: RuleCondition | undefined
}

/** The WHERE condition of a rule. */
export interface RuleCondition {
  readonly expression: Expression
  /** Evaluates parts of the condition after the fields. An error stands for the value. Throws if the fields fail. */
  inspect(parts: readonly Expression[], event: RuleEvent, host: HostFunctions): unknown[]
}

/** Compiles SQL. Throws RuleCompileError. */
export function compileRule(sql: string, options: CompileOptions = {}): CompiledRule {
  const statement = parseStatement(sql)
  const sources = statement.from.map((source) => parseSource(sql, source))
  const compilation = new Compilation(sql, listSourceColumns(sources))
  for (const { oldName } of sources) if (oldName !== undefined) compilation.warn('old-event-name', ...oldName)
  const scope = new Scope()
  const compiled =
    statement.kind === 'select'
      ? compileSelect(statement, scope, compilation)
      : compileForeach(statement, scope, compilation)
  const metadata = { rule_id: options.ruleId ?? '' }
  const createFrame = (event: RuleEvent, host: HostFunctions): Frame =>
    new Frame(event, host, metadata, scope.slotCount)
  return {
    sql,
    sources,
    topicFilters: sources.flatMap((source) => (source.kind === 'event' ? [] : [source.filter])),
    events: sources.flatMap((source) => (source.kind === 'event' ? [source.event] : [])),
    isForeach: statement.kind === 'foreach',
    warnings: compilation.warnings,
    schemas: [...compilation.schemas],
    evaluate: (event, host) => evaluate(compiled.run, createFrame(event, host)),
    condition: createCondition(statement, compiled, { scope, sql, createFrame }),
  }
}

function evaluate(run: RunStatement, frame: Frame): RuleResult {
  try {
    const outputs = run(frame)
    if (outputs === undefined) return noMatch
    return outputs.length === 0 ? noItems : { outcome: 'passed', outputs }
  } catch (error) {
    return { outcome: 'failed', error: toRuleError(error) }
  }
}

const noMatch: RuleResult = { outcome: 'no-result', isMatch: false }
const noItems: RuleResult = { outcome: 'no-result', isMatch: true }

/** A rule must not harm the delivery of its message: whatever went wrong ends only this evaluation. */
export function toRuleError(error: unknown): RuleError {
  if (error instanceof RuleError) return error
  return new RuleError(error instanceof Error ? `${error.name}: ${error.message}` : String(error), 'internal')
}

function compileSelect(
  statement: Extract<Statement, { kind: 'select' }>,
  scope: Scope,
  compilation: Compilation,
): CompiledStatement {
  const pending = statement.fields.map((field) => compileField(field, scope, compilation))
  const where = statement.where === undefined ? undefined : compileExpression(statement.where, scope, compilation)
  const fields = pending.map((finish) => finish())
  const select = (frame: Frame): MapBuilder => {
    const output: MapBuilder = {}
    for (const write of fields) write(frame, output)
    return output
  }
  return {
    prepare: select,
    run: (frame) => {
      const output = select(frame)
      return where === undefined || where(frame) === true ? [output] : undefined
    },
  }
}

interface ConditionContext {
  readonly scope: Scope
  readonly sql: string
  readonly createFrame: (event: RuleEvent, host: HostFunctions) => Frame
}

function createCondition(
  statement: Statement,
  compiled: CompiledStatement,
  { scope, sql, createFrame }: ConditionContext,
): RuleCondition | undefined {
  const expression = statement.where
  if (expression === undefined) return undefined
  return {
    expression,
    inspect: (parts, event, host) => {
      const frame = createFrame(event, host)
      try {
        compiled.prepare(frame)
      } catch (error) {
        throw toRuleError(error)
      }
      // Warnings were collected when the rule was compiled.
      const evaluators = parts.map((part) => compileExpression(part, scope, new Compilation(sql, undefined)))
      return evaluators.map((part) => evaluateOrError(part, frame))
    },
  }
}

function evaluateOrError(part: Evaluate, frame: Frame): unknown {
  try {
    return part(frame)
  } catch (error) {
    return toRuleError(error)
  }
}
