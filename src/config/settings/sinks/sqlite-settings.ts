// connectors.sqlite, actions.sqlite: rows for SQLite files.

import { path } from '../../schema/path-type.ts'
import { section, setting } from '../../schema/setting.ts'
import { optional } from '../../schema/setting-type.ts'
import { actionSettings, connectorSettings, listNamedSinks, createResourceOptions, template } from './sink-parts.ts'

/** Also of what `rules.sqlite` of NanoMQ makes. */
export const sqliteConnector = section('An SQLite file.', {
  ...connectorSettings,
  path: setting(optional(path('data-directory', { isWritten: true }), 'none'), undefined, {
    description: 'Path of the SQLite file, such as exports/readings.db. All shards write to it.',
    isRequired: true,
  }),
})

/** Also of what `rules.sqlite` of NanoMQ makes. */
export const sqliteAction = section('An action that executes an SQL statement for each result.', {
  ...actionSettings,
  parameters: section('The SQL statement, and the table that it needs.', {
    sql: setting(template, '', {
      description:
        'The SQL statement for each message, with ${...} for values: INSERT INTO readings (topic, value) VALUES (${topic}, ${payload.value}). Values are bound and never become SQL.',
      isRequired: true,
    }),
    create_table: setting(optional(template, 'none'), undefined, {
      description: 'A statement CREATE TABLE IF NOT EXISTS ..., which is executed before the first row is written.',
    }),
  }),
  resource_opts: createResourceOptions({ batchSize: 100, inflightWindow: 200 }),
})

export const sqliteConnectors = listNamedSinks('SQLite files.', sqliteConnector)
export const sqliteActions = listNamedSinks('Actions that write rows to SQLite files.', sqliteAction)
