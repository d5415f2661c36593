// The sink for SQLite files. Each shard writes in a separate thread.

import { isAbsolute, join } from 'node:path'
import type { ActionsConfig, ConnectorsConfig } from '../../config/index.ts'
import { formatError } from '../service-responses.ts'
import type { NamedValue, Sink, SinkContext, SinkType, ActionEntry, WriteOutcome } from '../sink.ts'
import { createSqlRenderer, StatementReader } from '../sql/sql-entry.ts'
import { findSqlProblem } from '../sql/sql-settings.ts'
import { releaseThread, type SqliteThread, acquireThread } from './sqlite-thread.ts'

type SqliteConnector = NamedValue<ConnectorsConfig['sqlite']>
type SqliteAction = NamedValue<ActionsConfig['sqlite']>

/** Statements that change rows. Others, such as ATTACH, would reach files that the path of the connector does not name. */
const rowForm = /^\s*(?:INSERT|REPLACE|UPDATE|DELETE|WITH)\b/i
const tableForm = /^\s*CREATE\s+TABLE\s+IF\s+NOT\s+EXISTS\b[^;]*;?\s*$/i

/** What a request may take longer than the wait for a lock. */
const graceMs = 1_000

const dialect = { escapesWithBackslash: false }

export const sqliteSinkType: SinkType<SqliteAction, SqliteConnector> = {
  findConnectorProblem({ path }) {
    if (path === undefined) return 'path: write the name of a file, such as readings.db'
    return path.endsWith('/') ? `path: ${path} is the name of a directory` : undefined
  },

  findActionProblem(action, compile) {
    const { sql, create_table: createTable } = action.parameters
    if (!rowForm.test(sql))
      return 'parameters.sql: write a statement that begins with INSERT, REPLACE, UPDATE, DELETE or WITH'
    if (createTable === undefined || tableForm.test(createTable)) return findSqlProblem(action, dialect, compile)
    return 'parameters.create_table: write one statement that begins with CREATE TABLE IF NOT EXISTS'
  },

  createRenderer: ({ parameters }, compile) => createSqlRenderer(parameters.sql, dialect, compile),

  findWriteOrder: () => 'calls',
  open: (connector, action, context) => new SqliteSink(connector, action, context),
}

class SqliteSink implements Sink {
  readonly #thread: SqliteThread
  readonly #createTable: string | undefined
  readonly #reader = new StatementReader()
  #isClosed = false

  constructor({ path = '' }: SqliteConnector, { parameters }: SqliteAction, context: SinkContext) {
    const absolute = isAbsolute(path) ? path : join(context.dataDirectory, path)
    const { requestTimeoutMs } = context
    const timeoutMs = requestTimeoutMs + graceMs
    this.#thread = acquireThread({ path: absolute, busyTimeoutMs: requestTimeoutMs, timeoutMs })
    this.#createTable = parameters.create_table
  }

  async write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const statements = batch.map((entry) => this.#reader.read(entry))
    try {
      return (await this.#thread.run({ kind: 'write', statements, createTable: this.#createTable })).outcomes
    } catch (error) {
      return batch.map(() => ({ outcome: 'retry', why: formatError(error) }))
    }
  }

  async check(): Promise<string | undefined> {
    try {
      return (await this.#thread.run({ kind: 'check', createTable: this.#createTable })).problem
    } catch (error) {
      return formatError(error)
    }
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    releaseThread(this.#thread)
  }
}
