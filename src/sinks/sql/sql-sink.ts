// Writes rows to an SQL database. The differences between databases are in their drivers.

import { LazyConnection } from '../lazy-connection.ts'
import { problemOfServer } from '../service-address.ts'
import { messageOf } from '../service-responses.ts'
import type { Sink, SinkType, ActionEntry, WriteOutcome } from '../sink.ts'
import { RowCombiner } from './combine-rows.ts'
import { sqlRenderer, StatementReader } from './sql-entry.ts'
import { problemOfSql, type SqlAction, type SqlConnector } from './sql-settings.ts'
import type { SqlDialect } from './sql-template.ts'
import { type SqlConnection, writeBatch } from './write-batch.ts'

/** Classes of SQLSTATE for invalid data and violated constraints. */
const refusingClasses = ['22', '23']

/** `cardinality_violation`: ON CONFLICT DO UPDATE would change a row twice in one statement. */
const conflictOfRows = '21000'

export interface SqlPool {
  connect(): Promise<SqlConnection>
  /** Rejects if the database does not respond. */
  check(): Promise<unknown>
  end(): Promise<unknown>
}

export interface SqlDriver extends SqlDialect {
  readonly defaultPort: number
  /** Loads the library. Rejects with a sentence if it is missing. */
  createPool(connector: SqlConnector, requestTimeoutMs: number): Promise<SqlPool>
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
  readonly #pool: LazyConnection<SqlPool>
  readonly #statements = new StatementReader()
  readonly #rows: RowCombiner

  constructor(
    driver: SqlDriver,
    connector: SqlConnector,
    { requestTimeoutMs, batchSize }: { readonly requestTimeoutMs: number; readonly batchSize: number },
  ) {
    this.#driver = driver
    this.#rows = new RowCombiner(batchSize)
    this.#pool = new LazyConnection(
      () => driver.createPool(connector, requestTimeoutMs),
      (pool) => pool.end(),
    )
  }

  write(batch: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const driver = this.#driver
    return writeBatch(
      {
        statements: this.#statements,
        rows: this.#rows,
        connect: async () => (await this.#pool.get()).connect(),
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
      await (await this.#pool.get()).check()
      return undefined
    } catch (error) {
      return textOf(error)
    }
  }

  close(): void {
    this.#pool.close()
  }
}

function textOf(error: unknown): string {
  const text = messageOf(error)
  if (error instanceof Error && text !== error.message) return text
  const code = (error as { readonly code?: unknown }).code
  return typeof code === 'string' && !text.includes(code) ? `${code}: ${text}` : text
}
