// Sends requests to one HTTP service over persistent connections.
//
//   send ──► waiting ──► the connection with the fewest requests, opened when it is needed ──► service
//     └────► deadlines: one timer, since all requests may take equally long

import { isForbiddenAddress } from '../../transports/index.ts'
import { HttpConnection, type HttpConnectionSettings } from './http-connection.ts'
import { HttpExchange, type HttpExchangeCallbacks, type HttpRequest, type HttpResult } from './http-exchange.ts'
import { type HttpLibrary, loadHttpLibrary } from './http-library.ts'
import { describeNoResponse } from '../service-responses.ts'

export interface HttpRequestsSettings extends HttpConnectionSettings {
  readonly poolSize: number
  readonly requestTimeoutMs: number
}

const stopped = 'the action is being stopped'

export class HttpRequests {
  readonly #settings: HttpRequestsSettings
  /** Credentials of the URL. A header of the request has priority. */
  readonly #authorization: string | undefined
  /** Loaded with the first request, because it is large. */
  #library: HttpLibrary | undefined
  #isLoading = false
  readonly #connections: HttpConnection[] = []
  readonly #connectionOf = new Map<HttpExchange, HttpConnection>()
  /** Requests in the order of their deadlines, including those that wait for a connection. */
  readonly #pending = new Map<HttpExchange, (result: HttpResult) => void>()
  readonly #waiting: HttpExchange[] = []
  #timer: NodeJS.Timeout | undefined
  #isSendPlanned = false
  #isClosed = false

  constructor(settings: HttpRequestsSettings) {
    this.#settings = settings
    this.#authorization = toAuthorization(settings.origin)
  }

  /** Never rejects. Redirects are not followed: only the configured address is trusted. */
  send(request: HttpRequest): Promise<HttpResult> {
    const { origin, requestTimeoutMs } = this.#settings
    if (isForbiddenAddress(origin.hostname))
      return Promise.resolve({ failure: `the address of ${origin.host} is denied by node.denied_addresses` })
    if (this.#isClosed) return Promise.resolve({ failure: stopped })
    return new Promise((resolve) => {
      const deadlineMs = performance.now() + requestTimeoutMs
      const exchange = new HttpExchange(this.#withAuthorization(request), deadlineMs, this.#callbacks)
      this.#pending.set(exchange, resolve)
      this.#timer ??= setTimeout(this.#failOverdue, requestTimeoutMs).unref()
      const connection = this.#freeConnection()
      if (connection === undefined) this.#waiting.push(exchange)
      else this.#sendOn(connection, exchange)
    })
  }

  /** Requests in progress fail. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const exchange of this.#pending.keys()) exchange.fail(stopped)
    for (const connection of this.#connections) connection.close(stopped)
  }

  #withAuthorization(request: HttpRequest): HttpRequest {
    if (this.#authorization === undefined) return request
    return { ...request, headers: { authorization: this.#authorization, ...request.headers } }
  }

  /** Returns a connection for a request; undefined: each has the maximum number of requests. */
  #freeConnection(): HttpConnection | undefined {
    const { poolSize, pipelining } = this.#settings
    let best: HttpConnection | undefined
    for (const connection of this.#connections) {
      if (connection.requests === 0) return connection
      if (best === undefined || connection.requests < best.requests) best = connection
    }
    if (this.#connections.length < poolSize) return this.#addConnection()
    return best !== undefined && best.requests < pipelining ? best : undefined
  }

  /** Undefined while the library is being loaded. */
  #addConnection(): HttpConnection | undefined {
    if (this.#library === undefined) {
      if (!this.#isLoading) void this.#load()
      return undefined
    }
    const connection = new HttpConnection(this.#library, this.#settings)
    this.#connections.push(connection)
    return connection
  }

  async #load(): Promise<void> {
    this.#isLoading = true
    try {
      this.#library = await loadHttpLibrary()
    } catch (error) {
      this.#isLoading = false
      for (const exchange of this.#waiting.splice(0)) exchange.fail(String(error))
      return
    }
    this.#sendWaiting()
  }

  /** Gives waiting requests to connections until each connection has the maximum number. */
  #sendWaiting(): void {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const connection = this.#freeConnection()
      if (connection === undefined) return
      this.#sendNext(connection)
    }
  }

  /**
   * Sends waiting requests after the library has returned: a callback of the library runs while it works on its queue, so that a request
   * which is sent from there fails an assertion of the library.
   */
  #planSend(): void {
    if (this.#isSendPlanned || this.#waiting.length === 0) return
    this.#isSendPlanned = true
    queueMicrotask(() => {
      this.#isSendPlanned = false
      this.#sendWaiting()
    })
  }

  /** Sends the next waiting request that has not failed meanwhile. */
  #sendNext(connection: HttpConnection): void {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift())
      if (this.#pending.has(next)) return this.#sendOn(connection, next)
  }

  #sendOn(connection: HttpConnection, exchange: HttpExchange): void {
    this.#connectionOf.set(exchange, connection)
    connection.send(exchange)
  }

  readonly #callbacks: HttpExchangeCallbacks = {
    settle: (exchange, result) => {
      this.#pending.get(exchange)?.(result)
      this.#pending.delete(exchange)
    },
    release: (exchange) => {
      const connection = this.#connectionOf.get(exchange)
      if (connection === undefined) return
      this.#connectionOf.delete(exchange)
      connection.requests--
      this.#planSend()
    },
  }

  readonly #failOverdue = (): void => {
    this.#timer = undefined
    const nowMs = performance.now()
    for (const exchange of this.#pending.keys()) {
      const leftMs = exchange.deadlineMs - nowMs
      if (leftMs > 0) {
        this.#timer = setTimeout(this.#failOverdue, Math.ceil(leftMs)).unref()
        return
      }
      exchange.fail(describeNoResponse(this.#settings.requestTimeoutMs))
    }
  }
}

function toAuthorization({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return `Basic ${Buffer.from(credentials).toString('base64')}`
}
