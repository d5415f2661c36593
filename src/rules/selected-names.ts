// Names of the fields that a rule selects, for a table with a column for each field.

import { parseStatement } from './sql/parse-statement.ts'
import type { Expression, Field, Path } from './sql/sql-syntax.ts'

/**
 * Returns the keys that lead to each field of the outputs of a rule; undefined: it selects everything, or fields without a fixed
 * name. Throws RuleCompileError.
 */
export function listSelectedNames(sql: string): readonly (readonly string[])[] | undefined {
  const statement = parseStatement(sql)
  const fields = statement.kind === 'select' ? statement.fields : statement.perItem
  const names = fields?.map(findFieldKeys)
  const known = names?.filter((path) => path !== undefined)
  return known?.length === names?.length ? known : undefined
}

function findFieldKeys(field: Field): readonly string[] | undefined {
  return field.kind === 'all' ? undefined : findKeys(field.alias ?? field.expression)
}

function findKeys(target: Path | Expression): readonly string[] | undefined {
  if (!('root' in target)) return undefined
  const keys = target.segments.flatMap((segment) => (segment.kind === 'key' ? [segment.key] : []))
  return keys.length === target.segments.length ? [target.root, ...keys] : undefined
}
