// The sink for MySQL and MariaDB.

import type { Socket } from 'node:net'
import type { Connection } from 'mysql2/promise'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { loadLibrary } from '../optional-library.ts'
import { parseHostAndPort, toServiceTls } from '../service-address.ts'
import { connectGuarded } from './guarded-socket.ts'
import type { SqlStatement } from './sql-entry.ts'
import { type SqlClient, createSqlSinkType } from './sql-sink.ts'
import type { SqlConnector } from './sql-settings.ts'

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

export const mysqlSinkType = createSqlSinkType({
  defaultPort,
  escapesWithBackslash: true,
  load: loadMysql,
  connect,
  findSqlState: (error) => (error as MysqlError).sqlState ?? '',
  isRefusal: (error) => rowErrorNumbers.includes((error as MysqlError).errno ?? 0),
})

function loadMysql() {
  return loadLibrary('mysql2', () => import('mysql2/promise'))
}

async function connect(
  connector: SqlConnector,
  _requestTimeoutMs: number,
  attempt: OpeningAttempt,
): Promise<SqlClient> {
  const library = await loadMysql()
  const { server, username, password, database } = connector
  const ssl = toServiceTls(connector.ssl)
  const place = parseHostAndPort(server ?? '', defaultPort)
  const socket = connectGuarded(place)
  attempt.onFailure(() => socket.destroy())
  const connection = await library.createConnection({
    ...place,
    stream: () => socket,
    // The connection has a time limit of its own, which includes the handshake.
    connectTimeout: 0,
    charset: 'utf8mb4',
    ...(username === undefined ? {} : { user: username }),
    ...(password === undefined ? {} : { password }),
    ...(database === undefined ? {} : { database }),
    ...(ssl === undefined ? {} : { ssl }),
  })
  return new MysqlClient(connection, socket)
}

class MysqlClient implements SqlClient {
  readonly #connection: Connection
  readonly #socket: Socket
  #hasFailed = false

  constructor(connection: Connection, socket: Socket) {
    this.#connection = connection
    this.#socket = socket
    // The query in progress rejects as well.
    connection.on('error', () => (this.#hasFailed = true))
    connection.on('end', () => (this.#hasFailed = true))
  }

  get isOpen(): boolean {
    return !this.#hasFailed && !this.#socket.destroyed && this.#socket.readable
  }

  /** `execute` sends the values separately from the SQL text; `query` would insert them into it. */
  run({ texts, values }: SqlStatement): Promise<unknown> {
    return this.#connection.execute(texts.join('?'), [...values])
  }

  runCommand(text: string): Promise<unknown> {
    return this.#connection.query(text)
  }

  end(): Promise<unknown> {
    return this.#connection.end()
  }

  destroy(): void {
    this.#connection.destroy()
    this.#socket.destroy()
  }
}
