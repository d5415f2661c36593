// connectors.clickhouse, actions.clickhouse: rows for ClickHouse.

import { section, setting } from '../../schema/setting.ts'
import { outgoingTls } from '../../schema/outgoing-tls.ts'
import {
  actionSettings,
  connectorSettings,
  connectTimeout,
  maybeText,
  listNamedSinks,
  ofEmqx,
  poolSize,
  createResourceOptions,
  template,
} from './sink-parts.ts'

const clickhouseConnector = section('A connection to a ClickHouse server.', {
  ...connectorSettings,
  url: setting(maybeText, undefined, {
    description: 'URL of the HTTP interface of ClickHouse, such as http://127.0.0.1:8123.',
    isRequired: true,
  }),
  database: setting(maybeText, undefined, { description: 'Name of the database that the statements use.' }),
  username: setting(maybeText, undefined, { description: 'User name for ClickHouse.' }),
  password: setting(maybeText, undefined, { description: 'Password for ClickHouse.', isSecret: true }),
  connect_timeout: connectTimeout,
  pool_size: poolSize,
  ssl: outgoingTls,
})

const clickhouseAction = section('An action that inserts rows into a ClickHouse table.', {
  ...actionSettings,
  parameters: section('The INSERT statement.', {
    sql: setting(template, '', {
      description:
        'The INSERT statement, with ${...} for values: INSERT INTO readings (topic, value) VALUES (${topic}, ${payload.value}). Values are written as literals and never become SQL.',
      isRequired: true,
    }),
    batch_value_separator: ofEmqx,
    undefined_vars_as_null: ofEmqx,
  }),
  resource_opts: createResourceOptions({ batchSize: 100, inflightWindow: 400 }),
})

export const clickhouseConnectors = listNamedSinks('Connections to ClickHouse servers.', clickhouseConnector)
export const clickhouseActions = listNamedSinks('Actions that insert rows into ClickHouse.', clickhouseAction)
