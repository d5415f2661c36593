// Rows for MySQL and MariaDB.

import type { Pool, PoolConnection } from 'mysql2/promise'
import { loadLibrary } from '../optional-library.ts'
import type { Sink, SinkType, SpoolEntry, WriteOutcome } from '../sink.ts'
import { hostAndPort, problemOfServer, problemOfSql, type SqlAction, type SqlConnector, tlsOf } from './sql-settings.ts'
import { sqlRenderer } from './sql-entry.ts'
import { type SqlConnection, type SqlDatabase, writeBatch } from './write-batch.ts'

const defaultPort = 3_306
/** Classes of SQLSTATE: data that is wrong, and constraints that it breaks. */
const refusingClasses = ['22', '23']
/** MySQL reports some wrong values with the general class HY: truncated, incorrect and without a default. */
const refusingNumbers = [1_265, 1_366, 1_364, 4_025]

export const mysqlSinkType: SinkType<SqlAction, SqlConnector> = {
  problemOfConnector: (connector) => problemOfServer(connector, defaultPort),
  problemOfAction: problemOfSql,
  renderer: ({ parameters }, compile) => sqlRenderer(parameters.sql, compile),
  open: (connector, _, { requestTimeoutMs }) => new MysqlSink(connector, requestTimeoutMs),
}

class MysqlSink implements Sink {
  readonly #connector: SqlConnector
  readonly #requestTimeoutMs: number
  #pool: Promise<Pool> | undefined
  #isClosed = false

  constructor(connector: SqlConnector, requestTimeoutMs: number) {
    this.#connector = connector
    this.#requestTimeoutMs = requestTimeoutMs
  }

  write(batch: readonly SpoolEntry[]): Promise<readonly WriteOutcome[]> {
    return writeBatch(this.#database, batch)
  }

  async check(): Promise<string | undefined> {
    try {
      const pool = await this.#open()
      await pool.query({ sql: 'SELECT 1', timeout: this.#requestTimeoutMs })
      return undefined
    } catch (error) {
      return textOf(error)
    }
  }

  close(): void {
    this.#isClosed = true
    // What is under way fails with the connection; there is nobody left to tell.
    this.#pool?.then((pool) => pool.end()).catch(() => {})
  }

  get #database(): SqlDatabase {
    return {
      connect: async () => connectionOf(await (await this.#open()).getConnection(), this.#requestTimeoutMs),
      isRefusal: (error) => {
        const { sqlState = '', errno = 0 } = error as { readonly sqlState?: string; readonly errno?: number }
        return refusingClasses.includes(sqlState.slice(0, 2)) || refusingNumbers.includes(errno)
      },
      textOf,
    }
  }

  #open(): Promise<Pool> {
    if (this.#isClosed) return Promise.reject(new Error('the action is being stopped'))
    this.#pool ??= this.#createPool().catch((error: unknown) => {
      this.#pool = undefined
      throw error
    })
    return this.#pool
  }

  async #createPool(): Promise<Pool> {
    const loaded = await loadLibrary('mysql2', () => import('mysql2/promise'))
    if ('missing' in loaded) throw new Error(loaded.missing)
    const { server, username, password, database, pool_size: max, connect_timeout: connectTimeout } = this.#connector
    const ssl = tlsOf(this.#connector.ssl)
    const pool = loaded.library.createPool({
      ...hostAndPort(server ?? '', defaultPort),
      connectionLimit: max,
      connectTimeout,
      charset: 'utf8mb4',
      ...(username === undefined ? {} : { user: username }),
      ...(password === undefined ? {} : { password }),
      ...(database === undefined ? {} : { database }),
      ...(ssl === undefined ? {} : { ssl }),
    })
    // A connection that breaks is replaced by the next one that is needed; what it was doing fails by itself.
    pool.on('connection', (connection) => void connection.on('error', () => {}))
    return pool
  }
}

function connectionOf(connection: PoolConnection, timeout: number): SqlConnection {
  return {
    // With `query` values would be put into the text: `execute` sends them beside it.
    run: async ({ texts, values }) => void (await connection.execute({ sql: texts.join('?'), timeout }, [...values])),
    begin: () => connection.beginTransaction(),
    commit: () => connection.commit(),
    rollback: () => connection.rollback(),
    release: (isBroken) => (isBroken ? connection.destroy() : connection.release()),
  }
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const code = (error as { readonly code?: unknown }).code
  return typeof code === 'string' && !text.includes(code) ? `${code}: ${text}` : text
}
