// connectors and actions of pgsql, timescale and mysql: rows for SQL databases.

import { section, setting } from '../../schema/setting.ts'
import {
  actionSettings,
  maybeText,
  listNamedSinks,
  ofEmqx,
  poolSize,
  createResourceOptions,
  serverSettings,
  template,
} from './sink-parts.ts'

/** Also of what the section rules of NanoMQ makes. */
export const sqlConnector = section('A connection to a database server.', {
  ...serverSettings,
  database: setting(maybeText, undefined, { description: 'Name of the database.' }),
  pool_size: poolSize,
  auto_reconnect: ofEmqx,
  disable_prepared_statements: ofEmqx,
})

/** Also of what the section rules of NanoMQ makes. */
export const sqlAction = section('An action that executes an SQL statement for each result.', {
  ...actionSettings,
  parameters: section('The SQL statement.', {
    sql: setting(template, '', {
      description:
        'The SQL statement for each message, with ${...} for values: INSERT INTO readings (topic, value) VALUES (${topic}, ${payload.value}). Values are bound and never become SQL.',
      isRequired: true,
    }),
    undefined_vars_as_null: ofEmqx,
  }),
  resource_opts: createResourceOptions({ batchSize: 100, inflightWindow: 400 }),
})

const createDatabaseSections = <Named extends typeof sqlConnector | typeof sqlAction>(
  purpose: string,
  named: Named,
) => ({
  pgsql: listNamedSinks(`${purpose} PostgreSQL.`, named),
  timescale: listNamedSinks(`${purpose} TimescaleDB.`, named),
  mysql: listNamedSinks(`${purpose} MySQL and MariaDB.`, named),
})

export const databaseConnectors = createDatabaseSections('Connections to servers with', sqlConnector)
export const databaseActions = createDatabaseSections('Actions that write rows to', sqlAction)
