// The tree is compiled and evaluated by recursion: its depth has a limit, so that no SQL overflows the stack.

import { maxTreeDepth } from '../limits/rule-limits.ts'
import { RuleCompileError } from './compile-error.ts'
import type { Expression, Field, Path, Statement } from './sql-syntax.ts'

/** Throws RuleCompileError if an expression of the statement is too deep. */
export function checkDepth(statement: Statement, sql: string): void {
  const pending = listRoots(statement).map((expression) => ({ expression, depth: 1 }))
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { expression, depth } = next
    if (depth > maxTreeDepth) {
      const summary = `too many operators in one expression: limit maxTreeDepth is ${maxTreeDepth}`
      throw new RuleCompileError(sql, expression.start, summary)
    }
    for (const inner of listInnerExpressions(expression)) pending.push({ expression: inner, depth: depth + 1 })
  }
}

function listRoots(statement: Statement): Expression[] {
  const fields = statement.kind === 'select' ? statement.fields : [...statement.fields, ...(statement.perItem ?? [])]
  const conditions = statement.kind === 'select' ? [statement.where] : [statement.where, statement.inCase]
  return [...fields.flatMap(listFieldExpressions), ...conditions.filter((condition) => condition !== undefined)]
}

function listFieldExpressions(field: Field): Expression[] {
  if (field.kind === 'all') return []
  return [field.expression, ...(field.alias === undefined ? [] : listIndices(field.alias))]
}

function listIndices(path: Path): Expression[] {
  return path.segments.flatMap((segment) => (segment.kind === 'index' ? [segment.index] : []))
}

/** Returns the expressions that an expression consists of. */
export function listInnerExpressions(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'path':
      return listIndices(expression)
    case 'call':
      return expression.args
    case 'case':
      return [
        expression.subject,
        ...expression.branches.flatMap(({ when, result }) => [when, result]),
        expression.otherwise,
      ].filter((inner) => inner !== undefined)
    case 'array':
      return expression.items
    case 'slice':
      return [expression.path]
    case 'sign':
    case 'not':
      return [expression.operand]
    case 'arithmetic':
    case 'comparison':
      return [expression.left, expression.right]
    case 'in':
      return [expression.operand, ...expression.options]
    case 'and':
    case 'or':
      return expression.operands
    default:
      return []
  }
}
