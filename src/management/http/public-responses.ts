// Limits the responses to unauthenticated requests that were not read yet: documents and pages of up to a megabyte. A client that requests many
// and reads none must neither use the memory nor the time of the node, nor keep others at its address (a proxy) from being served.

import type { Socket } from 'node:net'

/** Maximum requests without authentication in progress on one connection. Browsers send one at a time. */
export const maxPublicPerConnection = 4
/** The same for one address. Beyond it, the connection that waits longest is closed. */
export const maxPublicPerAddress = 64

/** Texts from this length on are encoded once: they are created once as well. */
const minKeptLength = 16_384
const maxKeptTexts = 8

export class PublicResponses {
  /** By address: the connection of each response in progress, in order. */
  readonly #pending = new Map<string, Map<object, Socket>>()
  readonly #encoded = new Map<string, Buffer>()

  /** A request arrived; `token` identifies it. Returns false if its connection has too many: the caller closes it. */
  add(address: string, socket: Socket, token: object): boolean {
    const pending = this.#pending.get(address) ?? new Map<object, Socket>()
    this.#pending.set(address, pending)
    let ofConnection = 0
    for (const other of pending.values()) if (other === socket) ofConnection += 1
    if (pending.size >= maxPublicPerAddress) closeOldest(pending)
    pending.set(token, socket)
    return ofConnection < maxPublicPerConnection
  }

  /** The response was sent, or its connection has closed. */
  remove(address: string, token: object): void {
    const pending = this.#pending.get(address)
    if (pending?.delete(token) === true && pending.size === 0) this.#pending.delete(address)
  }

  /** Returns the bytes of a long text, which all responses share; other bodies unchanged. */
  encode<Body>(text: Body): Body | Buffer {
    if (typeof text !== 'string' || text.length < minKeptLength) return text
    const known = this.#encoded.get(text)
    if (known !== undefined) return known
    const bytes = Buffer.from(text)
    if (this.#encoded.size >= maxKeptTexts) this.#encoded.clear()
    this.#encoded.set(text, bytes)
    return bytes
  }
}

function closeOldest(pending: Map<object, Socket>): void {
  const [oldest] = pending
  if (oldest === undefined) return
  pending.delete(oldest[0])
  oldest[1].destroy()
}
