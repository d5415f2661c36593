// PostgreSQL, and TimescaleDB, which is one.

import type { PoolClient } from 'pg'
import { loadLibrary } from '../optional-library.ts'
import { hostAndPort, tlsOf } from '../service-address.ts'
import { sqlSinkType, type SqlPool } from './sql-sink.ts'
import type { SqlConnector } from './sql-settings.ts'
import type { SqlValue } from './sql-entry.ts'
import type { SqlConnection } from './write-batch.ts'

const defaultPort = 5_432

export const postgresqlSinkType = sqlSinkType({ defaultPort, createPool, stateOf })

async function createPool(connector: SqlConnector, requestTimeoutMs: number): Promise<SqlPool> {
  const library = await loadLibrary('pg', () => import('pg'))
  const { server, username, password, database, pool_size: max, connect_timeout: connectTimeout, ssl } = connector
  const pool = new library.default.Pool({
    ...hostAndPort(server ?? '', defaultPort),
    user: username,
    password,
    database,
    max,
    connectionTimeoutMillis: connectTimeout,
    query_timeout: requestTimeoutMs,
    statement_timeout: requestTimeoutMs,
    // Of a connection that is cut between BEGIN and COMMIT the server hears nothing: its locks would stop the same rows later.
    idle_in_transaction_session_timeout: requestTimeoutMs,
    keepAlive: true,
    application_name: 'godwit',
    ssl: tlsOf(ssl),
  })
  // A connection that breaks is replaced by the next one that is needed; what it was doing fails by itself.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  const numbered = new NumberedTexts()
  return {
    connect: async () => connectionOf(await pool.connect(), numbered),
    check: () => pool.query('SELECT 1'),
    end: () => pool.end(),
  }
}

function connectionOf(client: PoolClient, numbered: NumberedTexts): SqlConnection {
  return {
    run: async ({ texts, values }) => {
      await client.query(numbered.textOf(texts), values as SqlValue[])
    },
    begin: async () => void (await client.query('BEGIN')),
    commit: async () => void (await client.query('COMMIT')),
    rollback: async () => void (await client.query('ROLLBACK')),
    release: (isBroken) => client.release(isBroken),
  }
}

/** Errors of the system have names such as ECONNREFUSED there. */
function stateOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && code.length === 5 ? code : ''
}

/** Statements with the names of their values, `$1` and so on. Those of full batches are the same objects again and again. */
class NumberedTexts {
  readonly #known = new WeakMap<readonly string[], string>()

  textOf(texts: readonly string[]): string {
    let text = this.#known.get(texts)
    if (text !== undefined) return text
    text = texts.reduce((sql, part, at) => (at === 0 ? part : `${sql}$${at}${part}`), '')
    this.#known.set(texts, text)
    return text
  }
}
