// Holders of exclusive filters among the sessions of all shards: the part of the registry that this shard owns.
//
//   'plant/1/#' ──► shard 2, session 'device-7'
//
// A failed shard restarts with its persistent sessions and announces the filters that these hold. Until then its filters
// remain held.

import type { PeerNumber } from '../../model/peer-names.ts'
import type { TopicFilter } from '../../../protocol/index.ts'

interface Holder {
  readonly shard: PeerNumber
  readonly clientId: string
  /** The shard of the holder has failed and has not announced the filter again. */
  readonly isSuspect: boolean
}

export class ExclusiveRegistry {
  readonly #holders = new Map<TopicFilter, Holder>()

  /** Returns false if another session holds the filter. */
  acquire(filter: TopicFilter, shard: PeerNumber, clientId: string): boolean {
    const holder = this.#holders.get(filter)
    if (holder !== undefined && (holder.shard !== shard || holder.clientId !== clientId)) return false
    this.#holders.set(filter, { shard, clientId, isSuspect: false })
    return true
  }

  release(filter: TopicFilter, shard: PeerNumber, clientId: string): void {
    const holder = this.#holders.get(filter)
    if (holder?.shard === shard && holder.clientId === clientId) this.#holders.delete(filter)
  }

  /** Marks the filters of a failed shard. They remain held. */
  markShardSuspect(shard: PeerNumber): void {
    for (const [filter, holder] of this.#holders) {
      if (holder.shard === shard) this.#holders.set(filter, { ...holder, isSuspect: true })
    }
  }

  /** Releases the filters that a restarted shard has not announced again. Called when it has announced all its filters. */
  removeSuspect(shard: PeerNumber): void {
    for (const [filter, holder] of this.#holders) {
      if (holder.shard === shard && holder.isSuspect) this.#holders.delete(filter)
    }
  }
}
