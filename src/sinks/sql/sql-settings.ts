// Settings that connectors and actions of all SQL databases have in common.

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import type { CompileTemplate, NamedValue } from '../sink.ts'
import { findSqlTemplateProblem, type SqlDialect } from './sql-template.ts'

/** The same for all databases. */
export type SqlConnector = NamedValue<ConnectorsConfig['pgsql']>
export type SqlAction = NamedValue<ActionsConfig['pgsql']>

export function findSqlProblem(
  { parameters: { sql } }: { readonly parameters: { readonly sql: string } },
  dialect: SqlDialect,
  compile: CompileTemplate,
): string | undefined {
  if (sql.trim() === '') return 'parameters.sql: write the SQL statement'
  const problem = findSqlTemplateProblem(sql, dialect, compile)
  return problem === undefined ? undefined : `parameters.sql: ${problem}`
}
