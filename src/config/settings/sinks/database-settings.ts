// connectors and actions of pgsql, timescale and mysql: rows for SQL databases.

import { section, setting } from '../../schema/setting.ts'
import {
  actionSettings,
  maybeText,
  namedSinks,
  ofEmqx,
  poolSize,
  resourceOptionsWith,
  serverSettings,
  template,
} from './sink-parts.ts'

/** Also of what the section rules of NanoMQ makes. */
export const sqlConnector = section('One database.', {
  ...serverSettings,
  database: setting(maybeText, undefined, { description: 'Name of the database.' }),
  pool_size: poolSize,
  auto_reconnect: ofEmqx,
  disable_prepared_statements: ofEmqx,
})

/** Also of what the section rules of NanoMQ makes. */
export const sqlAction = section('One kind of row.', {
  ...actionSettings,
  parameters: section('The statement.', {
    sql: setting(template, '', {
      description:
        'The SQL statement for each message, with ${...} for values: INSERT INTO readings (topic, value) VALUES (${topic}, ${payload.value}). Values are bound and never become SQL.',
      isRequired: true,
    }),
    undefined_vars_as_null: ofEmqx,
  }),
  resource_opts: resourceOptionsWith({ batchSize: 100, inflightWindow: 400 }),
})

const databases = <Named extends typeof sqlConnector | typeof sqlAction>(named: Named) => ({
  pgsql: namedSinks('PostgreSQL.', named),
  timescale: namedSinks('TimescaleDB.', named),
  mysql: namedSinks('MySQL and MariaDB.', named),
})

export const databaseConnectors = databases(sqlConnector)
export const databaseActions = databases(sqlAction)
