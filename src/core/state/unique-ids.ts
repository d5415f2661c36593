// Identifiers and names that no other shard and no earlier start of this shard assigns.

import type { InternalNameSource } from '../namespaces/internal-session-names.ts'
import { toNamespacedName } from '../namespaces/namespaced-names.ts'
import { computeOwnerShard, type ShardPlace } from '../model/peer-messages.ts'
import { isStoredShard } from '../model/peer-names.ts'

export class UniqueIds implements InternalNameSource {
  readonly #identity: string
  readonly #shard: ShardPlace
  #lastSerial = 0
  #lastAssigned = 0

  /** `identity`: text that is unique for each start of each shard. */
  constructor(identity: string, shard: ShardPlace) {
    this.#identity = identity
    this.#shard = shard
  }

  /** Returns whether the session may be on this shard. A local shard serves sessions of any client ID. */
  isOwn(clientId: string): boolean {
    if (!isStoredShard(this.#shard.own)) return true
    return computeOwnerShard(clientId, this.#shard.count) === this.#shard.own
  }

  /** Unique since the start of this shard. */
  nextSerial(): number {
    return ++this.#lastSerial
  }

  /** Unique over all shards and starts. */
  nextName(): string {
    return `${this.#identity}.${this.nextSerial().toString(36)}`
  }

  /** Returns a client ID that may be on this shard and is not in use, as the name of a session. */
  nextClientId(namespace: string | undefined, sessions: { has(clientId: string): boolean }): string {
    let clientId
    do clientId = toNamespacedName(namespace, `auto-${this.#identity}-${(++this.#lastAssigned).toString(36)}`)
    while (sessions.has(clientId) || !this.isOwn(clientId))
    return clientId
  }
}
