// Who holds which filter exclusively, among the sessions of all shards: the part of the book that this shard keeps.
//
//   'plant/1/#' ──► shard 2, session 'device-7'
//
// A shard that has died comes back with the stored ones of its sessions, and says which filters these hold. Until it
// has, what it held is held.

import type { PeerNumber } from '../../model/peer-messages.ts'
import type { TopicFilter } from '../../../protocol/index.ts'

interface Holder {
  readonly shard: PeerNumber
  readonly clientId: string
  /** Its shard has died since it said so, and has not said it again. */
  readonly isSuspect: boolean
}

export class ExclusiveRegistry {
  readonly #holders = new Map<TopicFilter, Holder>()

  /** False: another session holds it. */
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

  /** A shard has died. */
  suspectShard(shard: PeerNumber): void {
    for (const [filter, holder] of this.#holders) {
      if (holder.shard === shard) this.#holders.set(filter, { ...holder, isSuspect: true })
    }
  }

  /** It is back and has said all that it holds. */
  removeSuspect(shard: PeerNumber): void {
    for (const [filter, holder] of this.#holders) {
      if (holder.shard === shard && holder.isSuspect) this.#holders.delete(filter)
    }
  }
}
