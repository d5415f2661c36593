// Connections that each serve one user at a time, such as a transaction. There are at most `size`; further users wait.
//
//   acquire ──► idle connection, or a new one, or wait ──► run ... ──► release ──► idle │ destroyed

import {
  type ConnectionDriver,
  type ConnectionLimits,
  type OpenConnection,
  type Opening,
  openWithTimeout,
} from './open-service-connection.ts'
import { stoppedReason } from './shared-connection.ts'

export interface PooledConnection<Connection> {
  /** Runs one request. Rejects if there is no response within requestTimeoutMs. */
  run<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value>
  /** `isBroken`: the connection is destroyed and not used again. */
  release(isBroken: boolean): void
}

interface Idle<Connection> {
  readonly connection: OpenConnection<Connection>
  readonly sinceMs: number
}

/** A connection that was not used for this time is closed: a firewall may have forgotten it. */
const maxIdleMs = 30_000

export class ConnectionPool<Connection> {
  readonly #driver: ConnectionDriver<Connection>
  readonly #limits: ConnectionLimits
  readonly #size: number
  /** The last one was used last. */
  #idle: Idle<Connection>[] = []
  readonly #busy = new Set<OpenConnection<Connection>>()
  readonly #openings = new Set<Opening<Connection>>()
  #waiting: PromiseWithResolvers<OpenConnection<Connection>>[] = []
  #idleTimer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(driver: ConnectionDriver<Connection>, limits: ConnectionLimits, size: number) {
    this.#driver = driver
    this.#limits = limits
    this.#size = size
  }

  /** The caller must release the connection. Rejects if no connection opens within connectTimeoutMs. */
  async acquire(): Promise<PooledConnection<Connection>> {
    const connection = await this.#next()
    return {
      run: (work) => connection.run(work, this.#limits.requestTimeoutMs),
      release: (isBroken) => this.#release(connection, isBroken),
    }
  }

  /** Runs one request. */
  async use<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> {
    const connection = await this.acquire()
    let isBroken = true
    try {
      const value = await connection.run(work)
      isBroken = false
      return value
    } finally {
      connection.release(isBroken)
    }
  }

  /** Closes all connections permanently. Requests in progress reject. */
  close(): void {
    this.#isClosed = true
    const why = new Error(stoppedReason)
    clearInterval(this.#idleTimer)
    for (const opening of this.#openings) opening.cancel(why)
    this.#rejectWaiting(why)
    for (const { connection } of this.#idle) connection.end(why)
    for (const connection of this.#busy) connection.destroy(why)
    this.#idle = []
  }

  #next(): Promise<OpenConnection<Connection>> {
    if (this.#isClosed) return Promise.reject(new Error(stoppedReason))
    const idle = this.#takeIdle()
    if (idle !== undefined) return Promise.resolve(idle)
    const waiting = Promise.withResolvers<OpenConnection<Connection>>()
    this.#waiting.push(waiting)
    this.#openMore()
    return waiting.promise
  }

  #takeIdle(): OpenConnection<Connection> | undefined {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      const { connection } = idle
      if (connection.isUsable) {
        this.#busy.add(connection)
        return connection
      }
      connection.destroy(new Error('the connection has ended'))
    }
    return undefined
  }

  /** Opens connections for users that wait, up to the size of the pool. */
  #openMore(): void {
    const canOpen = (): boolean => this.#busy.size + this.#idle.length + this.#openings.size < this.#size
    while (!this.#isClosed && this.#waiting.length > this.#openings.size && canOpen()) this.#openOne()
  }

  #openOne(): void {
    const opening = openWithTimeout(this.#driver, this.#limits.connectTimeoutMs)
    this.#openings.add(opening)
    opening.opened.then(
      (connection) => {
        this.#openings.delete(opening)
        this.#assignConnection(connection)
      },
      (error: unknown) => {
        this.#openings.delete(opening)
        // The service cannot be reached, so the next attempt of each user would fail as well.
        this.#rejectWaiting(error)
      },
    )
  }

  #release(connection: OpenConnection<Connection>, isBroken: boolean): void {
    if (!this.#busy.delete(connection)) return
    if (isBroken || !connection.isUsable || this.#isClosed) {
      connection.destroy(new Error('the connection failed'))
      this.#openMore()
    } else this.#assignConnection(connection)
  }

  #assignConnection(connection: OpenConnection<Connection>): void {
    if (this.#isClosed) return connection.destroy(new Error(stoppedReason))
    const waiting = this.#waiting.shift()
    if (waiting !== undefined) {
      this.#busy.add(connection)
      return waiting.resolve(connection)
    }
    this.#idle.push({ connection, sinceMs: performance.now() })
    this.#idleTimer ??= setInterval(() => this.#endUnused(), maxIdleMs / 2).unref()
  }

  #endUnused(): void {
    const limitMs = performance.now() - maxIdleMs
    const unused = this.#idle.filter(({ sinceMs }) => sinceMs < limitMs)
    this.#idle = this.#idle.filter(({ sinceMs }) => sinceMs >= limitMs)
    for (const { connection } of unused) connection.end(new Error('the connection was not used'))
  }

  #rejectWaiting(error: unknown): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { reject } of waiting) reject(error)
  }
}
