// Opening, using and ending one connection to a service: each step has a time limit. All drivers go through this file.
//
//   openWithTimeout ──► driver.open ──► OpenConnection.run(work) ... ──► destroy
//       │ late or cancelled: what was opened so far is destroyed       ▲
//       └──────────────────────────────── run: late, or a fatal error ─┘   a connection without a response is never used again

import type { Socket } from 'node:net'
import { formatError, describeNoConnection, describeNoResponse } from '../service-responses.ts'
import { collectSockets } from './opened-sockets.ts'

/** The service has not responded within the time limit. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse'
}

export interface OpeningAttempt {
  /** Registers how to end what is open so far. `end` is called if the attempt fails, is late or is cancelled. */
  onFailure(end: () => unknown): void
}

/** What a driver knows about its connections. Time limits are not its task. */
export interface ConnectionDriver<Connection> {
  /** Loads the client library. This is not part of the time limit: on a busy machine it takes seconds. */
  load?(): Promise<unknown>
  /** Resolves when the connection is ready for requests: connected, secured and authenticated. */
  open(attempt: OpeningAttempt): Promise<Connection>
  /** False: the connection has ended. Absent: a connection is usable until it is destroyed. */
  isUsable?(connection: Connection): boolean
  /** Returns whether the connection must not be used again after this error of a request. Absent: it may. */
  isFatal?(error: unknown): boolean
  /** Says goodbye to the service. It may reject or take forever: the connection is destroyed afterwards. */
  end?(connection: Connection): Promise<unknown>
  /** Closes the sockets at once, without waiting for the service, so that requests in progress reject. It may throw or reject. */
  destroy(connection: Connection, why: Error): unknown
}

export interface ConnectionLimits {
  /** For connecting, the TLS handshake and the authentication together. */
  readonly connectTimeoutMs: number
  /** For one request. */
  readonly requestTimeoutMs: number
}

/** Time for the goodbye to a service. */
const endTimeoutMs = 1_000
/** Time for requests in progress to reject after their connection was destroyed, or to return the responses that have arrived. */
const settleTimeoutMs = 100

export class OpenConnection<Connection> {
  readonly #driver: ConnectionDriver<Connection>
  readonly #connection: Connection
  readonly #sockets: Set<Socket>
  readonly #pending = new Set<(why: Error) => void>()
  #endedBecause: Error | undefined

  /** `sockets`: those that the client library has opened by itself. */
  constructor(driver: ConnectionDriver<Connection>, connection: Connection, sockets: Set<Socket>) {
    this.#driver = driver
    this.#connection = connection
    this.#sockets = sockets
  }

  get isUsable(): boolean {
    return this.#endedBecause === undefined && this.#driver.isUsable?.(this.#connection) !== false
  }

  /** Rejects with NoResponse after `timeoutMs`, and destroys the connection: a late response would belong to another request. */
  run<Value>(work: (connection: Connection) => Promise<Value>, timeoutMs: number): Promise<Value> {
    if (this.#endedBecause !== undefined) return Promise.reject(this.#endedBecause)
    const { promise, resolve, reject } = Promise.withResolvers<Value>()
    const timer = setTimeout(() => this.destroy(new NoResponse(describeNoResponse(timeoutMs))), timeoutMs)
    const settle = (): void => {
      clearTimeout(timer)
      this.#pending.delete(abandon)
    }
    const abandon = (why: Error): void => {
      settle()
      reject(why)
    }
    this.#pending.add(abandon)
    // Some libraries open further sockets for a request.
    collectSockets(this.#sockets, () => work(this.#connection)).then(
      (value) => {
        settle()
        resolve(value)
      },
      (error: unknown) => {
        settle()
        reject(this.#endedBecause ?? error)
        if (this.#driver.isFatal?.(error) === true) this.destroy(new Error(formatError(error)))
      },
    )
    return promise
  }

  /** Requests in progress reject with `why`. */
  destroy(why: Error): void {
    if (this.#endedBecause !== undefined) return
    this.#endedBecause = why
    destroyQuietly(() => this.#driver.destroy(this.#connection, why))
    destroyLater(this.#sockets)
    if (this.#pending.size === 0) return
    setTimeout(() => {
      for (const abandon of this.#pending) abandon(why)
    }, settleTimeoutMs)
  }

  /** Says goodbye to the service, for a limited time, and destroys the connection. Requests in progress reject. */
  end(why: Error): void {
    const driver = this.#driver
    const isBusy = this.#pending.size > 0
    if (this.#endedBecause !== undefined || isBusy || !this.isUsable || driver.end === undefined)
      return this.destroy(why)
    const timer = setTimeout(() => this.destroy(why), endTimeoutMs)
    const destroy = (): void => {
      clearTimeout(timer)
      this.destroy(why)
    }
    driver.end(this.#connection).then(destroy, destroy)
  }
}

export interface Opening<Connection> {
  /** Rejects with NoResponse if the time is over. */
  readonly opened: Promise<OpenConnection<Connection>>
  /** Rejects `opened` with this error, and ends what is open so far. */
  cancel(why: Error): void
}

export function openWithTimeout<Connection>(
  driver: ConnectionDriver<Connection>,
  connectTimeoutMs: number,
): Opening<Connection> {
  const { promise: opened, resolve, reject } = Promise.withResolvers<OpenConnection<Connection>>()
  const ends: (() => unknown)[] = []
  const sockets = new Set<Socket>()
  let state: 'opening' | 'open' | 'failed' = 'opening'
  let timer: NodeJS.Timeout | undefined
  const cancel = (error: unknown): void => {
    if (state !== 'opening') return
    state = 'failed'
    clearTimeout(timer)
    reject(error)
    for (const end of ends) destroyQuietly(end)
    destroyLater(sockets)
  }
  const fail = (): void => cancel(new NoResponse(describeNoConnection(connectTimeoutMs)))
  const onFailure = (end: () => unknown): void => {
    if (state === 'failed') destroyQuietly(end)
    else ends.push(end)
  }
  const open = (): Promise<Connection> => {
    if (state === 'failed') throw new Error('the connection was cancelled')
    timer = setTimeout(fail, connectTimeoutMs)
    return collectSockets(sockets, () => driver.open({ onFailure }))
  }
  const opening = driver.load === undefined ? open() : driver.load().then(open)
  opening.then((connection) => {
    // A connection that opens after the time limit is not used.
    if (state === 'failed') {
      destroyQuietly(() => driver.destroy(connection, new Error('the connection opened too late')))
      return destroyLater(sockets)
    }
    state = 'open'
    clearTimeout(timer)
    resolve(new OpenConnection(driver, connection, sockets))
  }, cancel)
  return { opened, cancel }
}

/** The driver closes its sockets itself, so that the service gets its last bytes. Some libraries leave sockets of failed attempts open. */
export function destroyLater(sockets: ReadonlySet<Socket>): void {
  setTimeout(() => {
    for (const socket of sockets) socket.destroy()
  }, endTimeoutMs).unref()
}

/** The connection is not used any more, so its errors have no receiver. */
function destroyQuietly(destroy: () => unknown): void {
  void new Promise((resolve) => resolve(destroy())).catch(() => {})
}

/** Opens a connection for one request, within a time limit for each, and closes it. Returns why that failed; undefined: it succeeded. */
export async function checkOnce<Connection>(
  driver: ConnectionDriver<Connection>,
  timeoutMs: number,
  request: (connection: Connection) => Promise<unknown>,
): Promise<string | undefined> {
  try {
    const connection = await openWithTimeout(driver, timeoutMs).opened
    try {
      await connection.run(request, timeoutMs)
    } finally {
      connection.destroy(new Error('the check has ended'))
    }
    return undefined
  } catch (error) {
    return formatError(error)
  }
}
