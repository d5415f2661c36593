// One connection to the server of a database that accepts writes. Only this file of the module uses the library.
//
// Settings of a role or of a database must not weaken what a commit promises, so each connection sets its own.

import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import type pg from 'pg'
import type { Client, CustomTypesConfig } from 'pg'
import { endOnException } from '../../transports/index.ts'
import { StorageFailure } from '../store.ts'
import { checkServer, type ServerFacts, type ServerIdentity, serverFactsText } from './server-checks.ts'
import { formatStoreHost, type StoreAddress, type StoreHost } from './store-address.ts'

/** A statement with its parameters. Buffers are sent in binary form. */
export interface Statement {
  /** Prepared once for each connection under this name; undefined: not prepared. */
  readonly name?: string
  readonly text: string
  readonly values?: readonly (Buffer | string | number | null)[]
}

/** A value of a result: bytes of the type bytea, text of all other types. */
export type ResultValue = Buffer | string | null

export interface StatementResult {
  readonly rows: readonly (readonly ResultValue[])[]
  /**
   * Messages of the server with the severity WARNING. A statement whose commit did not reach the standby succeeds with
   * a warning.
   */
  readonly warnings: readonly string[]
}

export interface ScriptResult {
  /** The rows of each statement. */
  readonly results: readonly StatementResult['rows'][]
  readonly warnings: readonly string[]
}

/** The connection ended before the response of a statement: whether it took effect is unknown. */
export class ConnectionLost extends StorageFailure {}

/** The server responded with an error. */
export class ServerError extends StorageFailure {
  /** SQLSTATE, five characters. */
  readonly sqlState: string

  constructor(message: string, sqlState: string, options: ErrorOptions) {
    super(message, options)
    this.sqlState = sqlState
  }
}

/** What a connection is for. It decides which time limits the server has. */
export type ConnectionUse = 'commit' | 'read' | 'maintenance'

const connectTimeoutMs = 5_000
const keepAliveMs = 5_000

/**
 * A commit has no limit: a slow one waits. A transaction that reads is ended by the server after 10 s, because nothing that was deleted
 * since its start can be removed. `search_path` names the schema of Godwit.
 */
const commonSettings = `SET synchronous_commit = on; SET default_transaction_isolation = 'read committed';
SET default_transaction_read_only = off; SET client_connection_check_interval = '1s'; SET bytea_output = hex; SET jit = off;
SET lock_timeout = 0; SET search_path = godwit; SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2;
SET tcp_keepalives_count = 5; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off;
SET enable_mergejoin = off; SET enable_bitmapscan = off;`
const settingsOfUse: Readonly<Record<ConnectionUse, string>> = {
  commit: `${commonSettings} SET statement_timeout = 0; SET idle_in_transaction_session_timeout = '30s'`,
  read: `${commonSettings} SET statement_timeout = '10s'; SET idle_in_transaction_session_timeout = '10s'`,
  maintenance: `${commonSettings} SET statement_timeout = 0; SET idle_in_transaction_session_timeout = '10s'`,
}

const byteaOid = 17

/** Results have text form, because the library decodes each column as text. */
const resultTypes: CustomTypesConfig = {
  getTypeParser: ((oid: number) => (oid === byteaOid ? parseBytes : keepText)) as CustomTypesConfig['getTypeParser'],
}

export interface ConnectOptions {
  readonly address: StoreAddress
  readonly use: ConnectionUse
  /** Only this host is tried. Undefined: all of the address, in order. */
  readonly host?: StoreHost
  /** Returns why a server is not used, although it accepts writes; undefined: it is. The next host is tried. */
  readonly findProblem?: (server: ServerIdentity) => string | undefined
  readonly onLost?: (error: ConnectionLost) => void
}

/** A connection whose server was checked. Its statements run one after the other, those of other uses than reads when the previous one has ended. */
export class ServerConnection {
  readonly server: ServerIdentity
  readonly facts: ServerFacts
  readonly #client: Client
  readonly #warnings: string[] = []
  #isLost = false
  #isClosing = false

  private constructor(client: Client, host: StoreHost, facts: ServerFacts) {
    this.#client = client
    this.facts = facts
    this.server = { host, systemIdentifier: facts.systemIdentifier, timeline: facts.timeline }
  }

  /** Connects to the first host that accepts writes. Rejects with StorageFailure, which names each host with its problem. */
  static async open(options: ConnectOptions): Promise<ServerConnection> {
    const problems: string[] = []
    let cause: unknown
    for (const host of options.host === undefined ? options.address.hosts : [options.host]) {
      try {
        return await openHost(options, host)
      } catch (error) {
        cause = error
        problems.push(`${formatStoreHost(host)}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
    throw new StorageFailure(`no server of the database can be used: ${problems.join('; ')}`, { cause })
  }

  /** For `open` only. */
  static async start(client: Client, host: StoreHost, options: ConnectOptions): Promise<ServerConnection> {
    await client.query(settingsOfUse[options.use])
    const { rows } = await client.query<string[]>({ text: serverFactsText, rowMode: 'array', types: resultTypes })
    const facts = checkServer(rows[0] ?? [], client)
    const connection = new ServerConnection(client, host, facts)
    const problem = options.findProblem?.(connection.server)
    if (problem !== undefined) throw new StorageFailure(problem)
    connection.#watch(options.onLost)
    return connection
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Rejects with ConnectionLost or ServerError. */
  async run({ name, text, values }: Statement): Promise<StatementResult> {
    if (this.#isLost) throw new ConnectionLost('the connection to the database was lost')
    this.#warnings.length = 0
    try {
      const result = await this.#client.query<ResultValue[]>({
        ...(name === undefined ? {} : { name }),
        text,
        ...(values === undefined ? {} : { values: [...values] }),
        rowMode: 'array',
        types: resultTypes,
      })
      return { rows: result.rows, warnings: [...this.#warnings] }
    } catch (error) {
      throw toConnectionFailure(error)
    }
  }

  /**
   * Runs several statements that are one text without parameters: the server has all of them before it begins. Resolves with the rows of
   * each. Rejects as `run` does.
   */
  async runScript(text: string): Promise<ScriptResult> {
    if (this.#isLost) throw new ConnectionLost('the connection to the database was lost')
    this.#warnings.length = 0
    try {
      const found: unknown = await this.#client.query({ text, rowMode: 'array', types: resultTypes })
      const results = (Array.isArray(found) ? found : [found]) as { readonly rows: StatementResult['rows'] }[]
      return { results: results.map(({ rows }) => rows), warnings: [...this.#warnings] }
    } catch (error) {
      throw toConnectionFailure(error)
    }
  }

  /** Ends the connection at once. `onLost` is not called; statements are rejected. */
  destroy(): void {
    this.#isClosing = true
    this.#isLost = true
    readStream(this.#client)?.destroy()
  }

  /** Ends the connection after the statement that is running. */
  async close(): Promise<void> {
    if (this.#isLost) return
    this.#isClosing = true
    await this.#client.end()
    this.#isLost = true
  }

  #watch(onLost: ConnectOptions['onLost']): void {
    const handleEnd = (error?: Error): void => {
      if (this.#isLost) return
      this.#isLost = true
      readStream(this.#client)?.destroy()
      if (!this.#isClosing) {
        const why = error === undefined ? 'the server closed it' : error.message
        onLost?.(new ConnectionLost(`the connection to the database was lost: ${why}`, { cause: error }))
      }
    }
    this.#client.on('error', handleEnd)
    this.#client.on('end', () => handleEnd())
    this.#client.on('notice', ({ severity, message }) => {
      if (severity === 'WARNING') this.#warnings.push(message ?? 'a warning without text')
    })
  }
}

/** Loads the library. Rejects with StorageFailure, which says what to do. */
async function loadPg(): Promise<typeof pg> {
  try {
    return (await import('pg')).default
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new StorageFailure(`the library pg cannot be loaded: install it with "npm install pg" (${why})`, {
      cause: error,
    })
  }
}

async function openHost(options: ConnectOptions, host: StoreHost): Promise<ServerConnection> {
  const library = await loadPg()
  const { database, user, password } = options.address
  const socket = endOnException(new Socket())
  const client = new library.Client({
    ...host,
    database,
    user,
    // With undefined, the library would read a file of the user.
    password: password ?? '',
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveMs,
    application_name: `godwit ${options.use}`,
    // A read is sent with the start of its transaction. A commit must know which statement a warning is for.
    pipeline: options.use === 'read',
    stream: () => socket,
    ssl: readTlsOptions(options.address),
  })
  // An error after `connect` has failed has no other listener.
  client.on('error', () => socket.destroy())
  const timer = setTimeout(() => socket.destroy(new Error('no response in time')), 2 * connectTimeoutMs)
  try {
    await client.connect()
    const stream = readStream(client)
    // With TLS, the library reads from another stream.
    if (stream !== undefined && stream !== socket) endOnException(stream)
    return await ServerConnection.start(client, host, options)
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** The stream that the library reads; its types do not have it. */
function readStream(client: Client): Socket | undefined {
  const { connection } = client as unknown as { readonly connection?: { readonly stream?: Socket } }
  return connection?.stream
}

type TlsOptions = Exclude<NonNullable<ConstructorParameters<typeof Client>[0]>, string>['ssl']

function readTlsOptions(address: StoreAddress): TlsOptions {
  const { sslMode, rootCertificateFile, certificateFile, keyFile } = address
  if (sslMode === 'disable') return false
  return {
    rejectUnauthorized: sslMode !== 'require',
    ...(rootCertificateFile === undefined ? {} : { ca: readText(rootCertificateFile) }),
    ...(certificateFile === undefined ? {} : { cert: readText(certificateFile) }),
    ...(keyFile === undefined ? {} : { key: readText(keyFile) }),
    // The name is not compared: the certificate was issued by the given authority.
    ...(sslMode === 'verify-full' ? {} : { checkServerIdentity: () => undefined }),
  }
}

function readText(file: string): string {
  return readFileSync(file, 'utf8')
}

function toConnectionFailure(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown }
  if (typeof severity === 'string' && typeof code === 'string') {
    // After FATAL the server ends the connection.
    if (severity === 'FATAL' || severity === 'PANIC') return new ConnectionLost(error.message, { cause: error })
    return new ServerError(`${error.message} (SQLSTATE ${code})`, code, { cause: error })
  }
  return new ConnectionLost(`the connection to the database was lost: ${error.message}`, { cause: error })
}

/** `\x` and two digits for each byte. */
function parseBytes(text: string): Buffer {
  return Buffer.from(text.slice(2), 'hex')
}

function keepText(text: string): string {
  return text
}
