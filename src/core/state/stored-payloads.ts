// Payloads that outlive the chunk in which they were received: copied for queues, or stored once for several sessions.

import { BufferPool } from '../model/buffer-pool.ts'
import { PayloadRefcounts } from '../model/payload-refcounts.ts'
import type { ShardPlace } from '../model/peer-messages.ts'

export class StoredPayloads {
  /** Buffers for copies. */
  readonly buffers = new BufferPool()
  readonly refcounts = new PayloadRefcounts()
  readonly #shard: ShardPlace
  #lastId: number

  constructor(shard: ShardPlace) {
    this.#shard = shard
    this.#lastId = shard.own
  }

  /** Each shard uses its own IDs: own + count, own + 2 * count, ... */
  nextId(): number {
    this.#lastId += this.#shard.count
    return this.#lastId
  }

  /** IDs up to `payloadId` are in use since before a restart. */
  noteIdsUsedUpTo(payloadId: number): void {
    const { own, count } = this.#shard
    // The largest ID of this shard that is at most `payloadId`.
    const lastOwnId = payloadId - ((((payloadId - own) % count) + count) % count)
    this.#lastId = Math.max(this.#lastId, lastOwnId)
  }
}
