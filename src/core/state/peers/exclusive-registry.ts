// Holders of exclusive filters among the sessions of all shards: the part of the registry that this shard owns.
//
//   'plant/1/#' ──► shard 2, session 'device-7'
//
// A failed stored shard restarts with its persistent sessions and announces the filters that these hold. Until then its filters remain held. The
// filters of a local shard are free when it has left.

import type { TopicFilter } from '../../../protocol/index.ts'
import type { LinkState, Peer } from './peer.ts'

interface Holder {
  /** Undefined: this shard. */
  readonly peer: Peer | undefined
  /** The link on which the peer announced or requested the filter. */
  readonly link: LinkState | undefined
  readonly clientId: string
}

/** Returns whether the shard of the holder has left, or has restarted and announced all its filters without this one. */
function isVoid({ peer, link }: Holder): boolean {
  if (peer === undefined || peer.link === link) return false
  return peer.hasLeft || peer.link?.hasInterestOfPeer === true
}

export class ExclusiveRegistry {
  readonly #holders = new Map<TopicFilter, Holder>()
  readonly #filtersByPeer = new Map<Peer, Set<TopicFilter>>()

  /** Returns false if another session holds the filter. `peer`: the shard of the session; undefined: this one. */
  acquire(filter: TopicFilter, peer: Peer | undefined, clientId: string): boolean {
    const holder = this.#holders.get(filter)
    if (holder !== undefined && !isVoid(holder) && (holder.peer !== peer || holder.clientId !== clientId)) return false
    if (holder !== undefined) this.#delete(filter, holder)
    this.#holders.set(filter, { peer, link: peer?.link, clientId })
    if (peer !== undefined) this.#ensureFilters(peer).add(filter)
    return true
  }

  release(filter: TopicFilter, peer: Peer | undefined, clientId: string): void {
    const holder = this.#holders.get(filter)
    if (holder !== undefined && holder.peer === peer && holder.clientId === clientId) this.#delete(filter, holder)
  }

  /**
   * Releases the filters that the peer has not announced on its current link, one with each step: for a peer that has announced all its filters, or
   * has left. Ends early if the link of the peer ends meanwhile.
   */
  *releaseUnannounced(peer: Peer): Generator<void> {
    const { link } = peer
    for (const filter of this.#filtersByPeer.get(peer) ?? []) {
      if (peer.link !== link) return
      const holder = this.#holders.get(filter)
      if (holder?.peer === peer && holder.link !== link) this.#delete(filter, holder)
      yield
    }
  }

  #ensureFilters(peer: Peer): Set<TopicFilter> {
    const known = this.#filtersByPeer.get(peer) ?? new Set()
    this.#filtersByPeer.set(peer, known)
    return known
  }

  #delete(filter: TopicFilter, { peer }: Holder): void {
    this.#holders.delete(filter)
    const filters = peer === undefined ? undefined : this.#filtersByPeer.get(peer)
    filters?.delete(filter)
    if (peer !== undefined && filters?.size === 0) this.#filtersByPeer.delete(peer)
  }
}
