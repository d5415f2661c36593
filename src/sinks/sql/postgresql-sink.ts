// Rows for PostgreSQL, and for TimescaleDB, which is one.

import type { Pool, PoolClient } from 'pg'
import { loadLibrary } from '../optional-library.ts'
import type { Sink, SinkType, SpoolEntry, WriteOutcome } from '../sink.ts'
import { hostAndPort, problemOfServer, problemOfSql, type SqlAction, type SqlConnector, tlsOf } from './sql-settings.ts'
import { sqlRenderer, type SqlStatement } from './sql-entry.ts'
import { type SqlConnection, type SqlDatabase, writeBatch } from './write-batch.ts'

const defaultPort = 5_432
/** Classes of SQLSTATE: data that is wrong, and constraints that it breaks. */
const refusingClasses = ['22', '23']

export const postgresqlSinkType: SinkType<SqlAction, SqlConnector> = {
  problemOfConnector: (connector) => problemOfServer(connector, defaultPort),
  problemOfAction: problemOfSql,
  renderer: ({ parameters }, compile) => sqlRenderer(parameters.sql, compile),
  open: (connector, _, { requestTimeoutMs }) => new PostgresqlSink(connector, requestTimeoutMs),
}

class PostgresqlSink implements Sink {
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
      await pool.query('SELECT 1')
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
      connect: async () => connectionOf(await (await this.#open()).connect()),
      isRefusal: (error) => refusingClasses.includes(codeOf(error).slice(0, 2)),
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
    const loaded = await loadLibrary('pg', () => import('pg'))
    if ('missing' in loaded) throw new Error(loaded.missing)
    const { server, username, password, database, pool_size: max, connect_timeout: connectTimeout } = this.#connector
    const pool = new loaded.library.default.Pool({
      ...hostAndPort(server ?? '', defaultPort),
      user: username,
      password,
      database,
      max,
      connectionTimeoutMillis: connectTimeout,
      query_timeout: this.#requestTimeoutMs,
      statement_timeout: this.#requestTimeoutMs,
      keepAlive: true,
      application_name: 'godwit',
      ssl: tlsOf(this.#connector.ssl),
    })
    // A connection that breaks is replaced by the next one that is needed; what it was doing fails by itself.
    pool.on('error', () => {})
    pool.on('connect', (client) => void client.on('error', () => {}))
    return pool
  }
}

function connectionOf(client: PoolClient): SqlConnection {
  return {
    run: async ({ texts, values }: SqlStatement) => {
      const text = texts.reduce((sql, part, at) => (at === 0 ? part : `${sql}$${at}${part}`), '')
      await client.query(text, [...values])
    },
    begin: async () => void (await client.query('BEGIN')),
    commit: async () => void (await client.query('COMMIT')),
    rollback: async () => void (await client.query('ROLLBACK')),
    release: (isBroken) => client.release(isBroken),
  }
}

function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown }).code
  return typeof code === 'string' ? code : ''
}

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  const code = codeOf(error)
  return code === '' || text.includes(code) ? text : `${code}: ${text}`
}
