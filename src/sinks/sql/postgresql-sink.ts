// The sink for PostgreSQL and TimescaleDB.

import type { PoolClient } from 'pg'
import { loadLibrary } from '../optional-library.ts'
import { hostAndPort, tlsOf } from '../service-address.ts'
import { guardedSocket } from './guarded-socket.ts'
import { sqlSinkType, type SqlPool } from './sql-sink.ts'
import type { SqlConnector } from './sql-settings.ts'
import type { SqlValue } from './sql-entry.ts'
import type { SqlConnection } from './write-batch.ts'

const defaultPort = 5_432

export const postgresqlSinkType = sqlSinkType({ defaultPort, escapesWithBackslash: false, createPool, stateOf })

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
    // The server does not detect a connection that is lost between BEGIN and COMMIT: its locks would block the same rows later.
    idle_in_transaction_session_timeout: requestTimeoutMs,
    keepAlive: true,
    stream: guardedSocket,
    application_name: 'godwit',
    ssl: tlsOf(ssl),
  })
  // The pool replaces a broken connection when it needs one. The query on the broken connection rejects.
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

/** For errors of the system, `code` is a name such as ECONNREFUSED. */
function stateOf(error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && code.length === 5 ? code : ''
}

/** Statements with the names of their values, `$1` and so on. Cached, because full batches have the same statements. */
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
