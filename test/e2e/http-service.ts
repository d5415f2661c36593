// An HTTP server for actions of rules, whose port stays the same while it is stopped.

import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Scope } from './godwit-process.ts'
import { reservePort } from './reserve-port.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export class HttpService {
  readonly port: number
  readonly received: ReceivedRequest[] = []
  /** Returns the status of the response to a request; undefined: the service does not respond. */
  statusFor: (request: ReceivedRequest) => number | undefined = () => 200
  #server: Server | undefined
  readonly #waiting = new Set<() => void>()

  private constructor(port: number) {
    this.port = port
  }

  /** Reserves a port for a service that is started later. */
  static async prepare(t: Scope): Promise<HttpService> {
    const service = new HttpService(await reservePort(t))
    t.after(() => service.stop())
    return service
  }

  static async start(t: Scope): Promise<HttpService> {
    const service = await HttpService.prepare(t)
    await service.start()
    return service
  }

  async start(): Promise<void> {
    const server = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request
        const received = { method, path, headers, body: Buffer.concat(parts).toString() }
        const status = method === 'HEAD' ? 200 : this.statusFor(received)
        if (method !== 'HEAD') this.received.push(received)
        if (status !== undefined) response.writeHead(status).end()
        for (const look of this.#waiting) look()
      })
      request.on('error', () => {})
    })
    server.listen(this.port, '127.0.0.1')
    await once(server, 'listening')
    this.#server = server
  }

  stop(): void {
    this.#server?.closeAllConnections()
    this.#server?.close()
    this.#server = undefined
  }

  /** Resolves when the received requests meet the condition. */
  until(isAsWanted: (received: readonly ReceivedRequest[]) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isAsWanted(this.received)) return
        this.#waiting.delete(look)
        resolve()
      }
      this.#waiting.add(look)
      look()
    })
  }
}
