// Shares the handshakes in progress of a TLS listener among the addresses of clients, so that connections of one address that send nothing do
// not hold up the clients of other addresses. An IPv6 address counts as its /64.
//
//   a listener with as many handshakes as it may have, and one more connection:
//     its address has fewer than the address with most   a stalled handshake of that address is ended for it
//     otherwise                                           it waits; addresses with the fewest handshakes are served first
//
// So many clients behind one address (NAT) still connect, one after the other.

import { toNetwork } from '../../config/index.ts'

export interface SharedHandshake {
  readonly network: string
  /** Number of sweeps since the handshake started. */
  readonly sweeps: number
  readonly raw: { readonly bytesRead: number }
}

/** Sweeps after which a handshake whose client has sent something may be ended for another address. */
const stalledAfterSweeps = 3

export class HandshakeShares<Handshake extends SharedHandshake> {
  /** Handshakes in progress by network, in order of their start. */
  readonly #inProgress = new Map<string, Set<Handshake>>()
  /** Waiting connections by network, in order of their arrival. */
  readonly #waiting = new Map<string, Set<Handshake>>()

  /** Returns the network that counts as one client. */
  static toNetwork(address: string): string {
    return toNetwork(address)
  }

  start(handshake: Handshake): void {
    add(this.#inProgress, handshake)
  }

  end(handshake: Handshake): void {
    remove(this.#inProgress, handshake)
  }

  wait(handshake: Handshake): void {
    add(this.#waiting, handshake)
  }

  stopWaiting(handshake: Handshake): void {
    remove(this.#waiting, handshake)
  }

  /** Removes and returns the connection whose handshake starts next. */
  takeNext(): Handshake | undefined {
    let next: Handshake | undefined
    let fewest = Infinity
    for (const [network, waiting] of this.#waiting) {
      const count = this.#inProgress.get(network)?.size ?? 0
      if (count >= fewest) continue
      fewest = count
      ;[next] = waiting
      if (count === 0) break
    }
    if (next !== undefined) remove(this.#waiting, next)
    return next
  }

  /**
   * Returns a handshake to end for a client of `network`: the oldest one without any data of the network that has most, or one that
   * has stalled. Undefined: this network has no fewer than others, or no handshake has stalled.
   */
  findStalledFor(network: string): Handshake | undefined {
    const own = this.#inProgress.get(network)?.size ?? 0
    let most: Set<Handshake> | undefined
    for (const handshakes of this.#inProgress.values())
      if (handshakes.size > own + 1 && handshakes.size > (most?.size ?? 0)) most = handshakes
    if (most === undefined) return undefined
    let stalled: Handshake | undefined
    for (const handshake of most) {
      if (handshake.raw.bytesRead === 0) return handshake
      if (handshake.sweeps > stalledAfterSweeps) stalled ??= handshake
    }
    return stalled
  }

  /** Returns one waiting connection of each network, which another network may keep from being served. */
  listFirstOfEachNetwork(): Handshake[] {
    return [...this.#waiting.values()].flatMap(([first]) => (first === undefined ? [] : [first]))
  }
}

function add<Handshake extends SharedHandshake>(to: Map<string, Set<Handshake>>, handshake: Handshake): void {
  const handshakes = to.get(handshake.network)
  if (handshakes === undefined) to.set(handshake.network, new Set([handshake]))
  else handshakes.add(handshake)
}

function remove<Handshake extends SharedHandshake>(from: Map<string, Set<Handshake>>, handshake: Handshake): void {
  const handshakes = from.get(handshake.network)
  if (handshakes?.delete(handshake) === true && handshakes.size === 0) from.delete(handshake.network)
}
