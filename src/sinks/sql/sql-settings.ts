// Settings that connectors and actions of all SQL databases have in common.

import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import type { NamedValue } from '../sink.ts'

/** The same for all databases. */
export type SqlConnector = NamedValue<ConnectorsConfig['pgsql']>
export type SqlAction = NamedValue<ActionsConfig['pgsql']>

export function problemOfSql({ parameters }: { readonly parameters: { readonly sql: string } }): string | undefined {
  return parameters.sql.trim() === '' ? 'parameters.sql: write the SQL statement' : undefined
}
