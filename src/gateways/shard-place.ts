// Assigns gateway clients to shards. Every shard has a socket on each port, and the operating system distributes datagrams by addresses and
// ports. A shard passes a datagram of another shard's client to that shard, which it finds so:
//
//   client ID, endpoint name, location        shardOf(name)          names are generated until they belong to this shard
//   acknowledgements                          message id % shards
//   packets of MQTT-SN without a client id    the shard of the CONNECT from the same address and port

import { computeOwnerShard } from '../core/index.ts'

export interface ShardPlace {
  readonly own: number
  readonly shards: number
}

export function findOwnerShard(name: string, { shards }: ShardPlace): number {
  return computeOwnerShard(name, shards)
}

/** Returns a generated name that belongs to this shard. */
export function createOwnName(shard: ShardPlace, make: () => string): string {
  for (;;) {
    const name = make()
    if (findOwnerShard(name, shard) === shard.own) return name
  }
}

/** Maximum addresses with clients of other shards; the oldest are dropped first. */
const maxRoutes = 100_000

export class Routes {
  readonly #owners = new Map<string, number>()

  findOwner(peer: string): number | undefined {
    return this.#owners.get(peer)
  }

  /** Sets the owner of the client at an address. Undefined: this shard. */
  setOwner(peer: string, owner: number | undefined): void {
    this.#owners.delete(peer)
    if (owner === undefined) return
    const [oldest] = this.#owners.keys()
    if (this.#owners.size >= maxRoutes && oldest !== undefined) this.#owners.delete(oldest)
    this.#owners.set(peer, owner)
  }
}
