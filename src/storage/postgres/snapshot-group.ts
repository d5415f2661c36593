// A transaction that several reads share. Reads that begin at the same time have the same snapshot, and what they request in one turn is
// one statement: a client that connects needs the head of its queue, and thousands may connect at once.
//
//   snapshots:   a ──────────┐      b ────────┐            c ─── (a commit since: another group)
//   statements:  BEGIN [a1 b1]     [a2 b2]   [b3]   COMMIT

import { ReadingInterrupted, StorageFailure } from '../store.ts'
import type { DatabaseEntry } from '../database/entry-database.ts'
import type { RangeStatements, SliceOrder, SliceRequest } from './range-statements.ts'
import type { ReadConnections } from './read-connections.ts'
import { ConnectionLost, type ResultValue, type ServerConnection } from './server-connection.ts'

/** Entries of a slice, and whether the range has further ones. */
export interface Slice {
  readonly entries: DatabaseEntry[]
  readonly hasMore: boolean
}

type Request = (
  | { readonly kind: 'slice'; readonly slice: SliceRequest; readonly order: SliceOrder; resolve(slice: Slice): void }
  | { readonly kind: 'keys'; readonly keys: readonly Buffer[]; resolve(entries: DatabaseEntry[]): void }
) & { reject(error: unknown): void }

type SliceReads = Extract<Request, { kind: 'slice' }>[]

export interface SnapshotGroupOptions {
  readonly connections: ReadConnections
  readonly statements: RangeStatements
  /** Changes when a batch is sent and when it is durable: even while none is being written. */
  readonly getVersion: () => number
}

/** What was deleted since the start of a transaction cannot be removed before its end. */
const maxTransactionMs = 8_000
/** The server ends a statement that reads after 10 s (server-connection.ts). */
const maxResponseMs = 12_000
/** No new read joins an older transaction. */
const maxJoinMs = 2_000
const beginText = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'

export class SnapshotGroup {
  readonly #options: SnapshotGroupOptions
  #members = 0
  #pending: Request[] = []
  #isRunning = false
  #connection: ServerConnection | undefined
  /** Of the first transaction; undefined: not begun. */
  #version: number | undefined
  #beganAtMs = 0
  #isEnded = false
  #failure: Error | undefined
  #expiry: NodeJS.Timeout | undefined

  constructor(options: SnapshotGroupOptions) {
    this.#options = options
  }

  /** Returns whether a read that begins now may use this snapshot. */
  get isCurrent(): boolean {
    if (this.#isEnded || this.#failure !== undefined) return false
    if (this.#version === undefined) return true
    return this.#version === this.#options.getVersion() && performance.now() - this.#beganAtMs < maxJoinMs
  }

  join(): void {
    this.#members += 1
  }

  /** The transaction ends later: a read does not wait for that. */
  leave(): void {
    this.#members -= 1
    if (this.#members > 0) return
    this.#isEnded = true
    if (!this.#isRunning) void this.#endTransaction()
  }

  readSlice(slice: SliceRequest, order: SliceOrder): Promise<Slice> {
    return new Promise((resolve, reject) => this.#add({ kind: 'slice', slice, order, resolve, reject }))
  }

  readKeys(keys: readonly Buffer[]): Promise<DatabaseEntry[]> {
    return new Promise((resolve, reject) => this.#add({ kind: 'keys', keys, resolve, reject }))
  }

  #add(request: Request): void {
    this.#pending.push(request)
    if (!this.#isRunning) void this.#run()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    // Requests of the same turn are one statement.
    await Promise.resolve()
    while (this.#pending.length > 0) {
      const requests = this.#pending.splice(0)
      try {
        await this.#begin()
        await this.#serveInTime(requests)
      } catch (error) {
        this.#fail(error)
        for (const request of requests) request.reject(this.#failure)
      }
    }
    this.#isRunning = false
    if (this.#isEnded || performance.now() - this.#beganAtMs > maxTransactionMs) await this.#endTransaction()
  }

  /** The rest of an old transaction is read in a new one if nothing was written since. */
  async #begin(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#connection !== undefined) return
    const { connections, getVersion } = this.#options
    const connection = await connections.acquire()
    const version = getVersion()
    if (this.#version !== undefined && (this.#version !== version || version % 2 === 1)) {
      connections.release(connection)
      throw new ReadingInterrupted('a batch was written during a long read')
    }
    this.#version = version
    this.#beganAtMs = performance.now()
    this.#connection = connection
    this.#expiry = setTimeout(() => {
      if (!this.#isRunning) void this.#endTransaction()
    }, maxTransactionMs).unref()
    // The next statement is sent without waiting, and fails if this one does.
    void connection.run({ text: beginText }).catch(() => {})
  }

  async #endTransaction(): Promise<void> {
    clearTimeout(this.#expiry)
    const connection = this.#connection
    this.#connection = undefined
    if (connection === undefined) return
    const timer = setTimeout(() => connection.destroy(), maxResponseMs)
    try {
      if (!connection.isLost) await connection.run({ text: 'COMMIT' })
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error
      connection.destroy()
    }
    clearTimeout(timer)
    this.#options.connections.release(connection)
  }

  #fail(error: unknown): void {
    this.#failure ??= toReadError(error)
    const connection = this.#connection
    this.#connection = undefined
    clearTimeout(this.#expiry)
    if (connection === undefined) return
    connection.destroy()
    this.#options.connections.release(connection)
  }

  /** The server ends a statement after its limit. If there is no response even then, the connection is dead. */
  async #serveInTime(requests: readonly Request[]): Promise<void> {
    const connection = this.#connection
    const timer = setTimeout(() => connection?.destroy(), maxResponseMs)
    try {
      await this.#serve(requests)
    } finally {
      clearTimeout(timer)
    }
  }

  async #serve(requests: readonly Request[]): Promise<void> {
    const connection = this.#connection
    if (connection === undefined) throw new ReadingInterrupted('the transaction has ended')
    const keyReads = requests.filter((request) => request.kind === 'keys')
    const slices = Map.groupBy(
      requests.filter((request) => request.kind === 'slice'),
      ({ order }) => `${order.isReverse} ${order.keysOnly}`,
    )
    const served = [...slices.values()].map((reads) => this.#serveSlices(connection, reads))
    if (keyReads.length > 0) served.push(this.#serveKeys(connection, keyReads))
    await Promise.all(served)
  }

  async #serveSlices(connection: ServerConnection, reads: SliceReads): Promise<void> {
    const order = reads[0]?.order ?? { isReverse: false, keysOnly: false }
    const statement = this.#options.statements.readSlices(
      reads.map(({ slice }) => slice),
      order,
    )
    const { rows } = await connection.run(statement)
    const found = reads.map((): { entries: DatabaseEntry[]; total: number } => ({ entries: [], total: 0 }))
    for (const [position, key, value, bytes, total] of rows) {
      const read = found[Number(position) - 1]
      if (read === undefined) continue
      read.entries.push(await this.#toEntry(connection, key, value, bytes))
      read.total = Number(total)
    }
    for (const [index, read] of reads.entries()) {
      const { entries, total } = found[index] ?? { entries: [], total: 0 }
      read.resolve({ entries, hasMore: total === read.slice.limit || entries.length < total })
    }
  }

  async #serveKeys(connection: ServerConnection, reads: readonly Extract<Request, { kind: 'keys' }>[]): Promise<void> {
    const names = new Map<string, Buffer>()
    for (const { keys } of reads) for (const key of keys) names.set(key.toString('latin1'), key)
    const { rows } = await connection.run(this.#options.statements.readKeys([...names.values()]))
    const found = new Map<string, DatabaseEntry>()
    for (const [key, value, bytes] of rows) {
      const entry = await this.#toEntry(connection, key, value, bytes)
      found.set(entry[0].toString('latin1'), entry)
    }
    for (const read of reads) {
      const entries = read.keys.map((key) => found.get(key.toString('latin1')))
      read.resolve(entries.filter((entry) => entry !== undefined))
    }
  }

  /** Values that are too large for one row of a result are read in pieces of the same snapshot. */
  async #toEntry(
    connection: ServerConnection,
    key: ResultValue | undefined,
    value: ResultValue | undefined,
    bytes: ResultValue | undefined,
  ): Promise<DatabaseEntry> {
    if (!Buffer.isBuffer(key)) throw new StorageFailure('the database returned a row without a key')
    if (Buffer.isBuffer(value)) return [key, value]
    const whole = Buffer.allocUnsafeSlow(Number(bytes))
    for (let at = 0; at < whole.length;) {
      const { rows } = await connection.run(this.#options.statements.readPiece(key, at))
      const piece = rows[0]?.[0]
      if (!Buffer.isBuffer(piece) || piece.length === 0) throw new StorageFailure('the database returned no value')
      at += piece.copy(whole, at)
    }
    return [key, whole]
  }
}

function toReadError(error: unknown): Error {
  if (error instanceof ConnectionLost) return new ReadingInterrupted(error.message, { cause: error })
  return error instanceof Error ? error : new Error(String(error))
}
