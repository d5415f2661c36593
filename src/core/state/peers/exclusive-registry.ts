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
  readonly isDoubtful: boolean
}

export class ExclusiveRegistry {
  readonly #holders = new Map<TopicFilter, Holder>()

  /** False: another session holds it. */
  take(filter: TopicFilter, shard: PeerNumber, clientId: string): boolean {
    const holder = this.#holders.get(filter)
    if (holder !== undefined && (holder.shard !== shard || holder.clientId !== clientId)) return false
    this.#holders.set(filter, { shard, clientId, isDoubtful: false })
    return true
  }

  giveBack(filter: TopicFilter, shard: PeerNumber, clientId: string): void {
    const holder = this.#holders.get(filter)
    if (holder?.shard === shard && holder.clientId === clientId) this.#holders.delete(filter)
  }

  /** A shard has died. */
  doubt(shard: PeerNumber): void {
    for (const [filter, holder] of this.#holders) {
      if (holder.shard === shard) this.#holders.set(filter, { ...holder, isDoubtful: true })
    }
  }

  /** It is back and has said all that it holds. */
  forgetDoubtful(shard: PeerNumber): void {
    for (const [filter, holder] of this.#holders) {
      if (holder.shard === shard && holder.isDoubtful) this.#holders.delete(filter)
    }
  }
}
