// An HTTP service with real sockets on loopback, whose responses a test sets.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly query: Record<string, string>
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export type RequestHandler = (received: ReceivedRequest, response: ServerResponse) => void

export class HttpService {
  readonly requests: ReceivedRequest[] = []
  respond: RequestHandler = (_, response) => response.end()
  connections = 0
  maxAtOnce = 0
  readonly #server: Server
  #underWay = 0

  constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response))
    this.#server.on('connection', () => this.connections++)
  }

  static async start(context: TestContext): Promise<HttpService> {
    const service = new HttpService()
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve))
    context.after(() => service.stop())
    return service
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  url(path = '/auth'): string {
    return `http://127.0.0.1:${this.port}${path}`
  }

  /** Holds the first request. Resolves, when it has arrived, with the function that sends its response. */
  holdFirst(): Promise<() => void> {
    return new Promise((resolve) => {
      this.respond = (_, response) => {
        this.respond = status(200)
        resolve(() => response.end())
      }
    })
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.maxAtOnce = Math.max(this.maxAtOnce, ++this.#underWay)
    response.on('finish', () => this.#underWay--)
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const url = new URL(request.url ?? '', 'http://service')
    const received = {
      method: request.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: request.headers,
      body,
    }
    this.requests.push(received)
    this.respond(received, response)
  }
}

export const status =
  (code: number, body = '', headers: Record<string, string> = {}): RequestHandler =>
  (_, response) => {
    response.writeHead(code, headers).end(body)
  }

export const json = (value: unknown, code = 200): RequestHandler =>
  status(code, JSON.stringify(value), { 'content-type': 'application/json' })
