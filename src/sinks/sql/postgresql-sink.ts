// PostgreSQL, and TimescaleDB, which is one.

import type { PoolClient } from 'pg'
import { loadLibrary } from '../optional-library.ts'
import { hostAndPort, tlsOf } from '../service-address.ts'
import { sqlSinkType, type SqlPool } from './sql-sink.ts'
import type { SqlConnector } from './sql-settings.ts'
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
  return {
    connect: async () => connectionOf(await pool.connect()),
    check: () => pool.query('SELECT 1'),
    end: () => pool.end(),
  }
}

function connectionOf(client: PoolClient): SqlConnection {
  return {
    run: async ({ texts, values }) => {
      const text = texts.reduce((sql, part, at) => (at === 0 ? part : `${sql}$${at}${part}`), '')
      await client.query(text, [...values])
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
