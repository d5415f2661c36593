// Writes rows to an SQL database. The differences between databases are in their drivers.

import { ConnectionPool } from '../connections/connection-pool.ts'
import type { ConnectionDriver, OpeningAttempt } from '../connections/open-connection.ts'
import { problemOfServer } from '../service-address.ts'
import { messageOf } from '../service-responses.ts'
import type { Sink, SinkType, ActionEntry, WriteOutcome } from '../sink.ts'
import { RowCombiner } from './combine-rows.ts'
import { sqlRenderer, type SqlStatement, StatementReader } from './sql-entry.ts'
import { problemOfSql, type SqlAction, type SqlConnector } from './sql-settings.ts'
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
  command(text: 'BEGIN' | 'COMMIT' | 'ROLLBACK' | 'SELECT 1'): Promise<unknown>
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
  stateOf(error: unknown): string
  /** Returns whether the database will never accept the row, for errors outside of the classes 22 and 23. */
  isRefusal?(error: unknown): boolean
}

export function sqlSinkType(driver: SqlDriver): SinkType<SqlAction, SqlConnector> {
  return {
    problemOfConnector: (connector) => problemOfServer(connector, driver.defaultPort),
    problemOfAction: (action, compile) => problemOfSql(action, driver, compile),
    renderer: ({ parameters }, compile) => sqlRenderer(parameters.sql, driver, compile),
    keepsOrderOf: () => 'batch',
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
          refusingClasses.includes(driver.stateOf(error).slice(0, 2)) || driver.isRefusal?.(error) === true,
        isConflictOfRows: (error) => driver.stateOf(error) === conflictOfRows,
        textOf,
      },
      batch,
    )
  }

  async check(): Promise<string | undefined> {
    try {
      await this.#pool.use((client) => client.command('SELECT 1'))
      return undefined
    } catch (error) {
      return textOf(error)
    }
  }

  close(): void {
    this.#pool.close()
  }

  /** Each statement has a time limit, also BEGIN, COMMIT and ROLLBACK. */
  async #connect(): Promise<SqlConnection> {
    const connection = await this.#pool.acquire()
    const command = async (text: 'BEGIN' | 'COMMIT' | 'ROLLBACK'): Promise<void> =>
      void (await connection.run((client) => client.command(text)))
    return {
      run: async (statement) => void (await connection.run((client) => client.run(statement))),
      begin: () => command('BEGIN'),
      commit: () => command('COMMIT'),
      rollback: () => command('ROLLBACK'),
      release: (isBroken) => connection.release(isBroken),
    }
  }
}

function textOf(error: unknown): string {
  const text = messageOf(error)
  if (error instanceof Error && text !== error.message) return text
  const code = (error as { readonly code?: unknown }).code
  return typeof code === 'string' && !text.includes(code) ? `${code}: ${text}` : text
}
