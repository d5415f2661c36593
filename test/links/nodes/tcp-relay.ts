// A TCP relay between two nodes, which a test cuts, blocks in one direction, and heals.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

export class TcpRelay {
  readonly #server: Server
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #targetPort: number
  #isCut = false
  #blocked: 'none' | 'to-target' | 'from-target' = 'none'

  private constructor(server: Server, targetPort: number) {
    this.#server = server
    this.#targetPort = targetPort
  }

  static async open(t: Pick<TestContext, 'after'>, targetPort: number, port = 0): Promise<TcpRelay> {
    const server = createServer({ allowHalfOpen: true }, (socket) => relay.#accept(socket))
    const relay = new TcpRelay(server, targetPort)
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => relay.close())
    return relay
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  set targetPort(port: number) {
    this.#targetPort = port
  }

  /** Resets all connections; new ones are closed at once until `heal`. */
  cut(): void {
    this.#isCut = true
    for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy()
  }

  /** Drops everything in one direction, of all connections; nothing is told to either side. */
  block(direction: 'to-target' | 'from-target'): void {
    this.#blocked = direction
  }

  heal(): void {
    this.#isCut = false
    // A stream with a gap would be invalid: what was blocked has lost bytes.
    if (this.#blocked !== 'none') for (const pair of this.#pairs) for (const socket of pair) socket.resetAndDestroy()
    this.#blocked = 'none'
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  #accept(socket: Socket): void {
    if (this.#isCut) return void socket.resetAndDestroy()
    const target = connect(this.#targetPort, '127.0.0.1')
    const pair = [socket, target] as const
    this.#pairs.add(pair)
    this.#pass(socket, target, 'to-target')
    this.#pass(target, socket, 'from-target')
    const end = (): void => {
      this.#pairs.delete(pair)
      // While one direction is blocked, the other side does not learn of the end either.
      if (this.#blocked === 'none') for (const one of pair) one.destroy()
    }
    for (const one of pair) {
      one.on('error', end)
      one.on('close', end)
    }
  }

  #pass(from: Socket, to: Socket, direction: 'to-target' | 'from-target'): void {
    from.on('data', (chunk) => {
      if (this.#blocked !== direction) to.write(chunk)
    })
    from.on('end', () => {
      if (this.#blocked !== direction) to.end()
    })
  }
}
