// Limits the connections of the API. New connections are accepted: beyond the limit, the oldest one without a request
// in progress is closed. So thousands of idle connections cannot lock out an administrator.

import type { Socket } from 'node:net'

export class OpenConnections {
  readonly #max: number
  /** Open connections in order of arrival, each with its number of authenticated requests in progress. */
  readonly #open: Map<Socket, number>
  /** Number of all requests in progress of a connection, authenticated or not. */
  readonly #pending: WeakMap<Socket, number>

  constructor(max: number) {
    this.#max = max
    this.#open = new Map()
    this.#pending = new WeakMap()
  }

  add(socket: Socket): void {
    socket.once('close', () => this.#open.delete(socket))
    if (this.#open.size >= this.#max) this.#closeOne()
    this.#open.set(socket, 0)
  }

  /** Removes the socket, because another limit applies to it from now on. */
  remove(socket: Socket): void {
    this.#open.delete(socket)
  }

  /** An authenticated request is in progress (1); its response ends that (-1). */
  countAuthenticated(socket: Socket, delta: 1 | -1): void {
    const working = this.#open.get(socket)
    if (working !== undefined) this.#open.set(socket, working + delta)
  }

  /** A request arrived (1) or its response was sent (-1). Returns the number of requests in progress on that connection. */
  countRequest(socket: Socket, delta: 1 | -1): number {
    const pending = (this.#pending.get(socket) ?? 0) + delta
    this.#pending.set(socket, pending)
    return pending
  }

  #closeOne(): void {
    const idle = [...this.#open].find(([, working]) => working === 0)?.[0]
    const oldest = this.#open.keys().next().value
    const connection = idle ?? oldest
    if (connection === undefined) return
    this.#open.delete(connection)
    connection.destroy()
  }
}
