// Which shard has what. Every shard has a socket on each port, and the system deals datagrams out by addresses and ports: one
// that belongs to a client of another shard is passed on. Nothing is asked for that:
//
//   by client id, endpoint name, location     shardOf(name)          names that are made here are made until they fit
//   acknowledgements                          message id % shards
//   packets of MQTT-SN without a client id    where the CONNECT from the same address and port went

import { shardOf } from '../core/index.ts'

export interface ShardPlace {
  readonly own: number
  readonly shards: number
}

export function ownerOfName(name: string, { shards }: ShardPlace): number {
  return shardOf(name, shards)
}

/** A name that is of this shard. */
export function ownName(place: ShardPlace, make: () => string): string {
  for (;;) {
    const name = make()
    if (ownerOfName(name, place) === place.own) return name
  }
}

/** Addresses whose clients other shards have; the oldest are forgotten first. */
const maxRoutes = 100_000

export class Routes {
  readonly #owners = new Map<string, number>()

  ownerOf(peer: string): number | undefined {
    return this.#owners.get(peer)
  }

  /** Undefined: this shard has it. */
  note(peer: string, owner: number | undefined): void {
    this.#owners.delete(peer)
    if (owner === undefined) return
    const [oldest] = this.#owners.keys()
    if (this.#owners.size >= maxRoutes && oldest !== undefined) this.#owners.delete(oldest)
    this.#owners.set(peer, owner)
  }
}
