// One connection to an HTTP service. It is opened by its first request, and again by the next one after it was closed.

import type { Socket } from 'node:net'
import type { ServiceTls } from '../service-address.ts'
import { lookUpAllowedAddresses } from '../../transports/index.ts'
import type { HttpExchange } from './http-exchange.ts'
import type { HttpClient, SocketOpener, HttpLibrary } from './http-library.ts'
import { describeNoConnection } from '../service-responses.ts'

export interface HttpConnectionSettings {
  /** `http://host:port`; a path in it is not used. */
  readonly origin: URL
  /** Maximum number of requests in progress on a connection. */
  readonly pipelining: number
  readonly connectTimeoutMs: number
  readonly tls: ServiceTls | undefined
}

/** A connection without requests is closed after this time, or earlier if the service requests that. */
const idleMs = 30_000

export class HttpConnection {
  /** Number of requests in progress. */
  requests = 0
  readonly #settings: HttpConnectionSettings
  readonly #client: HttpClient
  /** The last connection, which may be closed. */
  #socket: Socket | undefined
  #isConnecting = false
  #isCollecting = false

  constructor(library: HttpLibrary, settings: HttpConnectionSettings) {
    this.#settings = settings
    const { origin, pipelining, tls } = settings
    // With HTTP/2, all requests would be on one connection. The time limit of the library counts seconds.
    const connect = library.buildConnector({ allowH2: false, timeout: 0, lookup: lookUpAllowedAddresses, ...tls })
    this.#client = new library.Client(origin.origin, {
      pipelining,
      connect: this.#limitConnectTime(connect),
      keepAliveTimeout: idleMs,
      // The deadlines of the exchanges include the time that they wait.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  send(exchange: HttpExchange): void {
    this.requests++
    this.#collectWrites()
    const { path, method, headers, body = null } = exchange.request
    // A request that failed is sent again in any case: it may follow one that has no response yet.
    this.#client.dispatch({ path, method, headers, body, idempotent: true, blocking: false, reset: false }, exchange)
  }

  close(why: string): void {
    if (this.#isConnecting) this.#socket?.destroy(new Error(why))
    void this.#client.destroy()
  }

  /** Collects the writes of one iteration of the event loop, so that they are one system call. */
  #collectWrites(): void {
    const socket = this.#socket
    if (this.#settings.pipelining === 1 || this.#isCollecting || this.#isConnecting || socket === undefined) return
    this.#isCollecting = true
    socket.cork()
    setImmediate(() => {
      this.#isCollecting = false
      socket.uncork()
    })
  }

  /** Limits the time of connecting. */
  #limitConnectTime(connect: SocketOpener): SocketOpener {
    const { connectTimeoutMs } = this.#settings
    return (options, callback) => {
      this.#isConnecting = true
      // `connect` returns the socket, which the library uses as well.
      const socket = connect(options, (...result) => {
        clearTimeout(timer)
        this.#isConnecting = false
        callback(...result)
      }) as unknown as Socket
      this.#socket = socket
      const timer = setTimeout(
        () => socket.destroy(new Error(describeNoConnection(connectTimeoutMs))),
        connectTimeoutMs,
      )
      return socket
    }
  }
}
