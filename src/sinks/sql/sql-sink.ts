// Writes rows to an SQL database. The differences between databases are in their drivers.

import { ConnectionPool } from '../connections/connection-pool.ts'
import type { ConnectionDriver, OpeningAttempt } from '../connections/open-service-connection.ts'
import { findServerProblem } from '../service-address.ts'
import { formatError } from '../service-responses.ts'
import type { Sink, SinkType, ActionEntry, WriteOutcome } from '../sink.ts'
import { RowCombiner } from './combine-rows.ts'
import { createSqlRenderer, type SqlStatement, StatementReader } from './sql-entry.ts'
import { findSqlProblem, type SqlAction, type SqlConnector } from './sql-settings.ts'
import type { SqlDialect } from './sql-template.ts'
import { type SqlConnection, writeBatch } from './write-batch.ts'

/** Classes of SQLSTATE for invalid data and violated constraints. */
const refusingClasses = ['22', '23']

/** `cardinality_violation`: ON CONFLICT DO UPDATE would change a row twice in one statement. */
const conflictOfRows = '21000'

/** One connection to a database. It serves one transaction at a time. */
export interface SqlClient {
  readonly isOpen: boolean
  run(statement: SqlStatement): Promise<unknown>
  /** A statement without values and result. */
  runCommand(text: 'BEGIN' | 'COMMIT' | 'ROLLBACK' | 'SELECT 1'): Promise<unknown>
  /** Says goodbye to the server. */
  end(): Promise<unknown>
  /** Closes the socket. */
  destroy(): void
}

export interface SqlDriver extends SqlDialect {
  readonly defaultPort: number
  /** Loads the client library. Rejects with a sentence if it is missing. */
  load(): Promise<unknown>
  /** Connects and authenticates. */
  connect(connector: SqlConnector, requestTimeoutMs: number, attempt: OpeningAttempt): Promise<SqlClient>
  /** SQLSTATE; '' if the error is not from the database. */
  findSqlState(error: unknown): string
  /** Returns whether the database will never accept the row, for errors outside of the classes 22 and 23. */
  isRefusal?(error: unknown): boolean
}

export function createSqlSinkType(driver: SqlDriver): SinkType<SqlAction, SqlConnector> {
  return {
    findConnectorProblem: (connector) => findServerProblem(connector, driver.defaultPort),
    findActionProblem: (action, compile) => findSqlProblem(action, driver, compile),
    createRenderer: ({ parameters }, compile) => createSqlRenderer(parameters.sql, driver, compile),
    findWriteOrder: () => 'batch',
    open: (connector, { resource_opts: { batch_size: batchSize } }, { requestTimeoutMs }) =>
      new SqlSink(driver, connector, { requestTimeoutMs, batchSize }),
  }
}

class SqlSink implements Sink {
  readonly #driver: SqlDriver
  readonly #pool: ConnectionPool<SqlClient>
  readonly #statements = new StatementReader()
  readonly #rows: RowCombiner

  constructor(
    driver: SqlDriver,
    connector: SqlConnector,
    { requestTimeoutMs, batchSize }: { readonly requestTimeoutMs: number; readonly batchSize: number },
  ) {
    this.#driver = driver
    this.#rows = new RowCombiner(batchSize)
    const connections: ConnectionDriver<SqlClient> = {
      load: () => driver.load(),
      open: (attempt) => driver.connect(connector, requestTimeoutMs, attempt),
      isUsable: ({ isOpen }) => isOpen,
      end: (client) => client.end(),
      destroy: (client) => client.destroy(),
    }
    const limits = { connectTimeoutMs: connector.connect_timeout, requestTimeoutMs }
    this.#pool = new ConnectionPool(connections, limits, connector.pool_size)
  }

  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const driver = this.#driver
    return writeBatch(
      {
        statements: this.#statements,
        rows: this.#rows,
        connect: () => this.#connect(),
        isRefusal: (error) =>
          refusingClasses.includes(driver.findSqlState(error).slice(0, 2)) || driver.isRefusal?.(error) === true,
        isConflictOfRows: (error) => driver.findSqlState(error) === conflictOfRows,
        formatError: formatSqlError,
      },
      batch,
    )
  }

  async check(): Promise<string | undefined> {
    try {
      await this.#pool.use((client) => client.runCommand('SELECT 1'))
      return undefined
    } catch (error) {
      return formatSqlError(error)
    }
  }

  close(): void {
    this.#pool.close()
  }

  /** Each statement has a time limit, also BEGIN, COMMIT and ROLLBACK. */
  async #connect(): Promise<SqlConnection> {
    const connection = await this.#pool.acquire()
    const runCommand = async (text: 'BEGIN' | 'COMMIT' | 'ROLLBACK'): Promise<void> =>
      void (await connection.run((client) => client.runCommand(text)))
    return {
      run: async (statement) => void (await connection.run((client) => client.run(statement))),
      begin: () => runCommand('BEGIN'),
      commit: () => runCommand('COMMIT'),
      rollback: () => runCommand('ROLLBACK'),
      release: (isBroken) => connection.release(isBroken),
    }
  }
}

function formatSqlError(error: unknown): string {
  const text = formatError(error)
  if (error instanceof Error && text !== error.message) return text
  const code = (error as { readonly code?: unknown }).code
  return typeof code === 'string' && !text.includes(code) ? `${code}: ${text}` : text
}
