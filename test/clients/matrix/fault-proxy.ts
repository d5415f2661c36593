// A TCP proxy in front of a service that fails as networks and services do. A fault begins at once, or on each connection when the client
// sends a text or the handshake has begun.

import { once } from 'node:events'
import { randomBytes } from 'node:crypto'
import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Scope } from '../../e2e/godwit-process.ts'
import { reservePort } from '../../e2e/reserve-port.ts'
import type { Rewrite } from '../relay.ts'

/**
 * `refuse`: nothing listens, and connections are reset. `silent`: connections are accepted, and no data passes. `freeze`: open connections are
 * silent, new ones work. `delay`: each part is 1 s late. `reset`: the connection is reset in the middle of an answer. `nonsense`: answers are
 * random bytes. `late`: answers come after the time limit.
 */
export const faults = ['refuse', 'silent', 'freeze', 'delay', 'reset', 'nonsense', 'late'] as const

export type Fault = (typeof faults)[number]

/** When a fault begins: at once on all connections, on new connections after their first answer, or when the client sends this text. */
export type Begin = 'now' | 'handshake' | RegExp

export interface ProxyOptions {
  readonly lateMs: number
  /** Default: a free port of 127.0.0.1. */
  readonly port?: number
  readonly host?: string
  readonly rewrite?: Rewrite
}

const delayMs = 1_000

export class FaultProxy {
  readonly port: number
  readonly host: string
  #targetPort: number
  readonly #lateMs: number
  readonly #rewrite: Rewrite
  readonly #connections = new Set<ProxiedConnection>()
  #server: Server | undefined
  #fault: Fault | undefined
  #begin: Begin = 'now'

  private constructor(port: number, targetPort: number, options: ProxyOptions) {
    this.port = port
    this.host = options.host ?? '127.0.0.1'
    this.#targetPort = targetPort
    this.#lateMs = options.lateMs
    this.#rewrite = options.rewrite ?? (() => (chunk) => chunk)
  }

  static async start(t: Scope, targetPort: number, options: ProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options.port ?? (await reservePort(t)), targetPort, options)
    await proxy.#listen()
    t.after(() => proxy.#stop())
    return proxy
  }

  /** Number of connections that the client has not closed. */
  get open(): number {
    return this.#connections.size
  }

  async begin(fault: Fault, begin: Begin = 'now'): Promise<void> {
    this.#fault = fault
    this.#begin = begin
    if (fault === 'refuse') return await this.#stop()
    if (begin === 'now') for (const connection of this.#connections) connection.begin(fault)
  }

  /** New connections work again. Silent ones stay silent. */
  async heal(): Promise<void> {
    this.#fault = undefined
    if (this.#server === undefined) await this.#listen()
    for (const connection of this.#connections) connection.heal()
  }

  /** Later connections go to another server. */
  retarget(targetPort: number): void {
    this.#targetPort = targetPort
  }

  async #listen(): Promise<void> {
    const server = createServer()
    server.on('connection', (client) => this.#accept(client))
    server.listen(this.port, this.host)
    await once(server, 'listening')
    this.#server = server
  }

  async #stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const connection of this.#connections) connection.reset()
    if (server !== undefined) await new Promise((resolve) => server.close(resolve))
  }

  #accept(client: Socket): void {
    const connection = new ProxiedConnection(client, {
      targetPort: this.#targetPort,
      change: this.#rewrite(),
      lateMs: this.#lateMs,
      faultFor: (direction, chunk, parts) => this.#faultFor(direction, chunk, parts),
      onClosed: () => this.#connections.delete(connection),
    })
    this.#connections.add(connection)
    if (this.#begin === 'now' && this.#fault !== undefined && this.#fault !== 'freeze') connection.begin(this.#fault)
  }

  #faultFor(direction: 'to-service' | 'to-client', chunk: Buffer, parts: number): Fault | undefined {
    if (this.#fault === undefined || this.#begin === 'now') return undefined
    if (this.#begin === 'handshake') return direction === 'to-service' && parts > 0 ? this.#fault : undefined
    return direction === 'to-service' && this.#begin.test(chunk.toString('latin1')) ? this.#fault : undefined
  }
}

interface ConnectionOptions {
  readonly targetPort: number
  readonly lateMs: number
  change(chunk: Buffer): Buffer
  /** `parts`: number of answers before. */
  faultFor(direction: 'to-service' | 'to-client', chunk: Buffer, parts: number): Fault | undefined
  onClosed(): void
}

class ProxiedConnection {
  readonly #client: Socket
  readonly #service: Socket
  readonly #options: ConnectionOptions
  #fault: Fault | undefined
  #isDead = false
  #answers = 0
  readonly #timers = new Set<NodeJS.Timeout>()

  constructor(client: Socket, options: ConnectionOptions) {
    this.#client = client
    this.#options = options
    this.#service = connect(options.targetPort, '127.0.0.1')
    client.on('data', (chunk: Buffer) => this.#passToService(chunk))
    this.#service.on('data', (chunk: Buffer) => this.#passToClient(options.change(chunk)))
    for (const socket of [client, this.#service]) socket.on('error', () => {})
    client.on('close', () => {
      this.#noteClosed()
      // A service behind a dead connection does not see that the client has closed it.
      if (!this.#isDead) this.#service.destroy()
      else setTimeout(() => this.#service.destroy(), delayMs).unref()
    })
    this.#service.on('close', () => {
      if (!this.#isDead) client.destroy()
    })
  }

  begin(fault: Fault): void {
    this.#fault = fault
    if (fault === 'silent' || fault === 'freeze') this.#isDead = true
  }

  heal(): void {
    this.#fault = undefined
  }

  reset(): void {
    this.#client.resetAndDestroy()
    this.#service.destroy()
    // Node.js does not report `close` if the client has closed the connection at the same time.
    this.#noteClosed()
  }

  #noteClosed(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#options.onClosed()
  }

  #passToService(chunk: Buffer): void {
    const fault = this.#options.faultFor('to-service', chunk, this.#answers)
    if (fault !== undefined) this.begin(fault)
    if (this.#isDead) return
    this.#later(this.#fault === 'delay' ? delayMs : 0, () => this.#service.write(chunk))
  }

  #passToClient(chunk: Buffer): void {
    if (this.#isDead || chunk.length === 0) return
    this.#answers++
    if (this.#fault === 'reset') {
      this.#client.write(chunk.subarray(0, chunk.length >> 1), () => this.reset())
      return
    }
    const bytes = this.#fault === 'nonsense' ? randomBytes(chunk.length) : chunk
    const waitMs = { delay: delayMs, late: this.#options.lateMs }[String(this.#fault)] ?? 0
    this.#later(waitMs, () => this.#client.write(bytes))
  }

  #later(waitMs: number, work: () => void): void {
    if (this.#client.destroyed) return
    if (waitMs === 0 && this.#timers.size === 0) return work()
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      if (!this.#isDead) work()
    }, waitMs)
    this.#timers.add(timer)
  }
}
