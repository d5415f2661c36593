// A TCP relay in front of a server, which can lose packets: what passes it is dropped without a reset, as on a network that is
// cut. Connections from before stay dead, as behind a firewall that has forgotten them.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Scope } from '../e2e/godwit-process.ts'

/** `refusing`: as where the server does not run. `silent`: connections open, and nothing gets through. */
export type RelayState = 'forwarding' | 'silent' | 'refusing'

/** Changes what the server sends: frames of a protocol that name ports. Called with each chunk of one connection. */
export type Rewrite = () => (chunk: Buffer) => Buffer

export class Relay {
  readonly port: number
  readonly #targetPort: number
  readonly #rewrite: Rewrite
  readonly #sockets = new Set<Socket>()
  #server: Server
  #state: RelayState = 'forwarding'

  private constructor(server: Server, targetPort: number, rewrite: Rewrite) {
    this.#server = server
    this.port = (server.address() as AddressInfo).port
    this.#targetPort = targetPort
    this.#rewrite = rewrite
    this.#serve(server)
  }

  static async start(t: Scope, targetPort: number, rewrite: Rewrite = () => (chunk) => chunk): Promise<Relay> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const relay = new Relay(server, targetPort, rewrite)
    t.after(() => relay.set('refusing'))
    return relay
  }

  async set(state: RelayState): Promise<void> {
    const before = this.#state
    this.#state = state
    if (state === 'refusing') {
      for (const socket of this.#sockets) socket.destroy()
      if (before === 'refusing') return
      await new Promise((resolve) => this.#server.close(resolve))
    } else if (before === 'refusing') {
      this.#server = createServer().listen(this.port, '127.0.0.1')
      await once(this.#server, 'listening')
      this.#serve(this.#server)
    }
  }

  #serve(server: Server): void {
    server.on('connection', (client) => {
      const upstream = connect(this.#targetPort, '127.0.0.1')
      const rewrite = this.#rewrite()
      // Once silent, always silent.
      let isDead = this.#state === 'silent'
      const pass = (from: Socket, to: Socket, change: (chunk: Buffer) => Buffer): void => {
        this.#sockets.add(from)
        from.on('data', (chunk: Buffer) => {
          isDead ||= this.#state === 'silent'
          if (isDead) return
          const changed = change(chunk)
          if (changed.length > 0) to.write(changed)
        })
        from.on('error', () => {})
        from.on('close', () => {
          this.#sockets.delete(from)
          if (!isDead && this.#state !== 'silent') to.destroy()
        })
      }
      pass(client, upstream, (chunk) => chunk)
      pass(upstream, client, rewrite)
    })
  }
}
