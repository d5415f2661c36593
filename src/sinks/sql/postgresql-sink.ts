// The sink for PostgreSQL and TimescaleDB.

import type { Socket } from 'node:net'
import type { Client } from 'pg'
import type { OpeningAttempt } from '../connections/open-service-connection.ts'
import { loadLibrary } from '../optional-library.ts'
import { parseHostAndPort, toServiceTls } from '../service-address.ts'
import { createGuardedSocket } from './guarded-socket.ts'
import type { SqlStatement, SqlValue } from './sql-entry.ts'
import type { SqlConnector } from './sql-settings.ts'
import { type SqlClient, createSqlSinkType } from './sql-sink.ts'

const defaultPort = 5_432

export const postgresqlSinkType = createSqlSinkType({
  defaultPort,
  escapesWithBackslash: false,
  load: loadPostgresql,
  connect,
  findSqlState,
})

/** Statements with the names of their values, `$1` and so on. Cached, because full batches have the same statements. */
class NumberedTexts {
  readonly #known = new WeakMap<readonly string[], string>()

  joinTexts(texts: readonly string[]): string {
    let text = this.#known.get(texts)
    if (text !== undefined) return text
    text = texts.reduce((sql, part, at) => (at === 0 ? part : `${sql}$${at}${part}`), '')
    this.#known.set(texts, text)
    return text
  }
}

/** Statements of all connections, because full batches have the same ones. */
const numbered = new NumberedTexts()

function loadPostgresql() {
  return loadLibrary('pg', () => import('pg'))
}

async function connect(connector: SqlConnector, requestTimeoutMs: number, attempt: OpeningAttempt): Promise<SqlClient> {
  const library = await loadPostgresql()
  const { server, username, password, database, ssl } = connector
  const socket = createGuardedSocket()
  attempt.onFailure(() => socket.destroy())
  const client = new library.default.Client({
    ...parseHostAndPort(server ?? '', defaultPort),
    user: username,
    password,
    database,
    // The server ends what this side does not wait for any more.
    statement_timeout: requestTimeoutMs,
    // The server does not detect a connection that is lost between BEGIN and COMMIT: its locks would block the same rows later.
    idle_in_transaction_session_timeout: requestTimeoutMs,
    keepAlive: true,
    stream: () => socket,
    application_name: 'godwit',
    ssl: toServiceTls(ssl),
  })
  const connected = new PostgresqlClient(client, socket)
  await client.connect()
  return connected
}

class PostgresqlClient implements SqlClient {
  readonly #client: Client
  readonly #socket: Socket
  #hasEnded = false

  constructor(client: Client, socket: Socket) {
    this.#client = client
    this.#socket = socket
    // The query in progress rejects as well.
    client.on('error', () => (this.#hasEnded = true))
    client.on('end', () => (this.#hasEnded = true))
  }

  get isOpen(): boolean {
    return !this.#hasEnded && !this.#socket.destroyed
  }

  run({ texts, values }: SqlStatement): Promise<unknown> {
    return this.#client.query(numbered.joinTexts(texts), values as SqlValue[])
  }

  runCommand(text: string): Promise<unknown> {
    return this.#client.query(text)
  }

  end(): Promise<unknown> {
    return this.#client.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }
}

/** For errors of the system, `code` is a name such as ECONNREFUSED. */
function findSqlState(error: unknown): string {
  const { code } = error as { readonly code?: unknown }
  return typeof code === 'string' && code.length === 5 ? code : ''
}
