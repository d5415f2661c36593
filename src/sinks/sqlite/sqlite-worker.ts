// A thread that writes to one SQLite file for one shard. SQLite blocks its thread while it waits for the disk, and a shard must
// not be blocked.

import { closeSync, constants, openSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { makeDirectorySync } from '../../telemetry/index.ts'
import type { WriteOutcome } from '../sink.ts'
import type { SqliteReady, SqliteResponse, SqliteRequest, SqliteStart } from './sqlite-messages.ts'

/** Rows can contain client IDs and payloads, so only the system user of the broker may read the file. */
const fileMode = 0o600
const maxStatements = 64
/** Primary result codes for a row that will never be accepted: TOOBIG, CONSTRAINT, MISMATCH and RANGE. */
const rowErrorCodes = new Set([18, 19, 20, 25])
/** The low byte of an extended result code is the primary one. */
const primaryCodeMask = 0xff
const done: WriteOutcome = { outcome: 'done' }

interface SqliteError extends Error {
  readonly code?: string
  readonly errcode?: number
}

/** Files of SQLite beside the database. */
const companions = ['-wal', '-shm']

class SqliteFile {
  /** Identity of the open files: the database, and those beside it. */
  #identities: readonly string[] = []
  /** The open file has lost its name, and still needs the rows that are in its log. */
  #isLeaving = false
  readonly #start: SqliteStart
  #database: DatabaseSync | undefined
  readonly #statements = new Map<string, StatementSync>()
  readonly #created = new Set<string>()

  constructor(start: SqliteStart) {
    this.#start = start
  }

  /** Writes all rows in one transaction. If a row is refused, the others are written. */
  write({ statements, createTable }: Extract<SqliteRequest, { kind: 'write' }>): readonly WriteOutcome[] {
    try {
      const database = this.#open(createTable)
      database.exec('BEGIN IMMEDIATE')
      const outcomes = statements.map(({ texts, values }) => this.#run(database, texts.join('?'), values))
      database.exec('COMMIT')
      return outcomes
    } catch (error) {
      const why = this.#handleFailure(error)
      return statements.map(() => ({ outcome: 'retry', why }))
    }
  }

  check(createTable: string | undefined): string | undefined {
    try {
      this.#open(createTable).exec('SELECT 1 FROM sqlite_schema LIMIT 1')
      return undefined
    } catch (error) {
      return this.#handleFailure(error)
    }
  }

  close(): void {
    this.#statements.clear()
    this.#created.clear()
    // An open transaction is rolled back.
    this.#database?.close()
    this.#database = undefined
  }

  #open(createTable: string | undefined): DatabaseSync {
    const { path, busyTimeoutMs } = this.#start
    if (this.#database !== undefined && readFileIdentity(path) !== this.#identities[0]) this.#leave(this.#database)
    if (this.#database === undefined) {
      makeDirectorySync(dirname(path))
      closeSync(openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, fileMode))
      this.#database = new DatabaseSync(path, { timeout: busyTimeoutMs })
      // FULL: a committed row survives a power cut. WAL: readers and the threads of other shards are not blocked.
      this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
      // The first statement creates the files beside the database.
      this.#database.exec('SELECT 1 FROM sqlite_schema LIMIT 1')
      this.#identities = ['', ...companions].map((suffix) => readFileIdentity(path + suffix))
    }
    if (createTable !== undefined && !this.#created.has(createTable)) {
      this.#database.exec(createTable)
      this.#created.add(createTable)
    }
    return this.#database
  }

  /**
   * Another file has the name now, or none, and later rows belong there. The open file gets the rows that are only in its log. Its log does not stay at
   * the name: SQLite would apply it to the new file. https://sqlite.org/howtocorrupt.html, section 4.2.
   */
  #leave(database: DatabaseSync): void {
    this.#isLeaving = true
    const result = database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()
    if (result?.['busy'] !== 0) throw new Error('the file was replaced, and another program uses the earlier one')
    this.#isLeaving = false
    this.close()
    for (const [index, suffix] of companions.entries()) {
      const name = this.#start.path + suffix
      if (readFileIdentity(name) === this.#identities[index + 1]) rmSync(name, { force: true })
    }
  }

  #handleFailure(error: unknown): string {
    if (!this.#isLeaving) this.close()
    const text = readErrorMessage(error)
    return text.includes(this.#start.path) ? text : `${this.#start.path}: ${text}`
  }

  /** Runs one statement. Throws if the cause is the file and not the row. */
  #run(database: DatabaseSync, sql: string, values: SqliteRequestValues): WriteOutcome {
    try {
      this.#prepareStatement(database, sql).run(
        ...values.map((value) => (typeof value === 'boolean' ? Number(value) : value)),
      )
      return done
    } catch (error) {
      const { errcode = 0 } = error as SqliteError
      if (!rowErrorCodes.has(errcode & primaryCodeMask) || !database.isTransaction) throw error
      return { outcome: 'refused', why: readErrorMessage(error) }
    }
  }

  #prepareStatement(database: DatabaseSync, sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known !== undefined) return known
    if (this.#statements.size >= maxStatements) this.#statements.clear()
    const statement = database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

type SqliteRequestValues = Extract<SqliteRequest, { kind: 'write' }>['statements'][number]['values']

/** Returns what tells a file from others that had the same name; '': there is none. */
function readFileIdentity(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? '' : `${found.dev}:${found.ino}`
}

function readErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

const file = new SqliteFile(workerData as SqliteStart)
const port = parentPort

port?.on('message', (request: SqliteRequest) => {
  if (request.kind === 'close') {
    file.close()
    return port.close()
  }
  const { id } = request
  const response: SqliteResponse =
    request.kind === 'write'
      ? { id, outcomes: file.write(request), problem: undefined }
      : { id, outcomes: [], problem: file.check(request.createTable) }
  port.postMessage(response)
})

port?.postMessage('ready' satisfies SqliteReady)
