// The sink for MySQL and MariaDB.

import type { PoolConnection } from 'mysql2/promise'
import { loadLibrary } from '../optional-library.ts'
import { hostAndPort, tlsOf } from '../service-address.ts'
import { connectGuarded } from './guarded-socket.ts'
import { sqlSinkType, type SqlPool } from './sql-sink.ts'
import type { SqlConnector } from './sql-settings.ts'
import type { SqlConnection } from './write-batch.ts'

const defaultPort = 3_306
/**
 * Error numbers of rows that the server will never accept: data truncated, incorrect value, no default value, violated check. MySQL
 * reports them with the general SQLSTATE HY000, which does not distinguish them.
 */
const rowErrorNumbers = [1_265, 1_366, 1_364, 4_025]

interface MysqlError {
  readonly sqlState?: string
  readonly errno?: number
}

export const mysqlSinkType = sqlSinkType({
  defaultPort,
  escapesWithBackslash: true,
  createPool,
  stateOf: (error) => (error as MysqlError).sqlState ?? '',
  isRefusal: (error) => rowErrorNumbers.includes((error as MysqlError).errno ?? 0),
})

async function createPool(connector: SqlConnector, requestTimeoutMs: number): Promise<SqlPool> {
  const library = await loadLibrary('mysql2', () => import('mysql2/promise'))
  const { server, username, password, database, pool_size: max, connect_timeout: connectTimeout } = connector
  const ssl = tlsOf(connector.ssl)
  const place = hostAndPort(server ?? '', defaultPort)
  const pool = library.createPool({
    ...place,
    stream: () => connectGuarded(place),
    connectionLimit: max,
    connectTimeout,
    charset: 'utf8mb4',
    ...(username === undefined ? {} : { user: username }),
    ...(password === undefined ? {} : { password }),
    ...(database === undefined ? {} : { database }),
    ...(ssl === undefined ? {} : { ssl }),
  })
  // The pool replaces a broken connection when it needs one. The query on the broken connection rejects, so its error event needs
  // no handling.
  pool.on('connection', (connection) => void connection.on('error', () => {}))
  return {
    connect: async () => connectionOf(await pool.getConnection(), requestTimeoutMs),
    check: () => pool.query({ sql: 'SELECT 1', timeout: requestTimeoutMs }),
    end: () => pool.end(),
  }
}

function connectionOf(connection: PoolConnection, timeout: number): SqlConnection {
  return {
    // `execute` sends the values separately from the SQL text; `query` would insert them into it.
    run: async ({ texts, values }) => void (await connection.execute({ sql: texts.join('?'), timeout }, [...values])),
    begin: () => connection.beginTransaction(),
    commit: () => connection.commit(),
    rollback: () => connection.rollback(),
    release: (isBroken) => (isBroken ? connection.destroy() : connection.release()),
  }
}
