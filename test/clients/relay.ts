// A TCP relay in front of a server. It can drop data without a reset, as in a network failure. Open connections then stay dead, as behind
// a firewall that lost its state.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import type { Scope } from '../e2e/godwit-process.ts'

/** `refusing`: as if the server did not run. `silent`: connections are accepted, and all data is dropped. */
export type RelayState = 'forwarding' | 'silent' | 'refusing'

/** Changes data from the server, for protocols whose frames contain ports. Called with each chunk of one connection. */
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
      // A connection that was silent once stays silent.
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
