// Shares connections that the broker has not answered yet among the addresses of clients: those before CONNACK, also during the PROXY header, the TLS
// handshake and the WebSocket upgrade. Each counts for its listener and for the whole shard.
//
//   a limit is reached, and one more connection:
//     its address has fewer than the address with most   the oldest of that address is closed for it, of those that were silent first
//     otherwise                                           it is refused
//
// So one address cannot use up `max_connections` with connections that never send a CONNECT, and many clients behind one address (NAT) connect as
// long as there is space. Authenticated connections are never closed for others.

import { toNetwork } from '../../config/index.ts'
import type { ConnectionLimit } from '../limits/connection-limits.ts'
import type { SharedSocket, UnansweredConnection } from '../streams/unanswered-socket.ts'
import { HandshakeShares } from './handshake-shares.ts'

const sharesByLimit = new WeakMap<ConnectionLimit, HandshakeShares<ConnectionShare>>()

function ensureShares(limit: ConnectionLimit): HandshakeShares<ConnectionShare> {
  const known = sharesByLimit.get(limit)
  if (known !== undefined) return known
  const shares = new HandshakeShares<ConnectionShare>()
  sharesByLimit.set(limit, shares)
  return shares
}

/** One unanswered connection. It ends when the client is answered, and when the connection closes. */
export class ConnectionShare implements UnansweredConnection {
  network: string
  /** It may be closed for another address at any time. */
  readonly sweeps = Number.POSITIVE_INFINITY
  readonly raw: SharedSocket
  readonly #limits: ConnectionLimit
  #hasEnded = false

  constructor(raw: SharedSocket, address: string, limits: ConnectionLimit) {
    this.raw = raw
    this.network = toNetwork(address)
    this.#limits = limits
    this.#start()
  }

  move(address: string): void {
    if (this.#hasEnded) return
    this.#stop()
    this.network = toNetwork(address)
    this.#start()
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#stop()
    this.raw.share = undefined
  }

  #stop(): void {
    for (const limit of this.#limits.chain) ensureShares(limit).end(this)
  }

  #start(): void {
    for (const limit of this.#limits.chain) ensureShares(limit).start(this)
  }
}

/** Returns the connection to close for a client of this address; undefined: no limit is reached, or no address has more. */
export function findShareToEnd(limits: ConnectionLimit, address: string): ConnectionShare | undefined {
  const { reached } = limits
  return reached === undefined ? undefined : ensureShares(reached).findStalledFor(toNetwork(address))
}
