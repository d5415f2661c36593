// The connections of the API are bounded. Whoever comes is let in: where there are too many, the oldest one goes that
// nobody works for. Thousands that only wait can therefore not keep an administrator out.

import type { Socket } from 'node:net'

export class OpenConnections {
  readonly #max: number
  /** Each with the requests that are worked on, in the order in which they came. */
  readonly #open: Map<Socket, number>
  /** Requests of a connection that are not answered yet, whoever they are from. */
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

  /** Somebody else bounds it from now on. */
  remove(socket: Socket): void {
    this.#open.delete(socket)
  }

  /** From now on somebody who may come in is worked for; the answer ends that with `delta` -1. */
  countAuthenticated(socket: Socket, delta: 1 | -1): void {
    const working = this.#open.get(socket)
    if (working !== undefined) this.#open.set(socket, working + delta)
  }

  /** A request has come (1) or is answered (-1). Gives how many of that connection are not answered now. */
  countRequest(socket: Socket, delta: 1 | -1): number {
    const pending = (this.#pending.get(socket) ?? 0) + delta
    this.#pending.set(socket, pending)
    return pending
  }

  #closeOne(): void {
    const idle = [...this.#open].find(([, working]) => working === 0)?.[0]
    const oldest = this.#open.keys().next().value
    const goes = idle ?? oldest
    if (goes === undefined) return
    this.#open.delete(goes)
    goes.destroy()
  }
}
